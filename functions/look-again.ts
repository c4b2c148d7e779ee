import { z } from 'zod';
import type { Outcome } from '../fencing/outcome.ts';
import { fenceRecord } from '../fencing/record.ts';

/** More than any id of ours or of a cloud's (characters). */
const LONGEST = 1_000;

/**
 * The queue is the timer: what has to wait is sent again, with a count of its own, because a queue's receive count is for
 * errors. It says nothing but which machine to look at: what is done there is derived anew, also below a Node that is gone.
 */
export const lookAgain = z
  .object({
    cloudfence: z.literal('look-again'),
    machine: z.string().min(1).max(LONGEST),
    /** How often it was sent again. */
    hops: z.int().min(1),
    because: z.string().max(LONGEST),
    event: z.string().max(LONGEST).nullable(),
    eventAt: z.number().nullable(),
    /** For people who find it among the dead letters. No run believes it: whoever can write to the queue could have written it. */
    record: fenceRecord.nullable().catch(null),
    /** What wanted a dry run wants one to the end. */
    dryRun: z.boolean().default(false),
  })
  .readonly();

export type LookAgain = z.infer<typeof lookAgain>;

/** After so many hops, about ten minutes, the sweep is the timer. */
export const MOST_HOPS = 12;

/** What SQS can hold a message back for; elsewhere it is long enough as well. */
const LONGEST_DELAY_S = 900;
const SHORTEST_DELAY_S = 2;
const GROWTH = 1.5;

/** Seconds until the next look: what the run asked for, and longer with each hop. */
export const delayFor = ({ lookAgainIn }: Pick<Outcome, 'lookAgainIn'>, hops: number): number =>
  Math.min(LONGEST_DELAY_S, Math.max(Math.ceil((lookAgainIn ?? 0) / 1_000), Math.round(SHORTEST_DELAY_S * GROWTH ** hops)));

export const nextLook = (outcome: Outcome, before: Pick<LookAgain, 'hops' | 'event' | 'eventAt' | 'dryRun'>): LookAgain => ({
  cloudfence: 'look-again',
  machine: outcome.machine,
  hops: before.hops + 1,
  because: outcome.reason.code,
  event: before.event,
  eventAt: before.eventAt,
  record: outcome.record,
  dryRun: before.dryRun,
});
