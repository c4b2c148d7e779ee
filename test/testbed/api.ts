import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { z } from 'zod';

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The access of one identity to the API server, over connections that are kept open. */
export interface Api {
  readonly call: (method: Method, path: string, body?: unknown, type?: string) => Promise<ApiAnswer>;
  /**
   * The body of a successful answer.
   * @throws Error with the server's answer otherwise
   */
  readonly get: (path: string) => Promise<unknown>;
  readonly write: (method: Method, path: string, body?: unknown, type?: string) => Promise<unknown>;
  /** The lines of a watch, until it ends. */
  readonly watch: (path: string, signal: AbortSignal) => AsyncIterable<unknown>;
  /** The same connections with another identity. */
  readonly as: (user: string, group: string) => Api;
  readonly close: () => Promise<void>;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';

const status = z.looseObject({ message: z.string() });

const saidBy = ({ status: code, body }: ApiAnswer): string => {
  const said = status.safeParse(body);
  return `${code} ${said.success ? said.data.message : JSON.stringify(body)}`;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
};

const apiOver = (
  server: string,
  agents: { readonly calls: Agent; readonly watches: Agent },
  identity: Readonly<Record<string, string>>,
): Api => {
  const call: Api['call'] = async (method, path, body, type = method === 'PATCH' ? MERGE : 'application/json') => {
    const headers = { ...identity, accept: 'application/json', ...(body !== undefined && { 'content-type': type }) };
    const sent = {
      method,
      headers,
      dispatcher: agents.calls,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const answer = await request(`${server}${path}`, sent);
    return { status: answer.statusCode, body: parsed(await answer.body.text()) };
  };
  const write: Api['write'] = async (method, path, body, type) => {
    const answer = await call(method, path, body, type);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${saidBy(answer)}`);
    return answer.body;
  };
  return {
    call,
    write,
    get: (path) => write('GET', path),
    watch: async function* (path, signal) {
      const { statusCode, body } = await request(`${server}${path}`, {
        headers: identity,
        dispatcher: agents.watches,
        signal,
      });
      if (statusCode !== 200) throw new Error(`watch ${path}: ${statusCode} ${await body.text()}`);
      for await (const line of createInterface(body)) yield parsed(line);
    },
    as: (user, group) => apiOver(server, agents, { ...identity, 'impersonate-user': user, 'impersonate-group': group }),
    close: async () => {
      await Promise.all([agents.calls.destroy(), agents.watches.destroy()]);
    },
  };
};

export const openApi = (server: string, ca: string, token: string): Api => {
  const calls = new Agent({ connect: { ca }, connections: 32, pipelining: 1 });
  const watches = new Agent({ connect: { ca }, bodyTimeout: 0, headersTimeout: 60_000 });
  return apiOver(server, { calls, watches }, { authorization: `Bearer ${token}` });
};
