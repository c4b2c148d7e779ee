import { z } from 'zod';
import { encoded, readHints } from '../../providers/gcp/events/read-hints.ts';
import { processItems } from '../invocation.ts';
import { acknowledgeAll, type Message, parseMessage, textOf } from '../messages.ts';
import { type Answering, httpFunction, turnedAway } from './http.ts';
import { type GcpWiring, NOT_BEFORE, wireOnce } from './wire.ts';

/** Pub/Sub and Eventarc take any 2xx for an acknowledgement, and bring everything else again. */
const DONE = { status: 204 };
const TOO_EARLY = { status: 429 };
const AGAIN = { status: 503 };

/**
 * Takes what Pub/Sub pushes: a log entry by the sink, or a message of our own that waited; and CloudEvents of Eventarc.
 * It is acknowledged with a stated end, published again with a time before which nobody need look, or published as a
 * dead letter with its reason; only what failed is given back.
 */
export const onEvent =
  (wired: () => Promise<GcpWiring>): Answering =>
  async (request, limit) => {
    const wiring = await wired();
    const refusal = await turnedAway(request, wiring);
    if (refusal) return refusal;
    const { message, notBefore } = messageIn(request.body);
    if (notBefore !== null && wiring.ports.clock.now().wall < notBefore) return TOO_EARLY;
    const outcomes = await processItems(
      message.items,
      { policy: wiring.policy, queued: true, vouched: null },
      wiring,
      limit,
    );
    const again = await acknowledgeAll([message], outcomes, wiring);
    return again.length === 0 ? DONE : AGAIN;
  };

export const handler = httpFunction(onEvent(wireOnce()));

/** https://cloud.google.com/pubsub/docs/push#receive_push; CloudEvents of a topic have the same inside. */
const push = z.object({
  message: z.object({
    data: encoded.default(''),
    messageId: z.string().default(''),
    attributes: z.looseObject({ [NOT_BEFORE]: z.string().optional() }).default({}),
  }),
});

interface Pushed {
  readonly message: Message;
  /** Epoch ms before which a message that waits need not be looked at. */
  readonly notBefore: number | null;
}

const momentIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;

/** A subscription that takes the wrapping off sends the data alone, of a type that the platform may not parse. */
export const messageIn = (body: unknown): Pushed => {
  const read = push.safeParse(body);
  if (!read.success) return { message: parseMessage(null, textOf(body), () => readHints(body)), notBefore: null };
  const { data, messageId, attributes } = read.data.message;
  const text = Buffer.from(data, 'base64').toString('utf8');
  return { message: parseMessage(messageId, text, () => readHints(body)), notBefore: momentIn(attributes[NOT_BEFORE]) };
};
