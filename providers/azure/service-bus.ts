import { z } from 'zod';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { shorten } from '../../fencing/model/reason.ts';
import { restCall, type RestOptions } from './rest.ts';

/** A message for a Service Bus queue. */
export interface OutgoingMessage {
  readonly text: string;
  /** The earliest delivery time of the message (epoch ms). Null means immediately. */
  readonly notBefore: number | null;
  readonly properties: Readonly<Record<string, string>>;
}

export type SendMessage = (queue: string, message: OutgoingMessage) => Promise<void>;

export interface ServiceBusOptions extends RestOptions {
  /** `<namespace>.servicebus.windows.net`, or a URL. */
  readonly host: string;
}

const SCOPE = 'https://servicebus.azure.net/.default';
const SENDING_LASTS_MS = 10_000;

/**
 * Quotes the value of a property. Properties are sent as headers. Characters that headers or quotes cannot contain are
 * replaced.
 */
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?')}"`;

const headersOf = ({ notBefore, properties }: OutgoingMessage): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  ...(notBefore !== null && {
    BrokerProperties: JSON.stringify({ ScheduledEnqueueTimeUtc: new Date(notBefore).toUTCString() }),
  }),
  ...Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, quoted(value)])),
});

const LONGEST_SHOWN = 100;

const originOf = (host: string): string => {
  const url = /^https?:/i.test(host) ? host : `https://${host}`;
  if (URL.canParse(url)) return new URL(url).origin;
  throw new InvalidConfiguration([
    `"${shorten(host, LONGEST_SHOWN)}" is not the host of a Service Bus namespace: set CLOUDFENCE_BUS__fullyQualifiedNamespace to one such as my-bus.servicebus.windows.net`,
  ]);
};

/**
 * Returns a function that sends messages to the queues of one namespace.
 * https://learn.microsoft.com/rest/api/servicebus/send-message-to-queue
 *
 * @throws InvalidConfiguration; sending throws Unavailable, PermissionDenied, Refused
 */
export const createSender = ({ host, ...options }: ServiceBusOptions): SendMessage => {
  const origin = originOf(host);
  return async (queue, message) => {
    const url = `${origin}/${encodeURIComponent(queue)}/messages`;
    const call = {
      method: 'POST',
      url,
      scope: SCOPE,
      name: 'ServiceBus/namespaces/messages/send/action',
      headers: headersOf(message),
      body: message.text,
    } as const;
    await restCall(options, call, z.unknown(), AbortSignal.timeout(SENDING_LASTS_MS));
  };
};
