import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

/** A request on its way from Cloudfence to the API server or to EC2. */
export interface GateRequest {
  readonly to: 'api' | 'ec2';
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface GateResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a gate does with one request. If it returns no answer, it cuts the connection. */
export type Handling = (passing: GateRequest, forward: () => Promise<GateResponse>) => Promise<GateResponse | 'cut'>;

/** Sends a request on to the server behind the gate, with its original headers. */
export type Forward = (passing: GateRequest, headers: IncomingHttpHeaders) => Promise<GateResponse>;

export interface Gate {
  readonly port: number;
  readonly close: () => void;
}

const passingIn = async (to: GateRequest['to'], request: IncomingMessage): Promise<GateRequest> => ({
  to,
  method: request.method ?? '',
  path: request.url ?? '',
  body: await text(request),
});

/** Like any proxy, turns a missing server into a broken connection. */
const openGate =
  (to: GateRequest['to'], forward: Forward, handle: Handling) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const cut = (): void => void request.socket.destroy();
    try {
      const passing = await passingIn(to, request);
      const answer = await handle(passing, () => forward(passing, request.headers));
      if (answer === 'cut') return cut();
      response.writeHead(answer.status, answer.headers).end(answer.body);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      cut();
    }
  };

/** Opens `server`, which has no listeners yet, as a gate of that kind on a free local port. */
export const openGateOn = async (
  server: Server,
  to: GateRequest['to'],
  forward: Forward,
  handle: Handling,
): Promise<Gate> => {
  const pass = openGate(to, forward, handle);
  server.on('request', (request, response) => void pass(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the gate has no port');
  return {
    port: address.port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
