import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { allowAll, judgeOf, type Authority } from './iam/authority.ts';
import { handleEc2 } from './query.ts';
import type { Ec2World } from './state.ts';

/**
 * The sandbox's EC2 behind a real socket, for SDKs and command lines that are pointed at it by AWS_ENDPOINT_URL_EC2.
 */
export interface Ec2Server {
  readonly url: string;
  /** The traffic so far: calls by action, and bytes of the responses. */
  readonly traffic: () => { readonly calls: Readonly<Record<string, number>>; readonly bytes: number };
  readonly close: () => Promise<void>;
}

/** Called for each request before it has any effect. */
type Arrived = (headers: IncomingHttpHeaders) => void;

/**
 * Listens on 127.0.0.1; port 0 takes a free one. Virtual time is the caller's to advance, such as at each request that
 * has arrived. With an authority, each call is held to what the one who signed it may do; without, everyone may do
 * everything.
 */
export const openEc2Server = async (
  world: Ec2World,
  port = 0,
  arrived: Arrived = () => undefined,
  authority: Authority | null = null,
): Promise<Ec2Server> => {
  const calls: Record<string, number> = {};
  let bytes = 0;
  const server = createServer((request, response) => {
    void answer({ world, arrived, authority }, request, response, (action, sent) => {
      calls[action] = (calls[action] ?? 0) + 1;
      bytes += sent;
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}`,
    traffic: () => ({ calls: { ...calls }, bytes }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

type Count = (action: string, sent: number) => void;

interface Ec2ServerParts {
  readonly world: Ec2World;
  readonly arrived: Arrived;
  readonly authority: Authority | null;
}

const answer = async (
  { world, arrived, authority }: Ec2ServerParts,
  request: IncomingMessage,
  response: ServerResponse,
  count: Count,
): Promise<void> => {
  const params = new URLSearchParams(await text(request));
  const judge = authority ? await judgeOf(authority, request.headers.authorization) : allowAll;
  arrived(request.headers);
  const { status, body, requestId, cut } = handleEc2(world, params, judge);
  count(params.get('Action') ?? '', Buffer.byteLength(body));
  if (cut === 'drop') response.destroy();
  if (cut === null)
    response.writeHead(status, { 'content-type': 'text/xml;charset=UTF-8', 'x-amzn-requestid': requestId }).end(body);
};
