import type { RequestContext, SecurityAuthentication } from '@kubernetes/client-node/dist/gen/index.js';
import { ResponseContext } from '@kubernetes/client-node/dist/gen/index.js';
import { InvalidInput } from '../fencing/errors.ts';
import type { Permit } from '../fencing/permit.ts';
import { underPermit } from '../transport/under-permit.ts';

/** A way to one API server: where it is, how a request proves who asks, and how it gets there. */
export interface Link {
  readonly server: string;
  /** Nobody vouches for the server: its certificate is not looked at. */
  readonly unverified: () => boolean;
  readonly authentication: SecurityAuthentication;
  /** Sends one request, once, and under its permit if it has one. */
  readonly send: (request: RequestContext, permit: Permit | null) => Promise<ResponseContext>;
  readonly close: () => Promise<void>;
}

export const bearer = (token: () => Promise<string>): SecurityAuthentication => ({
  getName: () => 'bearer token',
  applySecurityAuthentication: async (request) => request.setHeaderParam('Authorization', `Bearer ${await token()}`),
});

/** Another means of transport than HTTPS, such as an API server in the same process. Header names are lower-case. */
export type Transport = (
  request: { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  signal: AbortSignal | undefined,
) => Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }>;

/** A request's body; empty for none. @throws InvalidInput */
export const textOf = (request: RequestContext): string => {
  const body = request.getBody();
  if (body === undefined) return '';
  if (typeof body !== 'string') throw new InvalidInput('only text can be sent to the API server');
  return body;
};

const pathOf = (request: RequestContext): string => {
  const { pathname, search } = new URL(request.getUrl());
  return `${pathname}${search}`;
};

const lowerCased = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** For messages. */
export const lineOf = (request: RequestContext): string => `${request.getHttpMethod()} ${new URL(request.getUrl()).pathname}`;

/** A whole answer in the client's shape. */
export const responseOf = ({ status, headers, body }: Awaited<ReturnType<Transport>>): ResponseContext =>
  new ResponseContext(status, { ...headers }, {
    text: async () => body,
    binary: async () => Buffer.from(body),
    stream: () => new Blob([body]).stream(),
  });

export const transportLink = (transport: Transport, token: string): Link => ({
  server: 'https://in-process.invalid',
  unverified: () => false,
  authentication: bearer(async () => token),
  send: async (request, permit) => {
    const wire = { method: request.getHttpMethod(), path: pathOf(request), headers: lowerCased(request.getHeaders()), body: textOf(request) };
    const signal = request.getSignal();
    if (!permit) return responseOf(await transport(wire, signal));
    const carried = await underPermit({ name: lineOf(request), permit, signal }, async (passage) => {
      passage.check();
      return transport(wire, passage.signal);
    });
    return responseOf(carried);
  },
  close: async () => undefined,
});
