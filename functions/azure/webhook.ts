import { toStructuredEvent } from '../../providers/azure/events/envelope.ts';
import { handshakeAnswer } from '../../providers/azure/events/kinds.ts';
import { messageLine, queueFailureLine } from '../decision-log.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { describeFault, isOwnMessage, ownMessageRejected } from '../messages.ts';
import { logDecision } from '../metrics.ts';
import { type HttpResponse, type HttpFunction, invocationContext, jsonResponse, type PlatformLogger } from './http.ts';
import type { GetDependencies } from './dependencies.ts';

const emptyResponse = (status: number): HttpResponse => ({ status, headers: {}, body: '' });

const ACCEPTED = emptyResponse(202);
const TRY_LATER = emptyResponse(503);
/**
 * The largest message that a queue of the basic tier accepts, without its headers (bytes).
 * https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas
 */
const LARGEST_MESSAGE = 190_000;
/** An OPTIONS request that is not a handshake contains no event. */
const NOT_ALLOWED = emptyResponse(405);

const OWN_MESSAGE_FAULT = describeFault(ownMessageRejected);

/**
 * Rejects a message in Cloudfence's own format, because Cloudfence never sends its messages through this endpoint. The
 * message goes only to the dead-letter queue, where people look.
 */
const refused = async (
  body: string,
  getDependencies: GetDependencies,
  context: PlatformLogger,
): Promise<HttpResponse> => {
  const { dependencies } = await invocationContext(getDependencies, context);
  dependencies.log(messageLine(logDecision.notUnderstood, 'own-message', OWN_MESSAGE_FAULT, null));
  await dependencies.queues.dead({ body, reason: OWN_MESSAGE_FAULT });
  return jsonResponse(400, { error: OWN_MESSAGE_FAULT });
};

/** Rejects messages that no queue accepts. Event Grid does not send it again, so the log is the only trace of it. */
const tooLarge = async (
  bytes: number,
  getDependencies: GetDependencies,
  context: PlatformLogger,
): Promise<HttpResponse> => {
  const { dependencies } = await invocationContext(getDependencies, context);
  const says =
    `the event has ${bytes} bytes, but a queue accepts only ${LARGEST_MESSAGE}: ` +
    'send fewer events in one request. The sweep also finds their machines';
  dependencies.log(messageLine(logDecision.notUnderstood, 'too-large', says, null));
  return jsonResponse(413, { error: says });
};

const enqueue = async (
  text: string,
  getDependencies: GetDependencies,
  context: PlatformLogger,
): Promise<HttpResponse> => {
  const { dependencies } = await invocationContext(getDependencies, context);
  try {
    await dependencies.queues.events(text, 0);
    return ACCEPTED;
  } catch (error) {
    dependencies.log(queueFailureLine(error));
    return TRY_LATER;
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
    const bytes = Buffer.byteLength(text);
    if (bytes > LARGEST_MESSAGE) return tooLarge(bytes, getDependencies, context);
    return isOwnMessage(text) ? refused(text, getDependencies, context) : enqueue(text, getDependencies, context);
  };
