import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { exploreNamed } from './named.ts';

/** A thread that explores one scenario. */

const { name, most } = z.object({ name: z.string(), most: z.number().nullable() }).parse(workerData);
// A thread of this process has no origin.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage(exploreNamed(name, most ?? Infinity));
