import type { FunctionDependencies } from '../../functions/dependencies.ts';
import { acknowledgeAll } from '../../functions/acknowledge.ts';
import { onEvent as onAwsEvent } from '../../functions/aws/on-event.ts';
import { onEvent as onGcpEvent } from '../../functions/gcp/on-event.ts';
import { processItems, type TimeLimit } from '../../functions/invocation.ts';
import { parseMessage } from '../../functions/messages.ts';
import { readHints as readAzureHints } from '../../providers/azure/events/read-hints.ts';
import { openingOf } from './opening.ts';
import type { CloudName } from './machines.ts';

/** How each platform delivers messages to Cloudfence, and how it learns which ones to deliver again. */

interface Delivered {
  readonly id: string;
  readonly body: string;
  /** How often the queue has delivered it, including this time. */
  readonly receives: number;
}

type Deliver = (
  batch: readonly Delivered[],
  dependencies: FunctionDependencies,
  limit: TimeLimit,
) => Promise<ReadonlySet<string>>;

const toLambda: Deliver = async (batch, dependencies, limit) => {
  const Records = batch.map(({ id, body, receives }) => ({
    messageId: id,
    body,
    receiptHandle: id,
    attributes: { ApproximateReceiveCount: String(receives) },
  }));
  const answer = await onAwsEvent(async () => dependencies)({ Records }, limit);
  return new Set('batchItemFailures' in answer ? answer.batchItemFailures.map((one) => one.itemIdentifier) : []);
};

const push = async (
  { id, body }: Delivered,
  dependencies: FunctionDependencies,
  limit: TimeLimit,
): Promise<boolean> => {
  const gcp = {
    ...dependencies,
    ...openingOf(dependencies),
    letIn: async () => undefined,
    letAsk: async () => undefined,
    deliveries: null,
  };
  const message = { data: Buffer.from(body).toString('base64'), messageId: id, attributes: {} };
  const { status } = await onGcpEvent(async () => gcp)({ headers: {}, body: { message } }, limit);
  return status < 300;
};

/** Pub/Sub pushes one message at a time. */
const toCloudRun: Deliver = async (batch, dependencies, limit) => {
  const done = await Promise.all(batch.map((message) => push(message, dependencies, limit)));
  return new Set(batch.filter((_, at) => !done[at]).map(({ id }) => id));
};

/**
 * What the handler on Azure does with a batch, without its own envelope for a message that failed, because that handler
 * reads the real time.
 */
const toAzure: Deliver = async (batch, dependencies, limit) => {
  const messages = batch.map(({ id, body }) => parseMessage(id, body, () => readAzureHints(body)));
  return processItems(
    messages.flatMap(({ items }) => items),
    { policy: dependencies.policy, queued: true, vouched: null },
    dependencies,
    limit,
    async (outcomes) => {
      const again = await acknowledgeAll(messages, outcomes, dependencies);
      return new Set(again.map(({ message }) => message.messageId ?? ''));
    },
  );
};

export const deliverTo: Readonly<Record<CloudName, Deliver>> = { aws: toLambda, azure: toAzure, gcp: toCloudRun };
