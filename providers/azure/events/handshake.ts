import { z } from 'zod';

/**
 * How Event Grid checks that a receiver wants its events: with a special event or, for CloudEvents, with an OPTIONS
 * request.
 * https://learn.microsoft.com/azure/event-grid/end-point-validation-cloud-events-schema
 */

export const HANDSHAKE = 'Microsoft.EventGrid.SubscriptionValidationEvent';

interface HandshakeRequest {
  readonly method: string;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed body. */
  readonly body: unknown;
}

interface HandshakeAnswer {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const code = z.object({ validationCode: z.string().min(1) });
/** The validation event in either schema. */
const validation = z.tuple([
  z.union([
    z.object({ eventType: z.literal(HANDSHAKE), data: code }),
    z.object({ type: z.literal(HANDSHAKE), specversion: z.string(), data: code }),
  ]),
]);

/**
 * Returns the answer to a handshake, or null when the request is not one. The answer allows any origin: access to the
 * function decides who may send.
 */
export const handshakeAnswer = ({ method, headers, body }: HandshakeRequest): HandshakeAnswer | null => {
  const asked = headers['webhook-request-origin'];
  if (method === 'OPTIONS' && asked !== undefined)
    return { status: 200, headers: allowed(asked, headers['webhook-request-rate']), body: '' };
  const event = validation.safeParse(Array.isArray(body) ? body : [body]);
  if (method !== 'POST' || !event.success) return null;
  const validationResponse = event.data[0].data.validationCode;
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ validationResponse }) };
};

/** https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md */
const allowed = (origin: string, rate: string | undefined): Record<string, string> => ({
  'webhook-allowed-origin': origin,
  ...(rate !== undefined && { 'webhook-allowed-rate': rate }),
});
