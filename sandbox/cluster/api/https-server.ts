import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';
import { createCloser } from '../../cloud-server.ts';
import { handleApi } from './handle.ts';
import { jsonOfProtobuf } from './protobuf.ts';
import type { ApiServer } from './server.ts';
import { openWatch, type Watch } from './watch.ts';
import type { ApiRequest } from './wire.ts';

/** The traffic so far. The sockets count the bytes. */
export interface Traffic {
  readonly connections: number;
  /** The connections that are still open. */
  readonly open: number;
  readonly requests: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

export interface KubernetesServer {
  readonly url: string;
  /** The certificate (PEM) with which clients verify the server. */
  readonly caData: string;
  readonly traffic: () => Traffic;
  readonly close: () => Promise<void>;
}

const certificate = () =>
  generate([{ name: 'commonName', value: 'sandbox-kube-apiserver' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });

/** If a protobuf body cannot be read, it is passed on unchanged, and the request is not answered. */
const bodyOf = ({ headers }: IncomingMessage, bytes: Buffer): string =>
  (headers['content-type'] === 'application/vnd.kubernetes.protobuf' ? jsonOfProtobuf(bytes) : null) ??
  bytes.toString();

const requestOf = async (incoming: IncomingMessage): Promise<ApiRequest> => ({
  method: incoming.method ?? 'GET',
  path: incoming.url ?? '/',
  headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
  body: bodyOf(incoming, await buffer(incoming)),
});

/** How often a watch looks for changes (ms). */
const WATCH_EVERY_MS = 200;

const stream = ({ next, lasts }: Watch, outgoing: ServerResponse): void => {
  outgoing.writeHead(200, { 'content-type': 'application/json' });
  outgoing.flushHeaders();
  const tell = (): void => next().forEach((line) => outgoing.write(line));
  tell();
  const looking = setInterval(tell, WATCH_EVERY_MS);
  const ending = setTimeout(() => outgoing.end(), lasts);
  outgoing.on('close', () => {
    clearInterval(looking);
    clearTimeout(ending);
  });
};

const serve = async (server: ApiServer, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
  const request = await requestOf(incoming);
  const watch = openWatch(server, request);
  if (watch) return stream(watch, outgoing);
  const answer = handleApi(server, request);
  if (answer === 'drop') {
    incoming.socket.destroy();
    return;
  }
  outgoing.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) });
  outgoing.end(answer.body);
};

const trafficOf = (sockets: readonly TLSSocket[], requests: number): Traffic => ({
  connections: sockets.length,
  open: sockets.filter(({ destroyed }) => !destroyed).length,
  requests,
  bytesRead: sockets.reduce((sum, socket) => sum + socket.bytesRead, 0),
  bytesWritten: sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0),
});

/**
 * How long an idle connection stays open (ms), as in kube-apiserver:
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/server/secure_serving.go
 */
const IDLE_FOR_MS = 90_000;

/** Serves the simulated API server over HTTPS on a free port of 127.0.0.1. */
export const openKubernetesServer = async (server: ApiServer): Promise<KubernetesServer> => {
  const { private: key, cert } = await certificate();
  const sockets: TLSSocket[] = [];
  let requests = 0;
  const door = createServer({ key, cert, keepAliveTimeout: IDLE_FOR_MS }, (incoming, outgoing) => {
    requests += 1;
    serve(server, incoming, outgoing).catch((error: unknown) =>
      incoming.socket.destroy(error instanceof Error ? error : undefined),
    );
  });
  door.on('secureConnection', (socket) => sockets.push(socket));
  const close = createCloser(door);
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const address = door.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}`,
    caData: cert,
    traffic: () => trafficOf(sockets, requests),
    close,
  };
};
