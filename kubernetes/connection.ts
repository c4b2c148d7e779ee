import { setTimeout as delay } from 'node:timers/promises';
import {
  type Configuration,
  createConfiguration,
  type RequestContext,
  ServerConfiguration,
  type V1ObjectMeta,
  wrapHttpLibrary,
} from '@kubernetes/client-node/dist/gen/index.js';
import { isObjectName } from '../fencing/model/cluster-facts.ts';
import type { StepResult } from '../fencing/model/cluster.ts';
import { CloudfenceError, Unavailable } from '../fencing/model/errors.ts';
import { z } from 'zod';
import { nonEmptyText } from '../fencing/model/foreign-text.ts';
import { limitPages } from '../transport/answers.ts';
import type { Permit } from '../fencing/model/permit.ts';
import { findApiException, isNotFound, isPreconditionFailed, toCloudfenceError, unreadableAnswer } from './errors.ts';
import { requestLine, type Link } from './exchange.ts';

/** The clock functions that calls to an API server need. */
export interface CallClock {
  /** Epoch ms. */
  readonly now: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Returns a signal that aborts after `ms` milliseconds. */
  readonly deadline: (ms: number) => AbortSignal;
}

export const callClock: CallClock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
  deadline: (ms) => AbortSignal.timeout(ms),
};

const TRIES = 4;
const FIRST_PAUSE_MS = 200;
/**
 * The longest pause before another try. If a server requests a longer pause, the read fails. The caller or the queue
 * then tries again later.
 */
const PATIENCE_MS = 5_000;

/**
 * Returns the pause that `Retry-After` requests, in ms. Kubernetes does not use the date form of that header.
 * https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
const askedPause = (headers: Readonly<Record<string, string>>): number | null => {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1_000 : null;
};

/** Returns how long to wait before the next try of the same read, in ms. Null if the read must not be tried again. */
const pauseAfter = (error: unknown, tries: number): number | null => {
  if (error instanceof CloudfenceError) return null;
  const exception = findApiException(error);
  if (exception && exception.code !== 429 && exception.code < 500) return null;
  const pause = askedPause(exception?.headers ?? {}) ?? FIRST_PAUSE_MS * 2 ** (tries - 1);
  return pause <= PATIENCE_MS ? pause : null;
};

/**
 * Retries a read after 429, 5xx, and broken connections. Do not use it for writes: only another look can show whether a
 * write took effect.
 */
