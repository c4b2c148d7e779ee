import { createHash } from 'node:crypto';
import { z } from 'zod';
import { InvalidConfiguration, InvalidInput } from '../../fencing/model/errors.ts';
import type { TimeLimit } from '../invocation.ts';
import { handleManualReplay, type ManualRunResult } from '../manual-run.ts';
import type { FunctionDependencies } from '../dependencies.ts';
import { handlerWithDoctor } from './lambda.ts';
import { messagesIn } from './on-event.ts';
import { lazyDependencies, readAwsFunctionEnvironment } from './dependencies.ts';

/** `{"replay": {"from": "2026-01-01T00:00:00Z", "to": "…"}}` replays every archived event of that period. */
const archiveRange = z.object({
  replay: z.strictObject({ from: z.iso.datetime({ offset: true }), to: z.iso.datetime({ offset: true }) }),
});

type ReplayResult = ManualRunResult | ReplayStarted;

const rangeIn = (event: unknown): z.infer<typeof archiveRange>['replay'] | null => {
  if (typeof event !== 'object' || event === null || !('replay' in event)) return null;
  const read = archiveRange.safeParse(event);
  if (read.success) return read.data.replay;
  throw new InvalidInput(
    `the range is not valid: ${z.prettifyError(read.error)}; send {"replay": {"from": "2026-01-01T00:00:00Z", ` +
      '"to": "2026-01-01T01:00:00Z"}}',
  );
};

/**
 * Accepts any event, a whole batch, or `{"instanceId": "i-…", "dryRun": true}`, and processes it as if it had just
 * arrived. Answers as the CLI does. A `replay` range starts an EventBridge replay instead.
 */
export const replay =
  (getDependencies: () => Promise<FunctionDependencies>, start: typeof startReplay = startReplay) =>
  async (event: unknown, limit: TimeLimit): Promise<ReplayResult> => {
    const range = rangeIn(event);
    if (range) return start(range, readAwsFunctionEnvironment());
    return handleManualReplay(messagesIn(event), await getDependencies(), limit);
  };

export const handler = handlerWithDoctor(lazyDependencies(), replay);

interface ReplayStarted {
  readonly replay: string;
  /**
   * The state that EventBridge reports, such as STARTING.
   * https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_StartReplay.html
   */
  readonly state: string;
}

/** Derives the name from the archive and the range, so that the same request always names the same replay. */
const nameFor = (from: string, to: string, archive: string): string =>
  `cloudfence-${createHash('sha256').update(`${archive} ${from} ${to}`).digest('hex').slice(0, 16)}`;

/** Starts an EventBridge replay of the archive. Its events arrive at the queue like all others, and are only hints. */
const startReplay = async (
  { from, to }: { readonly from: string; readonly to: string },
  { archiveArn, busArn, ruleArns, region }: ReturnType<typeof readAwsFunctionEnvironment>,
): Promise<ReplayStarted> => {
  if (archiveArn === null || busArn === null)
    throw new InvalidConfiguration(['this install has no event archive: deploy it with more than 0 archive days']);
  const { EventBridgeClient, StartReplayCommand } = await import('@aws-sdk/client-eventbridge');
  const client = new EventBridgeClient(region === null ? {} : { region });
  const ReplayName = nameFor(from, to, archiveArn);
  const answer = await client.send(
    new StartReplayCommand({
      ReplayName,
      EventSourceArn: archiveArn,
      EventStartTime: new Date(from),
      EventEndTime: new Date(to),
      Destination: { Arn: busArn, ...(ruleArns.length > 0 && { FilterArns: [...ruleArns] }) },
    }),
  );
  return { replay: ReplayName, state: answer.State ?? 'STARTING' };
};
