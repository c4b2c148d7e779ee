import { z } from 'zod';
import { openStandIn, type Answered, type Request } from '../../providers/stand-in.ts';
import { gate } from './gate.ts';
import { routes } from './routes.ts';
import { emptyStore, Problem, type Fields, type Reply, type Store, type Verb } from './store.ts';

/** A call as it arrived, and its answer. */
export interface Recorded {
  readonly verb: Verb;
  readonly url: URL;
  readonly body: Fields | null;
  readonly reply: Reply;
}

/** The management APIs of one project behind a real socket, all at one address. */
export interface Management {
  readonly url: string;
  readonly store: Store;
  /** Everything that was meant to change something, as `METHOD path`. */
  readonly writes: () => readonly string[];
  readonly recorded: readonly Recorded[];
  /** The answer of each function to each caller. */
  readonly answers: Map<string, unknown>;
  /** The status of a function's answer, if it is not 200. */
  readonly statuses: Map<string, number>;
  /** Advances the virtual time of the store instead of waiting. */
  readonly wait: (ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

const verb = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const fields = z.record(z.string(), z.unknown());

const isWrite = ({ verb: one, url }: Recorded): boolean =>
  one !== 'GET' && !/:(?:getIamPolicy|generateUploadUrl|testIamPermissions|list)$/.test(url.pathname);

const isBlank = (value: unknown): boolean =>
  value === false || value === 0 || value === '' || (Array.isArray(value) && value.length === 0);

/** Omits what is false, zero, or empty, as Google does. https://protobuf.dev/programming-guides/json/ */
const asSent = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(asSent);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (isBlank(inner) ? [] : [[key, asSent(inner)]])),
  );
};

/** https://cloud.google.com/storage/docs/json_api/v1/status-codes */
const storageError = (status: number, message: string): Fields => ({
  errors: [{ message, domain: 'global', reason: status === 404 ? 'notFound' : 'invalid' }],
});

const routed = (store: Store, method: Verb, url: URL, body: Fields): Reply => {
  const path = decodeURIComponent(url.pathname).replace(/^\/(?:storage\/)?v\d\//, '');
  try {
    const request = { verb: method, path, query: url.searchParams, body, base: url.origin };
    gate(store, request);
    for (const route of routes) {
      const answer = route(store, request);
      if (answer) return { status: 200, body: fields.parse(asSent(answer)) };
    }
    throw new Problem(405, `there is no ${method} ${path}`);
  } catch (error) {
    const status = error instanceof Problem ? error.status : 400;
    const { code, details } = error instanceof Problem ? error : { code: 'INVALID_ARGUMENT', details: [] };
    const said = url.pathname.startsWith('/storage/')
      ? storageError(status, String(error))
      : { status: code, ...(details.length > 0 && { details }) };
    return { status, body: { error: { code: status, message: String(error), ...said } } };
  }
};

export const openManagement = async (): Promise<Management> => {
  const store = emptyStore();
  const recorded: Recorded[] = [];
  const answers = new Map<string, unknown>();
  const statuses = new Map<string, number>();
  const reply = ({ method, url: path, headers, body: sent }: Request): Answered => {
    const url = new URL(path, `http://${headers.host}`);
    const [, place, name = ''] = /^\/(upload|call)\/(.+)$/.exec(url.pathname) ?? [];
    if (place === 'upload') store.uploads.set(name, sent);
    if (place === 'upload') return {};
    if (place === 'call')
      return answers.has(name)
        ? { status: statuses.get(name) ?? 200, body: answers.get(name) }
        : { status: 500, body: { error: 'no answer from the API server' } };
    if (store.proxied)
      return { status: 404, body: '<html>404 Not Found</html>', headers: { 'content-type': 'text/html' } };
    const body = sent.length === 0 ? null : fields.parse(JSON.parse(String(sent)));
    const said = routed(store, verb.parse(method), url, body ?? {});
    recorded.push({ verb: verb.parse(method), url, body, reply: said });
    return said;
  };
  const { url, close } = await openStandIn(reply);
  const wait = async (ms: number): Promise<void> => {
    store.now += ms;
  };
  return {
    wait,
    url,
    store,
    writes: () => recorded.filter(isWrite).map(({ verb: one, url: { pathname } }) => `${one} ${pathname}`),
    recorded,
    answers,
    statuses,
    close,
  };
};
