import type { WireCall } from './call.ts';
import { handleGce, type GceAnswer } from './rest.ts';
import type { GceWorld } from './state.ts';

/** The part of a request that the sandbox reads. */
interface WireInit {
  readonly method?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | null | undefined;
}

/** A replacement for `fetch`: the same wire format as the HTTP server, without a network. */
export type InProcessFetch = (input: string | URL | Request, init?: WireInit) => Promise<Response>;

export const inProcessFetch =
  (world: GceWorld): InProcessFetch =>
  async (input, init) => {
    init?.signal?.throwIfAborted();
    return answered(handleGce(world, wireCall(input, init)), init?.signal ?? null);
  };

export const wireCall = (input: string | URL | Request, init?: WireInit): WireCall => {
  const { pathname, search } = new URL(input instanceof Request ? input.url : input);
  return {
    method: init?.method ?? 'GET',
    url: pathname + search,
    body: typeof init?.body === 'string' ? init.body : '',
  };
};

const answered = (answer: GceAnswer, signal: AbortSignal | null): Promise<Response> => {
  if (answer.cut === 'drop') return Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
  if (answer.cut === 'hang') return untilAborted(signal);
  return Promise.resolve(
    new Response(answer.body, {
      status: answer.status,
      headers: { 'content-type': 'application/json; charset=UTF-8' },
    }),
  );
};

const untilAborted = (signal: AbortSignal | null): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
