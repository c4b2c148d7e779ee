import { z } from 'zod';
import { CloudfenceError, PermissionDenied, Refused, Unavailable } from '../../fencing/model/errors.ts';
import { createAuth, loadCredentials } from './credentials.ts';

/** https://cloud.google.com/pubsub/docs/reference/rest/v1/PubsubMessage */
export interface OutgoingMessage {
  readonly text: string;
  /** A value has at most 1,024 bytes. */
  readonly attributes: Readonly<Record<string, string>>;
}

export interface PublisherOptions {
  /** URL of another endpoint. Over plain HTTP, no credentials are sent. */
  readonly endpoint: string | null;
}

/**
 * Publishes to a topic by its full name, `projects/<project>/topics/<topic>`. @throws PermissionDenied, Refused,
 * Unavailable
 */
export type Publish = (topic: string, message: OutgoingMessage) => Promise<void>;

const GOOGLE = 'https://pubsub.googleapis.com';
const SCOPES = ['https://www.googleapis.com/auth/pubsub'];
const ANSWER_LASTS_MS = 10_000;

const thrown = z.object({ response: z.object({ status: z.number() }) });

/** Translates an error by its status, never by the text of the answer. */
const toCloudfenceError = (caught: unknown, topic: string): CloudfenceError => {
  if (caught instanceof CloudfenceError) return caught;
  const status = thrown.safeParse(caught).data?.response.status ?? 0;
  const message = `publishing to ${topic} returned ${status || 'nothing'}`;
  if (status === 401 || status === 403) return new PermissionDenied(message, { cause: caught });
  return status >= 400 && status < 500 && status !== 429
    ? new Refused(message, { cause: caught })
    : new Unavailable(message, { cause: caught });
};

export const createPublisher = ({ endpoint }: PublisherOptions): Publish => {
  const auth = createAuth({ scopes: SCOPES, endpoint });
  return async (topic, { text, attributes }) => {
    const data = { messages: [{ data: Buffer.from(text).toString('base64'), attributes }] };
    try {
      await loadCredentials(auth);
      await auth.request({
        url: `${endpoint ?? GOOGLE}/v1/${topic}:publish`,
        method: 'POST',
        data,
        timeout: ANSWER_LASTS_MS,
      });
    } catch (caught) {
      throw toCloudfenceError(caught, topic);
    }
  };
};