const retried = async <T>(
  read: () => Promise<T>,
  { sleep }: Pick<CallClock, 'sleep'>,
  signal: AbortSignal,
): Promise<T> => {
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

/** How to send the requests of one call. */
interface CallOptions {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly permit?: Permit;
}

interface WatchedCall extends CallOptions {
  readonly deadline: () => AbortSignal;
  /** Receives the request line, which messages contain. */
  readonly note: (line: string) => void;
}

/**
 * Returns the client's configuration for one call. All conditions of the request are checked where it is sent, after
 * all other processing.
 */
const configurationFor = (link: Link, sending: WatchedCall): Configuration => {
  const send = (request: RequestContext) => {
    sending.note(requestLine(request));
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
  /** Null in an empty list of metadata, despite the client's types. */
  readonly items: T[] | null;
  readonly metadata?: { readonly _continue?: string };
}

export const PAGE_SIZE = 500;

/**
 * Allows half a million objects: more than three times what a cluster is designed for.
 * https://kubernetes.io/docs/setup/best-practices/cluster-large/
 */
const MOST_PAGES = 1_000;

type Paging = { readonly limit: number; readonly _continue?: string };

type ReadPage<T> = (paging: Paging) => Promise<Page<T>>;

async function* following<T>(readPage: ReadPage<T>, limit: number): AsyncGenerator<readonly T[]> {
  for (let next: string | undefined = ''; next !== undefined;) {
    const page: Page<T> = await readPage({ limit, ...(next !== '' && { _continue: next }) });
    yield page.items ?? [];
    const after: string | undefined = page.metadata?._continue || undefined;
    if (after !== undefined && after === next)
      throw new Unavailable('a list returns the same page again: its next page begins where the last one began');
    next = after;
  }
}

/**
 * Reads a list page by page and holds at most one page at a time. An expired list and a list that never ends both fail
 * with Unavailable.
 */
export const pages = <T>(readPage: ReadPage<T>, limit = PAGE_SIZE): AsyncGenerator<readonly T[]> =>
  limitPages(following(readPage, limit), MOST_PAGES, 'a list');

/** One of the client's generated API classes, such as CoreV1Api. */
type ApiClass<Api> = new (configuration: Configuration) => Api;

type SendWith = <Api, T>(api: ApiClass<Api>, ask: (api: Api) => Promise<T>) => Promise<T>;

/** The key that names one object in the path of a request. */
interface ObjectKey {
  readonly name: string;
  readonly namespace?: string;
}

/**
 * Makes reads with one signal. Each read is tried a few times. Reads are consistent, because they never use the cache
 * of the API server (resourceVersion is unset).
 */
export interface Reader {
  /** @throws Unavailable, PermissionDenied, Refused */
  readonly read: SendWith;
  /**
   * Reads one object. Returns null if the API server says that the object does not exist. Does not send a request for
   * an impossible object name, because such an object cannot exist.
   */
  readonly readIfPresent: <Api, Key extends ObjectKey, T>(
    api: ApiClass<Api>,
    key: Key,
    ask: (api: Api, key: Key) => Promise<T>,
  ) => Promise<T | null>;
  /** Returns the impossible object names for which this reader sent no request. */
  readonly impossibleNames: () => readonly string[];
  /** Reads a list for which the API server sends only the metadata of the items. */
  readonly readMetadata: SendWith;
}

/** Makes writes with one signal and one permit. Each write is sent once and never again. */
export interface Writer {
  readonly write: SendWith;
  /** Sends a JSON Patch. The API server returns only the object's metadata. */
  readonly jsonPatch: SendWith;
  /** Sends a merge patch. The API server returns only the object's metadata. */
  readonly mergePatch: SendWith;
}

export interface Connection {
  readonly clock: CallClock;
  readonly reader: (signal: AbortSignal) => Reader;
  /** Pass a null permit for writes that are not destructive. */
  readonly writer: (permit: Permit | null, signal: AbortSignal) => Writer;
  readonly close: () => Promise<void>;
}

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#fetching-object-metadata */
const METADATA_LIST = { Accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
const METADATA = { Accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
const MERGE_PATCH = { ...METADATA, 'Content-Type': 'application/merge-patch+json' };

const nullIfAbsent = (error: unknown): null => {
  if (isNotFound(error)) return null;
  throw error;
};

/**
 * Returns the reads of single objects. A name becomes a part of the request's path. Tenants write the names of claims
 * and owners, and a kubelet writes those in the record on its Node. With a name such as `..`, the request would read
 * another path, and its answer would not be about the object. The name of a CSIDriver may contain capital letters.
 */
export const objectReads = (read: SendWith): Pick<Reader, 'readIfPresent' | 'impossibleNames'> => {
  const impossible = new Set<string>();
  return {
    readIfPresent: async (api, key, ask) => {
      const parts = [key.name, ...(key.namespace === undefined ? [] : [key.namespace])];
      const wrong = parts.filter((part) => !isObjectName(part.toLowerCase()));
      for (const part of wrong) impossible.add(part);
      return wrong.length > 0 ? null : read(api, (client) => ask(client, key)).catch(nullIfAbsent);
    },
    impossibleNames: () => [...impossible],
  };
};

/** The fields of `metadata` that become a part of a request, a patch, or a name. They are texts if they are there. */
const nameFields = { name: z.string().optional(), namespace: z.string().optional(), uid: z.string().optional() };

/**
 * The fields that every answer of the API server to a read contains:
 * https://kubernetes.io/docs/reference/using-api/api-concepts/. The version of the server is the only answer that is
 * not a Kubernetes object.
 */
const kubernetesForm = z.union([
  z.object({ gitVersion: z.string() }),
  z.object({
    kind: z.string().endsWith('List'),
    metadata: z.object({ resourceVersion: nonEmptyText }),
    items: z.array(z.object({ metadata: z.object(nameFields).optional() })).nullable(),
  }),
  z.object({
    kind: z.string().regex(/(?<!List)$/),
    metadata: z.object({ resourceVersion: nonEmptyText, ...nameFields }),
  }),
]);

/**
 * Returns the answer if it comes from the API server. The client neither adds missing fields nor rejects the answer.
 * Without this check, an empty answer of a proxy would look like an empty list, a cluster that is not paused, or a
 * ledger without a version.
 * @throws ClusterUnavailable
 */
const inKubernetesForm = <T>(answer: T, line: string): T => {
  const read = kubernetesForm.safeParse(answer);
  if (read.success) return answer;
  throw unreadableAnswer(line, read.error);
};

type RequestSender = (sending: CallOptions, tries: 'again' | 'once') => SendWith;

/** Returns how requests are sent over a link. `callLasts` is the longest time that a single request may take, in ms. */
const createRequestSender =
  (link: Link, clock: CallClock, callLasts: number): RequestSender =>
  (sending, tries) =>
  async (api, ask) => {
    let line = 'a request';
    const watched = {
      ...sending,
      deadline: () => clock.deadline(callLasts),
      note: (noted: string) => (line = noted),
    };
    const attempt = async () => ask(new api(configurationFor(link, watched)));
    const read = async () => inKubernetesForm(await attempt(), line);
    try {
      return await (tries === 'again' ? retried(read, clock, sending.signal) : attempt());
    } catch (error) {
      throw toCloudfenceError(error, line);
    }
  };

/** Creates readers and writers over a link. */
export const createConnection = (link: Link, clock: CallClock, callLasts: number): Connection => {
  const asking = createRequestSender(link, clock, callLasts);
  const readerFor = (signal: AbortSignal): Reader => {
    const read = asking({ signal }, 'again');
    return {
      read,
      ...objectReads(read),
      readMetadata: asking({ signal, headers: METADATA_LIST }, 'again'),
    };
  };
  const writerFor = (permit: Permit | null, signal: AbortSignal): Writer => {
    const sending = { signal, ...(permit && { permit }) };
    return {
      write: asking(sending, 'once'),
      jsonPatch: asking({ ...sending, headers: METADATA }, 'once'),
      mergePatch: asking({ ...sending, headers: MERGE_PATCH }, 'once'),
    };
  };
  return { clock, reader: readerFor, writer: writerFor, close: link.close };
};

/**
 * The access to the API server with which a step is applied. Reads need no permit. Each write is sent under the step's
 * permit.
 */
export interface ApiSession {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly now: () => number;
}

/**
 * Deletes an object with its uid as a precondition. The delete succeeds if the object is gone, or if another object has
 * its name now. In both cases, the intended object no longer exists.
 * @throws Refused with the server's message if the object still exists. Either another precondition failed, or the
 * cluster's own rules forbid the delete
 * (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
 */
export const deleteByUid = async (
  uid: string,
  send: () => Promise<unknown>,
  readAgain: () => Promise<{ readonly metadata?: V1ObjectMeta } | null>,
): Promise<StepResult> => {
  try {
    await send();
    return 'done';
  } catch (error) {
    if (isNotFound(error)) return 'already';
    if (isPreconditionFailed(error) && (await readAgain())?.metadata?.uid !== uid) return 'already';
    throw error;
  }
};
