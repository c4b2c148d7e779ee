import { createHash } from 'node:crypto';
import { InvalidConfiguration } from '../../fencing/errors.ts';
import type { FunctionEnvironment } from '../../wiring/environment.ts';

export interface ReplayStarted {
  readonly replay: string;
  /** STARTING, as EventBridge says: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_StartReplay.html */
  readonly state: string;
}

/** The same range twice in the same state is the same replay: its name follows from what is asked for. */
const nameFor = (from: string, to: string, archive: string): string =>
  `cloudfence-${createHash('sha256').update(`${archive} ${from} ${to}`).digest('hex').slice(0, 16)}`;

/** Starts an EventBridge replay of the archive; its events arrive at the queue as any others do, and are only hints. */
export const startReplay = async (
  { from, to }: { readonly from: string; readonly to: string },
  { archiveArn, busArn, ruleArns, region }: Pick<FunctionEnvironment, 'archiveArn' | 'busArn' | 'ruleArns' | 'region'>,
): Promise<ReplayStarted> => {
  if (archiveArn === null || busArn === null) throw new InvalidConfiguration(['there is no event archive: deploy with archive days above 0']);
  const { EventBridgeClient, StartReplayCommand } = await import('@aws-sdk/client-eventbridge');
  const client = new EventBridgeClient(region === null ? {} : { region });
  const ReplayName = nameFor(from, to, archiveArn);
  const answer = await client.send(
    new StartReplayCommand({ ReplayName, EventSourceArn: archiveArn, EventStartTime: new Date(from), EventEndTime: new Date(to), Destination: { Arn: busArn, ...(ruleArns.length > 0 && { FilterArns: [...ruleArns] }) } }),
  );
  return { replay: ReplayName, state: answer.State ?? 'STARTING' };
};
