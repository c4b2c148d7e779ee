import { z } from 'zod';
import { structuredCloudEvent, readHints } from '../../providers/gcp/events/read-hints.ts';
import { processItems, type TimeLimit } from '../invocation.ts';
import { acknowledgeAll, sendDeadLetter, reasonToGiveUp, type Unacknowledged } from '../acknowledge.ts';
import { isOwnMessage, type Message, parseMessage, bodyText, confirmTestEvents } from '../messages.ts';
import { type HttpHandler, httpFunction, rejectUnauthorized } from './http.ts';
import { type GcpDependencies, NOT_BEFORE, lazyDependencies } from './dependencies.ts';

/** Pub/Sub and Eventarc treat any 2xx as an acknowledgment, and redeliver after any other status. */
const ACKNOWLEDGED = { status: 204 };
const TOO_EARLY = { status: 429 };
const RETRY = { status: 503 };

/**
 * Processes messages that Pub/Sub pushes (a log entry from the sink, or one of Cloudfence's own waiting messages) and
 * CloudEvents from Eventarc. The message is acknowledged with a stated outcome, published again with the time before
 * which no look is needed, or published as a dead letter with its reason. Only a failed message is returned for
 * redelivery.
 */
export const onEvent =
  (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  async (request, limit) => {
    const dependencies = await getDependencies();
    const refusal = await rejectUnauthorized(request, dependencies);
    if (refusal) return refusal;
    const { message, notBefore, attempt } = parsePushedMessage(request.body);
    if (notBefore !== null && dependencies.ports.clock.now().wall < notBefore) return TOO_EARLY;
    return confirmTestEvents([message], dependencies, (batch) => processBatch(batch, attempt, dependencies, limit));
  };

const processBatch = (batch: readonly Message[], attempt: number, dependencies: GcpDependencies, limit: TimeLimit) =>
  processItems(
    batch.flatMap(({ items }) => items),
    { policy: dependencies.policy, queued: true, vouched: null },
    dependencies,
    limit,
    async (outcomes) => {
      const [again] = await acknowledgeAll(batch, outcomes, dependencies);
      return !again || (await isGivenUp(again, attempt, dependencies)) ? ACKNOWLEDGED : RETRY;
    },
  );

/**
 * Makes a failed message a dead letter with its reason, before Pub/Sub would do so without one. The subscription of
 * waiting messages delivers more often, so its messages are left to Pub/Sub.
 */
const isGivenUp = async (
  { message: { body }, why }: Unacknowledged<Message>,
  attempt: number,
  dependencies: GcpDependencies,
): Promise<boolean> => {
  const { deliveries } = dependencies;
  if (deliveries === null || attempt < deliveries || isOwnMessage(body)) return false;
  return sendDeadLetter({ body, reason: reasonToGiveUp(attempt, why) }, dependencies);
};

export const handler = httpFunction(onEvent(lazyDependencies()));

/**
 * The body of a push. CloudEvents of a topic contain the same.
 * https://cloud.google.com/pubsub/docs/push#receive_push
 */
const push = z.object({
  /** Only a subscription with a dead-letter topic counts. https://cloud.google.com/pubsub/docs/handling-failures */
  deliveryAttempt: z.int().min(1).catch(1),
  message: z.object({
    data: structuredCloudEvent.default(''),
    messageId: z.string().default(''),
    attributes: z.looseObject({ [NOT_BEFORE]: z.string().optional() }).default({}),
  }),
});

interface Pushed {
  readonly message: Message;
  /** The time until which a waiting message needs no look (epoch ms). */
  readonly notBefore: number | null;
  /** How often Pub/Sub has delivered the message, including this time. */
  readonly attempt: number;
}

const epochMsIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;

/**
 * Reads a pushed body. A subscription that unwraps payloads sends only the data, with a content type that the platform
 * may not parse.
 */
export const parsePushedMessage = (body: unknown): Pushed => {
  const read = push.safeParse(body);
  if (!read.success)
    return { message: parseMessage(null, bodyText(body), () => readHints(body)), notBefore: null, attempt: 1 };
  const { data, messageId, attributes } = read.data.message;
  const text = bodyText(Buffer.from(data, 'base64'));
  return {
    message: parseMessage(messageId, text, () => readHints(body)),
    notBefore: epochMsIn(attributes[NOT_BEFORE]),
    attempt: read.data.deliveryAttempt,
  };
};
