import { z } from 'zod';
import { inHierarchy } from '../../fencing/model/errors.ts';
import type { Aside } from '../../fencing/model/hint.ts';
import { jsonIn } from '../../fencing/model/json-text.ts';
import { readHints } from '../../providers/azure/events/read-hints.ts';
import { messageLine } from '../decision-log.ts';
import { runErrands, type TimeLimit } from '../invocation.ts';
import { acknowledgeAll, type Delivery, deliveryOf, type Errand, textOf, type Unacknowledged } from '../messages.ts';
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
      failures.push({ delivery: received, why: inHierarchy(error).message });
    }
  }
  return { ready, failures };
};

/**
 * Takes a batch of Service Bus messages. Each ends with a stated outcome, is sent again with a delay, or is sent to the
 * queue of dead letters with its reason; one message never decides over another. Only when not even that can be sent does
 * this throw, and Service Bus delivers the batch again, which is harmless: each look sees what is there.
 */
export const onEvent =
  (wired: Wired) =>
  async (messages: unknown, context: Logging): Promise<void> => {
    const invocation = await invoked(wired, context);
    const { wiring, limit } = invocation;
    const batch = await opened(receivedIn(messages), invocation);
    const errands = batch.ready.flatMap(({ errands }) => errands);
    const outcomes = await runErrands(errands, { policy: wiring.policy, queued: true, vouched: null }, wiring, limit);
    const again = await acknowledgeAll(batch.ready, outcomes, wiring);
    for (const { delivery, why } of [...batch.failures, ...again]) await tryAgain(delivery, why, wiring);
  };

/** A message that failed, in an envelope that counts: Service Bus would bring it back at once, ten times in a second. */
const retry = z.strictObject({ cloudfence: z.literal('retry'), failures: z.int().min(1), body: z.string() }).readonly();

type Retry = z.infer<typeof retry>;

interface Received extends Delivery {
  /** How often it has failed before. */
  readonly failures: number;
}

const receivedAt = (text: string, at: number): Received => {
  const again = retry.safeParse(jsonIn(text));
  const { body, failures } = again.success ? again.data : { body: text, failures: 0 };
  return { ...deliveryOf(`${at}`, body, () => readHints(body)), failures };
};

/** Messages of a queue, one or a batch of them; the platform parses JSON by itself when a message says that it is some. */
const receivedIn = (messages: unknown): readonly Received[] => (Array.isArray(messages) ? messages : [messages]).map((message, at) => receivedAt(textOf(message), at));

/** What a person sends. */
export const sentByHand = (sent: unknown): Delivery => {
  const text = textOf(sent);
  return deliveryOf(null, text, () => readHints(text));
};

const machinesOf = async (errand: Errand, expand: Expand, signal: AbortSignal): Promise<readonly Errand[]> => {
  const machines = await expand([errand.machine], signal);
  return machines.map((machine) => ({ ...errand, machine }));
};

/** Left for what is to be done with the machines (ms). */
const MARGIN_MS = 5_000;

const goneSet = ({ machine }: Errand): Aside => ({ what: `news of a scale set that has no machines any more (${machine}); the sweep finds what it left behind`, where: '$' });

/** An event may speak of a whole scale set: its machines take its place. @throws Unavailable, Denied, Refused */
export const expanded = async (delivery: Delivery, expand: Expand, limit: TimeLimit): Promise<Delivery> => {
  const signal = AbortSignal.timeout(Math.max(0, Math.floor(limit.getRemainingTimeInMillis() - MARGIN_MS)));
  const errands = await Promise.all(delivery.errands.map((errand) => machinesOf(errand, expand, signal)));
  const gone = delivery.errands.filter((_, at) => errands[at]?.length === 0);
  return { ...delivery, errands: errands.flat(), asides: [...delivery.asides, ...gone.map(goneSet)] };
};

/** Waits of 5 s to 15 minutes, an hour in all: an outage of the cloud or of a cluster makes no dead letters. */
const MOST_FAILURES = 10;
const SHORTEST_WAIT_S = 5;
const LONGEST_WAIT_S = 900;

const waitAfter = (failures: number): number => Math.min(LONGEST_WAIT_S, SHORTEST_WAIT_S * 2 ** (failures - 1));

/** Sends a failed message once more, later each time, and in the end to the dead letters. */
const tryAgain = async ({ body, failures }: Received, why: string, { queues, log }: Pick<AzureWiring, 'queues' | 'log'>): Promise<void> => {
  const failed = failures + 1;
  if (failed > MOST_FAILURES) return queues.dead({ body, reason: `failed ${failed} times: ${why}` });
  const message: Retry = { cloudfence: 'retry', failures: failed, body };
  const seconds = waitAfter(failed);
  await queues.events(JSON.stringify(message), seconds);
  log(messageLine('retry', 'failed', `in ${seconds} s, after failing ${failed} times: ${why}`, null));
};
