import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { routes } from './routes.ts';
import { emptyStore, Problem, type Fields, type Reply, type Store, type Verb } from './store.ts';

/** A call as it arrived and what it was answered. */
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
  /** Everything that was to change something, as `METHOD path`. */
  readonly writes: () => readonly string[];
  readonly recorded: readonly Recorded[];
  /** What each function answers to whom it is called by. */
  readonly answers: Map<string, unknown>;
  readonly close: () => void;
}

const verb = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
const fields = z.record(z.string(), z.unknown());

const isWrite = ({ verb: one, url }: Recorded): boolean => one !== 'GET' && !/:(?:getIamPolicy|generateUploadUrl|list)$/.test(url.pathname);

const routed = (store: Store, method: Verb, url: URL, body: Fields): Reply => {
  const path = decodeURIComponent(url.pathname).replace(/^\/v\d\//, '');
  try {
    for (const route of routes) {
      const answer = route(store, { verb: method, path, query: url.searchParams, body, base: url.origin });
      if (answer) return { status: 200, body: answer };
    }
    throw new Problem(405, `there is no ${method} ${path}`);
  } catch (error) {
    const status = error instanceof Problem ? error.status : 400;
    return { status, body: { error: { code: status, message: String(error), status: 'PROBLEM' } } };
  }
};

export const openManagement = async (): Promise<Management> => {
  const store = emptyStore();
  const recorded: Recorded[] = [];
  const answers = new Map<string, unknown>();
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`);
    const [, place, name = ''] = /^\/(upload|call)\/(.+)$/.exec(url.pathname) ?? [];
    const sent = await buffer(request);
    const answer = (status: number, body: unknown) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (place === 'upload') store.uploads.set(name, sent);
    if (place === 'upload') return void answer(200, {});
    if (place === 'call') return void answer(answers.has(name) ? 200 : 500, answers.get(name) ?? { error: 'no answer from the API server' });
    const body = sent.length === 0 ? null : fields.parse(JSON.parse(sent.toString()));
    const method = verb.parse(request.method);
    const said = routed(store, method, url, body ?? {});
    recorded.push({ verb: method, url, body, reply: said });
    answer(said.status, said.body);
  };
  const server = createServer((request, response) => void reply(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    store,
    writes: () => recorded.filter(isWrite).map(({ verb: one, url }) => `${one} ${url.pathname}`),
    recorded,
    answers,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
