import { parseArgs } from 'node:util';

/**
 * Without an option: what a fence and a sweep cost in clusters of three sizes, and the size of the functions.
 * `--rounds`: what a fence asks, round trip by round trip.
 * Fails only if the benchmark itself fails.
 */

const { values } = parseArgs({ options: { rounds: { type: 'boolean' } } });

if (values.rounds) await (await import('./rounds.ts')).benchRounds();
else await (await import('./sizes.ts')).benchSizes();
