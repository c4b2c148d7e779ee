import { setTimeout as delay } from 'node:timers/promises';
import {
  type Configuration,
  createConfiguration,
  type RequestContext,
  ServerConfiguration,
  type V1ObjectMeta,
  wrapHttpLibrary,
} from '@kubernetes/client-node/dist/gen/index.js';
import type { StepResult } from '../fencing/model/cluster.ts';
import { CloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import { bounded } from '../transport/pages.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { apiExceptionIn, saysAbsent, saysChanged, toCloudfenceError } from './errors.ts';
import { lineOf, type Link } from './exchange.ts';

/** Time, as far as calls to an API server need it. */
export interface Clock {
  /** Epoch ms. */
  readonly now: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A signal that aborts after so many ms. */
  readonly deadline: (ms: number) => AbortSignal;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
  deadline: (ms) => AbortSignal.timeout(ms),
};

const TRIES = 4;
const FIRST_PAUSE_MS = 200;
/** A server that wants to be left alone for longer gets its wish: the caller comes back, or the queue does. */
const PATIENCE_MS = 5_000;

/**
 * `Retry-After` in ms; its date form is not used by Kubernetes.
 * https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
const askedPause = (headers: Readonly<Record<string, string>>): number | null => {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : null;
};

/** How long to wait before the same read may be tried again, or null when it may not. */
const pauseAfter = (error: unknown, tries: number): number | null => {
  if (error instanceof CloudfenceError) return null;
  const exception = apiExceptionIn(error);
  if (exception && exception.code !== 429 && exception.code < 500) return null;
  const pause = askedPause(exception?.headers ?? {}) ?? FIRST_PAUSE_MS * 2 ** (tries - 1);
  return pause <= PATIENCE_MS ? pause : null;
};

/**
 * Tries a read again after 429, 5xx and broken connections. Never meant for writes: whether one took effect, only a
 * look can tell.
 */
const retried = async <T>(read: () => Promise<T>, { sleep }: Pick<Clock, 'sleep'>, signal: AbortSignal): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      const pause = tries < TRIES && !signal.aborted ? pauseAfter(error, tries) : null;
      if (pause === null) throw error;
      await sleep(pause, signal);
    }
  }
};

/** How the requests of one call are sent. */
interface Sending {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly permit?: Permit;
}

interface Watched extends Sending {
  readonly deadline: () => AbortSignal;
  /** Hears the request line, for messages. */
  readonly note: (line: string) => void;
}

/**
 * The client's configuration for one call: everything that must hold for the request is done where it is sent, after
 * all else.
 */
const configurationFor = (link: Link, sending: Watched): Configuration => {
  const send = (request: RequestContext) => {
    sending.note(lineOf(request));
    for (const [name, value] of Object.entries(sending.headers ?? {})) request.setHeaderParam(name, value);
    request.setSignal(AbortSignal.any([sending.signal, sending.deadline()]));
    return link.send(request, sending.permit ?? null);
  };
  return createConfiguration({
    baseServer: new ServerConfiguration(link.server, {}),
    authMethods: { default: link.authentication },
    httpApi: wrapHttpLibrary({ send }),
  });
};

/** The part of a Kubernetes list that paging needs. */
interface Page<T> {
  /** Null in a list of metadata that is empty, whatever the client's types say. */
  readonly items: T[] | null;
  readonly metadata?: { readonly _continue?: string };
}

export const PAGE_SIZE = 500;

/**
 * Half a million objects: more than three times what a cluster is built for.
 * https://kubernetes.io/docs/setup/best-practices/cluster-large/
 */
const MOST_PAGES = 1_000;

type Paging = { readonly limit: number; readonly _continue?: string };

async function* following<T>(readPage: (paging: Paging) => Promise<Page<T>>): AsyncGenerator<readonly T[]> {
  for (let next: string | undefined = ''; next !== undefined;) {
    const page: Page<T> = await readPage({ limit: PAGE_SIZE, ...(next !== '' && { _continue: next }) });
    yield page.items ?? [];
    const after: string | undefined = page.metadata?._continue || undefined;
    if (after !== undefined && after === next)
      throw new Unavailable('a list does not end: its next page begins where the last one began');
    next = after;
  }
}

/**
 * Reads a list page by page, so that no more than one page is ever held. An expired list ends with Unavailable, and so
 * does one that never ends.
 */
export const pages = <T>(readPage: (paging: Paging) => Promise<Page<T>>): AsyncGenerator<readonly T[]> =>
  bounded(following(readPage), MOST_PAGES, 'a list');

/** One of the client's generated API classes, such as CoreV1Api. */
type ApiClass<Api> = new (configuration: Configuration) => Api;

type Ask = <Api, T>(api: ApiClass<Api>, ask: (api: Api) => Promise<T>) => Promise<T>;

/**
 * Reads under one signal: tried a few times each, and consistent, because no read asks the cache (resourceVersion
 * unset).
 */
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
      const watched = {
        ...sending,
        deadline: () => clock.deadline(callLasts),
        note: (noted: string) => (line = noted),
      };
      const attempt = async () => ask(new api(configurationFor(link, watched)));
      try {
        return await (tries === 'again' ? retried(attempt, clock, sending.signal) : attempt());
      } catch (error) {
        throw toCloudfenceError(error, line);
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

/** Where a step is carried out: reads are free, each write leaves under the step's permit. */
export interface ApiSession {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly now: () => number;
}

/**
 * A DELETE under the object's uid. Gone, or followed by another object of the same name, is success: what was meant is
 * no more.
 * @throws Refused in the server's words when the object still stands: another precondition did not hold, or the
 * cluster's own rules forbid it (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
 */
export const deleting = async (
  uid: string,
  send: () => Promise<unknown>,
  readAgain: () => Promise<{ readonly metadata?: V1ObjectMeta } | null>,
): Promise<StepResult> => {
  try {
    await send();
    return 'done';
  } catch (error) {
    if (saysAbsent(error)) return 'already';
    if (saysChanged(error) && (await readAgain())?.metadata?.uid !== uid) return 'already';
    throw error;
  }
};
