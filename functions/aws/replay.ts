import { z } from 'zod';
import { InvalidInput } from '../../fencing/errors.ts';
import { readFunctionEnvironment } from '../../wiring/environment.ts';
import { startReplay, type ReplayStarted } from './archive.ts';
import { deliveriesIn } from './batch.ts';
import { answerByHand, type ByHandAnswer } from './by-hand.ts';
import type { LambdaContext } from './invocation.ts';
import { wireOnce, type Wiring } from './wire.ts';

/** `{"replay": {"from": "2026-01-01T00:00:00Z", "to": "…"}}`: every archived event of that time once more. */
const archiveRange = z.object({ replay: z.strictObject({ from: z.iso.datetime({ offset: true }), to: z.iso.datetime({ offset: true }) }) });

export type Replayed = ByHandAnswer | ReplayStarted;

/** What a person may add to any event that is sent by hand. */
const byHand = z.looseObject({ dryRun: z.boolean().default(false) });

const rangeIn = (event: unknown): z.infer<typeof archiveRange>['replay'] | null => {
  if (typeof event !== 'object' || event === null || !('replay' in event)) return null;
  const read = archiveRange.safeParse(event);
  if (read.success) return read.data.replay;
  throw new InvalidInput(`the range is not understood: ${z.prettifyError(read.error)}; send {"replay": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z"}}`);
};

/** Takes any event, a whole batch, or `{"instanceId": "i-…", "dryRun": true}`, as if it had just arrived, and answers as the CLI does. */
export const replay =
  (wired: () => Promise<Wiring>, start: typeof startReplay = startReplay) =>
  async (event: unknown, context: LambdaContext): Promise<Replayed> => {
    const range = rangeIn(event);
    if (range) return start(range, readFunctionEnvironment());
    const wiring = await wired();
    const dryRun = wiring.policy.dryRun || (byHand.safeParse(event).data?.dryRun ?? false);
    return answerByHand(deliveriesIn(event), { policy: { ...wiring.policy, dryRun }, vouched: null }, wiring, context);
  };

export const handler = replay(wireOnce());
