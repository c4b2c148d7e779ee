import { z } from 'zod';

/**
 * What the benchmark asks of its client process, and the result. Both are sent over the channel between the two
 * processes.
 */

export const job = z.object({
  kubernetes: z.object({ url: z.string(), ca: z.string(), token: z.string() }),
  ec2: z.object({ url: z.string(), region: z.string() }),
  /** Epoch ms of virtual time. */
  now: z.number(),
  /** The machine to fence, or null for a sweep. */
  machine: z.string().nullable(),
});

export type Job = z.infer<typeof job>;

export const finding = z.object({
  outcomes: z.array(z.object({ machine: z.string(), outcome: z.string(), says: z.string() })),
  /** Real time of the run, as the client measures it (ms). */
  ms: z.number(),
  /** Virtual time of the run (ms). */
  virtualMs: z.number(),
  /** The highest value above that at the start (bytes). */
  rss: z.number(),
  heap: z.number(),
});

export type Finding = z.infer<typeof finding>;

/** The header that tells the sandbox the time at which a request arrives. */
export const MOMENT_HEADER = 'x-sandbox-moment';
