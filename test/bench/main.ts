import { readOptions } from '../script-options.ts';

/**
 * Without an option: what a fence and a sweep cost in clusters of three sizes, and the size of the functions.
 * `--rounds`: what a fence asks, round trip by round trip. `--network near|far|slow|loopback`: how long a fence takes
 * at a distance, next to a script without proof. `--storm`: what a fence costs when a fifth of a cluster is hit within
 * a minute, in two shapes and at three sizes. `--cold`: what a packaged function loads, and how long it takes, until
 * its first call leaves. `--batch`: how a function with its default memory fences many full machines. Fails only if
 * the benchmark itself fails.
 */

const USAGE = `npm run bench [-- option]   (without an option: calls, bytes, and memory in clusters of three sizes)
  --rounds            what a fence asks, round trip by round trip
  --network WHERE     how long a fence takes at a distance: near, far, slow, or loopback
  --storm             what a fence costs when a fifth of a cluster is hit within a minute
  --cold              what a packaged function loads until its first call leaves
  --batch             what a function with its default memory does with many machines`;

const values = readOptions(USAGE, {
  rounds: { type: 'boolean' },
  network: { type: 'string' },
  storm: { type: 'boolean' },
  cold: { type: 'boolean' },
  batch: { type: 'boolean' },
});

if (values.rounds) await (await import('./rounds.ts')).benchRounds();
else if (values.network !== undefined) await (await import('./network.ts')).benchNetwork(values.network);
else if (values.storm) await (await import('./storm.ts')).benchStorm();
else if (values.cold) await (await import('./cold.ts')).benchCold();
else if (values.batch) await (await import('./batch.ts')).benchBatch();
else await (await import('./sizes.ts')).benchSizes();
