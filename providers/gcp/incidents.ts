import type { ObjectStore, TellingKeeper } from '../../incidents/store.ts';
import { noAnswerError, type SendCall } from '../../transport/answers.ts';
import { createObjectList, s3List, createObjectStore } from '../object-store.ts';
import { createAuth, loadCredentials } from './credentials.ts';
import { abortOnSignal } from '../../fencing/loop/ports.ts';
import { createPublisher, type PublisherOptions } from './publish.ts';

/** Stores incidents in a bucket of Cloud Storage, and sends messages about them to a Pub/Sub topic. */

export interface IncidentPlaces {
  readonly bucket: string;
  /** Full name of a topic, or null. */
  readonly topic: string | null;
}

const GOOGLE = 'https://storage.googleapis.com';
const SCOPES = ['https://www.googleapis.com/auth/devstorage.read_write'];

const sendAs = ({ endpoint }: PublisherOptions): SendCall => {
  const auth = createAuth({ scopes: SCOPES, endpoint });
  return async ({ body, ...call }, signal) => {
    const { method, url, headers } = call;
    const send = async () => {
      await loadCredentials(auth);
      return auth.request<string>({
        method,
        url,
        headers,
        signal,
        responseType: 'text',
        validateStatus: () => true,
        ...(body !== undefined && { body }),
      });
    };
    const {
      status,
      headers: answered,
      data,
    } = await abortOnSignal(signal, send).catch((caught: unknown) => {
      throw noAnswerError(caught, call);
    });
    return { status, header: (name) => answered.get(name), text: data };
  };
};

const bucketUrl = (bucket: string, { endpoint }: PublisherOptions): string => `${endpoint ?? GOOGLE}/${bucket}`;

/**
 * Cloud Storage counts the generations of an object: https://cloud.google.com/storage/docs/request-preconditions
 * Its list: https://cloud.google.com/storage/docs/xml-api/get-bucket-list
 */
export const openObjectStore = (bucket: string, options: PublisherOptions): ObjectStore => ({
  ...createObjectStore(sendAs(options), {
    bucket: bucketUrl(bucket, options),
    calls: { read: 'storage.objects.get', write: 'storage.objects.create', remove: 'storage.objects.delete' },
    version: 'x-goog-generation',
    headers: {},
    writing: {},
    onlyOver: (version) => ({ 'x-goog-if-generation-match': version ?? '0' }),
  }),
  list: createObjectList(sendAs(options), {
    ...s3List,
    bucket: bucketUrl(bucket, options),
    call: 'storage.objects.list',
    headers: {},
  }),
});

export const createIncidentKeeper = ({ bucket, topic }: IncidentPlaces, options: PublisherOptions): TellingKeeper => {
  const publish = createPublisher(options);
  return {
    objects: openObjectStore(bucket, options),
    announce: async (announcement) => {
      if (topic === null) return;
      const { id, about, severity } = announcement;
      await publish(topic, {
        text: JSON.stringify(announcement),
        attributes: { source: 'cloudfence', id, about, severity },
      });
    },
  };
};
