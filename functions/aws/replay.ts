import { z } from 'zod';
import { InvalidInput } from '../../fencing/errors.ts';
import { readFunctionEnvironment } from '../../wiring/environment.ts';
import type { ByHandAnswer } from '../by-hand.ts';
import type { TimeLimit } from '../invocation.ts';
import { replayByHand } from '../replay.ts';
import type { Wiring } from '../wiring.ts';
import { startReplay, type ReplayStarted } from './archive.ts';
import { deliveriesIn } from './batch.ts';
import { fencing } from './lambda.ts';
import { wireOnce } from './wire.ts';

/** `{"replay": {"from": "2026-01-01T00:00:00Z", "to": "…"}}`: every archived event of that time once more. */
const archiveRange = z.object({ replay: z.strictObject({ from: z.iso.datetime({ offset: true }), to: z.iso.datetime({ offset: true }) }) });

export type Replayed = ByHandAnswer | ReplayStarted;

const rangeIn = (event: unknown): z.infer<typeof archiveRange>['replay'] | null => {
  if (typeof event !== 'object' || event === null || !('replay' in event)) return null;
  const read = archiveRange.safeParse(event);
  if (read.success) return read.data.replay;
  throw new InvalidInput(`the range is not understood: ${z.prettifyError(read.error)}; send {"replay": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z"}}`);
};

/** Takes any event, a whole batch, or `{"instanceId": "i-…", "dryRun": true}`, as if it had just arrived, and answers as the CLI does. */
export const replay =
  (wired: () => Promise<Wiring>, start: typeof startReplay = startReplay) =>
  async (event: unknown, limit: TimeLimit): Promise<Replayed> => {
    const range = rangeIn(event);
    if (range) return start(range, readFunctionEnvironment());
    return replayByHand(deliveriesIn(event), await wired(), limit);
  };

export const handler = fencing(wireOnce(), replay);
