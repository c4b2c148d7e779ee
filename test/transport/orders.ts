import { once } from 'node:events';
import {
  createServer,
  request as requestBy,
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  type RequestListener,
} from 'node:http';
import type { Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { underPermit, type PermittedPath } from '../../transport/under-permit.ts';
import type { proof } from '../permits.ts';

/** Destructive calls with Node.js alone, without an SDK. */

const opened: { close: () => unknown }[] = [];

/** Closed after the test. */
export const closing = (...some: readonly { close: () => unknown }[]): void => void opened.push(...some);

export const closeAll = async (): Promise<void> => {
  for (const one of opened.splice(0)) await one.close();
};

export const portOf = async (server: Server): Promise<number> => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

export const serving = async (listener: RequestListener): Promise<number> => {
  const server = createServer(listener);
  closing({ close: () => (server.close(), server.closeAllConnections()) });
  return portOf(server);
};

export const answered = (request: ClientRequest): Promise<string> =>
  new Promise((resolve, reject) => {
    request.on('error', reject).once('response', (answer: IncomingMessage) => void text(answer).then(resolve, reject));
  });

export const post = (port: number, agent: Agent, path = '/', body = ''): Promise<string> => {
  const request = requestBy({ host: '127.0.0.1', port, path, method: 'POST', agent });
  const answer = answered(request);
  request.end(body);
  return answer;
};

export const failure = (acting: Promise<unknown>): Promise<unknown> =>
  acting.then(
    (done) => ['done', done],
    (error: unknown) => error,
  );

export const sent = (
  permit: ReturnType<typeof proof>['permit'],
  send: (passage: PermittedPath) => Promise<string>,
): Promise<unknown> => failure(underPermit({ name: 'the order', permit, signal: undefined }, send));
