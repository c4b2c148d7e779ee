import { z } from 'zod';
import { inHierarchy } from '../../fencing/model/errors.ts';
import type { IgnoredEvent } from '../../fencing/model/hint.ts';
import { jsonIn } from '../../fencing/model/json-text.ts';
import { readHints } from '../../providers/azure/events/read-hints.ts';
import { messageLine } from '../decision-log.ts';
import { processItems, type TimeLimit } from '../invocation.ts';
import { acknowledgeAll, type Message, parseMessage, type WorkItem, textOf, type Unacknowledged } from '../messages.ts';
import { invoked, type Invoked, type Logging } from './http.ts';
import type { AzureWiring, Expand, Wired } from './wire.ts';

interface Opened {
  readonly ready: readonly Received[];
  readonly failures: readonly Unacknowledged<Received>[];
}

/** What Azure does not answer about now is tried again; the rest of the batch goes on. */
const opened = async (batch: readonly Received[], { wiring, limit }: Invoked): Promise<Opened> => {
  const ready: Received[] = [];
  const failures: Unacknowledged<Received>[] = [];
  for (const received of batch) {
    try {
      ready.push({ ...received, ...(await expanded(received, wiring.expand, limit)) });
    } catch (error) {
      failures.push({ message: received, why: inHierarchy(error).message });
    }
  }
  return { ready, failures };
};

/**
 * Takes a batch of Service Bus messages. Each ends with a stated outcome, is sent again with a delay, or is sent to the
 * queue of dead letters with its reason; one message never decides over another. Only when not even that can be sent
 * does this throw, and Service Bus delivers the batch again, which is harmless: each look sees what is there.
 */
export const onEvent =
  (wired: Wired) =>
  async (messages: unknown, context: Logging): Promise<void> => {
    const invocation = await invoked(wired, context);
    const { wiring, limit } = invocation;
    const batch = await opened(receivedIn(messages), invocation);
    const items = batch.ready.flatMap(({ items }) => items);
    const outcomes = await processItems(items, { policy: wiring.policy, queued: true, vouched: null }, wiring, limit);
    const again = await acknowledgeAll(batch.ready, outcomes, wiring);
    for (const { message, why } of [...batch.failures, ...again]) await tryAgain(message, why, wiring);
  };

/**
 * A message that failed, in an envelope that counts: Service Bus would bring it back at once, ten times in a second.
 */
const retry = z.strictObject({ cloudfence: z.literal('retry'), failures: z.int().min(1), body: z.string() }).readonly();

type Retry = z.infer<typeof retry>;

interface Received extends Message {
  /** How often it has failed before. */
  readonly failures: number;
}

const receivedAt = (text: string, at: number): Received => {
  const again = retry.safeParse(jsonIn(text));
  const { body, failures } = again.success ? again.data : { body: text, failures: 0 };
  return { ...parseMessage(`${at}`, body, () => readHints(body)), failures };
};

/**
 * Messages of a queue, one or a batch of them; the platform parses JSON by itself when a message says that it is some.
 */
const receivedIn = (messages: unknown): readonly Received[] =>
  (Array.isArray(messages) ? messages : [messages]).map((message, at) => receivedAt(textOf(message), at));

/** What a person sends. */
export const sentByHand = (sent: unknown): Message => {
  const text = textOf(sent);
  return parseMessage(null, text, () => readHints(text));
};

const machinesOf = async (item: WorkItem, expand: Expand, signal: AbortSignal): Promise<readonly WorkItem[]> => {
  const machines = await expand([item.machine], signal);
  return machines.map((machine) => ({ ...item, machine }));
};

/** Left for what is to be done with the machines (ms). */
const MARGIN_MS = 5_000;

const goneSet = ({ machine }: WorkItem): IgnoredEvent => ({
  what: `news of a scale set that has no machines any more (${machine}); the sweep finds what it left behind`,
  where: '$',
});

/** An event may speak of a whole scale set: its machines take its place. @throws Unavailable, Denied, Refused */
export const expanded = async (message: Message, expand: Expand, limit: TimeLimit): Promise<Message> => {
  const signal = AbortSignal.timeout(Math.max(0, Math.floor(limit.getRemainingTimeInMillis() - MARGIN_MS)));
  const items = await Promise.all(message.items.map((item) => machinesOf(item, expand, signal)));
  const gone = message.items.filter((_, at) => items[at]?.length === 0);
  return { ...message, items: items.flat(), ignored: [...message.ignored, ...gone.map(goneSet)] };
};

/** Waits of 5 s to 15 minutes, an hour in all: an outage of the cloud or of a cluster makes no dead letters. */
const MOST_FAILURES = 10;
const SHORTEST_WAIT_S = 5;
const LONGEST_WAIT_S = 900;

const waitAfter = (failures: number): number => Math.min(LONGEST_WAIT_S, SHORTEST_WAIT_S * 2 ** (failures - 1));

/** Sends a failed message once more, later each time, and in the end to the dead letters. */
const tryAgain = async (
  { body, failures }: Received,
  why: string,
  { queues, log }: Pick<AzureWiring, 'queues' | 'log'>,
): Promise<void> => {
  const failed = failures + 1;
  if (failed > MOST_FAILURES) return queues.dead({ body, reason: `failed ${failed} times: ${why}` });
  const message: Retry = { cloudfence: 'retry', failures: failed, body };
  const seconds = waitAfter(failed);
  await queues.events(JSON.stringify(message), seconds);
  log(messageLine('retry', 'failed', `in ${seconds} s, after failing ${failed} times: ${why}`, null));
};
