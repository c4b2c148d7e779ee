import { structured } from '../../providers/azure/events/envelope.ts';
import { handshakeAnswer } from '../../providers/azure/events/handshake.ts';
import { messageLine } from '../decision-log.ts';
import { jsonIn } from '../../fencing/model/json-text.ts';
import { describeFault, isOwnMessage, notByThisDoor } from '../messages.ts';
import { decision } from '../metrics.ts';
import { type HttpAnswer, type HttpFunction, invoked, json, type Logging } from './http.ts';
import type { Wired } from './wire.ts';

const empty = (status: number): HttpAnswer => ({ status, headers: {}, body: '' });

const TAKEN = empty(202);
const LATER = empty(503);
/**
 * The largest message that a queue of the basic tier accepts, without its headers (bytes).
 * https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas
 */
const LARGEST_MESSAGE = 190_000;
const TOO_LARGE = empty(413);
/** An OPTIONS request that is not a handshake brings no event. */
const NOT_ALLOWED = empty(405);

const WHY = describeFault(notByThisDoor);

/**
 * Rejects a message in Cloudfence's own format, because Cloudfence never sends its messages through this endpoint. The
 * message goes to the dead-letter queue, where people look, and nowhere else.
 */
const refused = async (body: string, wired: Wired, context: Logging): Promise<HttpAnswer> => {
  const { wiring } = await invoked(wired, context);
  wiring.log(messageLine(decision.notUnderstood, 'own-message', WHY, null));
  await wiring.queues.dead({ body, reason: WHY });
  return json(400, { error: WHY });
};

const queued = async (text: string, wired: Wired, context: Logging): Promise<HttpAnswer> => {
  const { wiring } = await invoked(wired, context);
  try {
    await wiring.queues.events(text, 0);
    return TAKEN;
  } catch (error) {
    wiring.log(messageLine('failed', 'queue', error instanceof Error ? error.message : String(error), null));
    return LATER;
  }
};

/**
 * Accepts posts of an action group or of an Event Grid push subscription, and answers the handshakes of both schemas.
 * An action group waits only ten seconds, so this function queues the events and `on-event` reads them.
 */
export const webhook =
  (wired: Wired): HttpFunction =>
  async (request, context) => {
    const body = await request.text();
    const headers = Object.fromEntries([...request.headers].map(([name, value]) => [name.toLowerCase(), value]));
    const handshake = handshakeAnswer({ method: request.method, headers, body: jsonIn(body) });
    if (handshake) return handshake;
    if (request.method === 'OPTIONS') return NOT_ALLOWED;
    const text = structured(headers, body);
    if (Buffer.byteLength(text) > LARGEST_MESSAGE) return TOO_LARGE;
    return isOwnMessage(text) ? refused(text, wired, context) : queued(text, wired, context);
  };
