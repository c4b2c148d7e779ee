import { toStructuredEvent } from '../../providers/azure/events/envelope.ts';
import { handshakeAnswer } from '../../providers/azure/events/handshake.ts';
import { messageLine } from '../decision-log.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { describeFault, isOwnMessage, ownMessageRejected } from '../messages.ts';
import { logDecision } from '../metrics.ts';
import { type HttpResponse, type HttpFunction, invocationContext, jsonResponse, type PlatformLogger } from './http.ts';
import type { GetDependencies } from './dependencies.ts';

const empty = (status: number): HttpResponse => ({ status, headers: {}, body: '' });

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

const WHY = describeFault(ownMessageRejected);

/**
 * Rejects a message in Cloudfence's own format, because Cloudfence never sends its messages through this endpoint. The
 * message goes to the dead-letter queue, where people look, and nowhere else.
 */
const refused = async (
  body: string,
  getDependencies: GetDependencies,
  context: PlatformLogger,
): Promise<HttpResponse> => {
  const { dependencies } = await invocationContext(getDependencies, context);
  dependencies.log(messageLine(logDecision.notUnderstood, 'own-message', WHY, null));
  await dependencies.queues.dead({ body, reason: WHY });
  return jsonResponse(400, { error: WHY });
};

const queued = async (
  text: string,
  getDependencies: GetDependencies,
  context: PlatformLogger,
): Promise<HttpResponse> => {
  const { dependencies } = await invocationContext(getDependencies, context);
  try {
    await dependencies.queues.events(text, 0);
    return TAKEN;
  } catch (error) {
    dependencies.log(messageLine('failed', 'queue', error instanceof Error ? error.message : String(error), null));
    return LATER;
  }
};

/**
 * Accepts posts of an action group or of an Event Grid push subscription, and answers the handshakes of both schemas.
 * An action group waits only ten seconds, so this function queues the events and `on-event` reads them.
 */
export const webhook =
  (getDependencies: GetDependencies): HttpFunction =>
  async (request, context) => {
    const body = await request.text();
    const headers = Object.fromEntries([...request.headers].map(([name, value]) => [name.toLowerCase(), value]));
    const handshake = handshakeAnswer({ method: request.method, headers, body: parseJsonOrNull(body) });
    if (handshake) return handshake;
    if (request.method === 'OPTIONS') return NOT_ALLOWED;
    const text = toStructuredEvent(headers, body);
    if (Buffer.byteLength(text) > LARGEST_MESSAGE) return TOO_LARGE;
    return isOwnMessage(text) ? refused(text, getDependencies, context) : queued(text, getDependencies, context);
  };
