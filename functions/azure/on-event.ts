import { pluralize } from '../../fencing/model/reason.ts';
import { z } from 'zod';
import { endInTime } from '../../fencing/loop/ports.ts';
import { asCloudfenceError } from '../../fencing/model/errors.ts';
import type { IgnoredEvent } from '../../fencing/model/cloud.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { readHints } from '../../providers/azure/events/read-hints.ts';
import { messageLine } from '../decision-log.ts';
import { acknowledgeAll, reasonToGiveUp, redeliveryDelay, type Unacknowledged } from '../acknowledge.ts';
import { processItems } from '../invocation.ts';
import { type Message, parseMessage, type WorkItem, bodyText, confirmTestEvents } from '../messages.ts';
import { invocationContext, type InvocationContext, type PlatformLogger } from './http.ts';
import type { AzureDependencies, ExpandScaleSets, GetDependencies } from './dependencies.ts';

interface ExpandedBatch {
  readonly ready: readonly Received[];
  readonly failures: readonly Unacknowledged<Received>[];
}

/**
 * Expands the items of all messages at the same time. If Azure does not answer for a message, that message is tried
 * again and the rest of the batch continues.
 */
const expandBatch = async (batch: readonly Received[], invocation: InvocationContext): Promise<ExpandedBatch> => {
  const expanded = await Promise.all(
    batch.map(async (message) => {
      try {
        return { message: { ...message, ...(await expandMessage(message, invocation)) }, why: null };
      } catch (error) {
        return { message, why: asCloudfenceError(error).message };
      }
    }),
  );
  return {
    ready: expanded.flatMap(({ message, why }) => (why === null ? [message] : [])),
    failures: expanded.flatMap(({ message, why }) => (why === null ? [] : [{ message, why }])),
  };
};

/**
 * Processes a batch of Service Bus messages. Each message ends with a stated outcome, is sent again with a delay, or is
 * sent to the dead-letter queue with its reason. The result of one message never affects another message. If a message
 * cannot be sent to any queue, this function throws, and Service Bus delivers the batch again. That is harmless,
 * because each look reads the current state.
 */
export const onEvent =
  (getDependencies: GetDependencies) =>
  async (messages: unknown, context: PlatformLogger): Promise<void> => {
    const invocation = await invocationContext(getDependencies, context);
    await confirmTestEvents(receivedIn(messages), invocation.dependencies, (real) => processBatch(real, invocation));
  };

const processBatch = async (received: readonly Received[], invocation: InvocationContext): Promise<void> => {
  const { dependencies, limit } = invocation;
  const batch = await expandBatch(received, invocation);
  await processItems(
    batch.ready.flatMap(({ items }) => items),
    { policy: dependencies.policy, queued: true, vouched: null },
    dependencies,
    limit,
    async (outcomes) => {
      const again = await acknowledgeAll(batch.ready, outcomes, dependencies);
      await tryAllAgain([...batch.failures, ...again], dependencies);
    },
  );
};

/**
 * Wraps a failed message in an envelope with a count of its failures. Without it, Service Bus would redeliver the
 * message at once, ten times in a second.
 */
const retry = z.strictObject({ cloudfence: z.literal('retry'), failures: z.int().min(1), body: z.string() }).readonly();

type Retry = z.infer<typeof retry>;

interface Received extends Message {
  /** How many times the message failed before. */
  readonly failures: number;
}

const receivedAt = (text: string, at: number): Received => {
  const again = retry.safeParse(parseJsonOrNull(text));
  const { body, failures } = again.success ? again.data : { body: text, failures: 0 };
  return { ...parseMessage(`${at}`, body, () => readHints(body)), failures };
};

/**
 * Returns the messages of a queue trigger, which passes one message or a batch. The platform parses a message that
 * declares itself to be JSON.
 */
const receivedIn = (messages: unknown): readonly Received[] =>
  (Array.isArray(messages) ? messages : [messages]).map((message, at) => receivedAt(bodyText(message), at));

/** Reads a message that a person sends. */
export const parseManualMessage = (sent: unknown): Message => {
  const text = bodyText(sent);
  return parseMessage(null, text, () => readHints(text));
};

const machinesOf = async (
  item: WorkItem,
  expand: ExpandScaleSets,
  signal: AbortSignal,
): Promise<readonly WorkItem[]> => {
  const machines = await expand([item.machine], signal);
  return machines.map((machine) => ({ ...item, machine }));
};

const emptyScaleSet = ({ machine }: WorkItem): IgnoredEvent => ({
  what:
    `an event about the scale set ${machine}, which has no machines now. The sweep finds what its machines left ` +
    'behind',
  where: '$',
});

/**
 * Replaces a scale set with its machines, because an event can be about a whole scale set. This takes at most half of
 * the time that is left, so that the runs of the batch have the other half.
 * @throws Unavailable, PermissionDenied, Refused
 */
export const expandMessage = async (
  message: Message,
  { dependencies: { expand, ports }, limit }: InvocationContext,
): Promise<Message> => {
  const items = await endInTime(
    limit.getRemainingTimeInMillis() / 2,
    { ...ports, signal: new AbortController().signal },
    (signal) => Promise.all(message.items.map((item) => machinesOf(item, expand, signal))),
  );
  const gone = message.items.filter((_, at) => items[at]?.length === 0);
  return { ...message, items: items.flat(), ignored: [...message.ignored, ...gone.map(emptyScaleSet)] };
};

type RetryDependencies = Pick<AzureDependencies, 'queues' | 'log' | 'chance'>;

/** Sends all failed messages at the same time, and then throws if one of them could not be sent. */
const tryAllAgain = async (
  failed: readonly Unacknowledged<Received>[],
  dependencies: RetryDependencies,
): Promise<void> => {
  const sent = await Promise.allSettled(failed.map(({ message, why }) => tryAgain(message, why, dependencies)));
  for (const one of sent) if (one.status === 'rejected') throw one.reason;
};

const MOST_FAILURES = 10;

/** Sends a failed message again with a longer delay each time, and finally sends it to the dead-letter queue. */
const tryAgain = async (
  { body, failures }: Received,
  why: string,
  { queues, log, chance }: RetryDependencies,
): Promise<void> => {
  const failed = failures + 1;
  if (failed > MOST_FAILURES) return queues.dead({ body, reason: reasonToGiveUp(failed, why) });
  const message: Retry = { cloudfence: 'retry', failures: failed, body };
  const seconds = redeliveryDelay(failed, chance());
  await queues.events(JSON.stringify(message), seconds);
  log(
    messageLine(
      'retry',
      'failed',
      `Cloudfence tries again in ${seconds} s. The message failed ${pluralize(failed, 'time')}: ${why}`,
      null,
    ),
  );
};
