import { parseArgs } from 'node:util';

/**
 * Without an option: what a fence and a sweep cost in clusters of three sizes, and the size of the functions.
 * `--rounds`: what a fence asks, round trip by round trip.
 * `--network near|far|slow|loopback`: how long a fence takes at a distance, beside a script without proof.
 * Fails only if the benchmark itself fails.
 */

const { values } = parseArgs({ options: { rounds: { type: 'boolean' }, network: { type: 'string' } } });

if (values.rounds) await (await import('./rounds.ts')).benchRounds();
else if (values.network !== undefined) await (await import('./network.ts')).benchNetwork(values.network);
else await (await import('./sizes.ts')).benchSizes();
