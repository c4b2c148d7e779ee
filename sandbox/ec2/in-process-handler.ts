import type { Ec2Answer } from './query.ts';
import { handleEc2 } from './query.ts';
import type { Ec2World } from './state.ts';

/** The part of an SDK's request that the sandbox reads. */
interface WireRequest {
  readonly body?: unknown;
}

interface WireResponse {
  readonly response: {
    readonly statusCode: number;
    readonly headers: Record<string, string>;
    readonly body: Uint8Array;
  };
}

interface Abortable {
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * What the SDK's client takes as `requestHandler`: the same wire format as the HTTP server, without a network. It is a
 * type instead of an interface, so that it fits the SDK's record type.
 */
export type InProcessHandler = {
  readonly handle: (request: WireRequest, options?: Abortable) => Promise<WireResponse>;
  readonly updateHttpClientConfig: (key: string, value: unknown) => void;
  readonly httpHandlerConfigs: () => object;
};

export const inProcessHandler = (world: Ec2World): InProcessHandler => ({
  handle: async (request, options) => {
    options?.abortSignal?.throwIfAborted();
    return answered(handleEc2(world, new URLSearchParams(String(request.body))), options?.abortSignal);
  },
  updateHttpClientConfig: () => undefined,
  httpHandlerConfigs: () => ({}),
});

const answered = (answer: Ec2Answer, signal: AbortSignal | undefined): Promise<WireResponse> => {
  if (answer.cut === 'drop') return Promise.reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
  if (answer.cut === 'hang') return untilAborted(signal);
  const headers = { 'content-type': 'text/xml;charset=UTF-8', 'x-amzn-requestid': answer.requestId };
  return Promise.resolve({
    response: { statusCode: answer.status, headers, body: new TextEncoder().encode(answer.body) },
  });
};

const untilAborted = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
