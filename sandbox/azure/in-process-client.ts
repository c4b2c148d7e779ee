import { handleArm } from './arm.ts';
import type { ArmAnswer } from './operation-answers.ts';
import type { AzureCloudWorld } from './state.ts';

/** The part of an SDK's request that the sandbox reads. */
interface WireRequest {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
  readonly abortSignal?:
    | { readonly aborted: boolean; readonly addEventListener: (type: 'abort', listener: () => void) => void }
    | undefined;
}

/** Headers in the form of the SDK's pipeline. */
interface WireHeaders extends Iterable<[string, string]> {
  readonly get: (name: string) => string | undefined;
  readonly has: (name: string) => boolean;
  readonly set: (name: string, value: string | number | boolean) => void;
  readonly delete: (name: string) => void;
  readonly toJSON: () => Record<string, string>;
}

interface WireResponse<Request> {
  readonly request: Request;
  status: number;
  headers: WireHeaders;
  bodyAsText: string;
}

/** An `httpClient` for the SDK's client: the same wire format as the HTTP server, without a network. */
export interface InProcessClient {
  readonly sendRequest: <Request extends WireRequest>(request: Request) => Promise<WireResponse<Request>>;
}

const headersOf = (known: Readonly<Record<string, string>>): WireHeaders => {
  const held = new Map(Object.entries(known));
  return {
    get: (name) => held.get(name.toLowerCase()),
    has: (name) => held.has(name.toLowerCase()),
    set: (name, value) => void held.set(name.toLowerCase(), String(value)),
    delete: (name) => void held.delete(name.toLowerCase()),
    toJSON: () => Object.fromEntries(held),
    [Symbol.iterator]: () => held.entries(),
  };
};

const named = (name: string, message: string, code?: string): Error =>
  Object.assign(new Error(message), { name, ...(code !== undefined && { code }) });

const aborted = (): Error => named('AbortError', 'The operation was aborted.');

/** Calls `arrived` for each request before it has any effect, so that the caller can advance virtual time. */
export const inProcessClient = (
  world: AzureCloudWorld,
  arrived: (url: string) => void = () => undefined,
): InProcessClient => ({
  sendRequest: async (request) => {
    if (request.abortSignal?.aborted) throw aborted();
    arrived(request.url);
    const { answer } = handleArm(world, {
      method: request.method,
      url: request.url,
      body: typeof request.body === 'string' ? request.body : null,
    });
    return {
      request,
      status: answer.status,
      headers: headersOf(answer.headers),
      bodyAsText: await answered(answer, request),
    };
  },
});

const answered = (answer: ArmAnswer, { abortSignal }: WireRequest): Promise<string> => {
  if (answer.cut === 'drop') return Promise.reject(named('RestError', 'socket hang up', 'ECONNRESET'));
  if (answer.cut === 'hang')
    return new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(aborted())));
  return Promise.resolve(answer.body);
};
