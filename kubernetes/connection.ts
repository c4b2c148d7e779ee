import type { Configuration } from '@kubernetes/client-node/dist/gen/index.js';
import type { Permit } from '../fencing/permit.ts';
import type { Clock } from './clock.ts';
import { saysAbsent, translated } from './errors.ts';
import type { Link } from './link.ts';
import { retried } from './retry.ts';
import type { Sending } from './sending.ts';
import { configurationFor } from './sending.ts';

/** One of the client's generated API classes, such as CoreV1Api. */
export type ApiClass<Api> = new (configuration: Configuration) => Api;

type Ask = <Api, T>(api: ApiClass<Api>, ask: (api: Api) => Promise<T>) => Promise<T>;

/** Reads under one signal: tried a few times each, and consistent, because no read asks the cache (resourceVersion unset). */
export interface Reader {
  /** @throws Unavailable, Denied, Refused */
  readonly read: Ask;
  /** Null when the API server says that the object does not exist. */
  readonly readIfPresent: <Api, T>(api: ApiClass<Api>, ask: (api: Api) => Promise<T>) => Promise<T | null>;
  /** A list of which only the items' metadata is sent. */
  readonly readMetadata: Ask;
}

/** Writes under one signal and one permit, each sent once and never again. */
export interface Writer {
  readonly write: Ask;
  /** The body is a merge patch and not a JSON Patch. */
  readonly mergePatch: Ask;
}

export interface Connection {
  readonly clock: Clock;
  readonly reader: (signal: AbortSignal) => Reader;
  /** A null permit is for what destroys nothing. */
  readonly writer: (permit: Permit | null, signal: AbortSignal) => Writer;
  readonly close: () => Promise<void>;
}

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#fetching-object-metadata */
const METADATA_LIST = { Accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
const MERGE_PATCH = { 'Content-Type': 'application/merge-patch+json' };

const nullIfAbsent = (error: unknown): null => {
  if (saysAbsent(error)) return null;
  throw error;
};

/** `callLasts`: how many ms a single request may take. */
export const connect = (link: Link, clock: Clock, callLasts: number): Connection => {
  const asking =
    (sending: Sending, tries: 'again' | 'once'): Ask =>
    async (api, ask) => {
      let line = 'a request';
      const watched = { ...sending, deadline: () => clock.deadline(callLasts), note: (noted: string) => (line = noted) };
      const attempt = async () => ask(new api(configurationFor(link, watched)));
      try {
        return await (tries === 'again' ? retried(attempt, clock, sending.signal) : attempt());
      } catch (error) {
        throw translated(error, line);
      }
    };
  const readerFor = (signal: AbortSignal): Reader => {
    const read = asking({ signal }, 'again');
    return {
      read,
      readIfPresent: (api, ask) => read(api, ask).catch(nullIfAbsent),
      readMetadata: asking({ signal, headers: METADATA_LIST }, 'again'),
    };
  };
  const writerFor = (permit: Permit | null, signal: AbortSignal): Writer => {
    const sending = { signal, ...(permit && { permit }) };
    return { write: asking(sending, 'once'), mergePatch: asking({ ...sending, headers: MERGE_PATCH }, 'once') };
  };
  return { clock, reader: readerFor, writer: writerFor, close: link.close };
};
