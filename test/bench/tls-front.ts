import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream';
import { createServer, type TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';

/**
 * TLS in front of servers that use plain HTTP, as in the endpoints of AWS. A handshake and the root certificates are
 * part of a first fence.
 */
export interface TlsFront {
  readonly url: string;
  /** The certificate (PEM) that a client has to trust. */
  readonly ca: string;
  readonly close: () => void;
}

/** Each front has its own name, because a client confuses two issuers with the same name. */
const certificate = (port: string) =>
  generate([{ name: 'commonName', value: `front of ${port}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });

/**
 * A client that disconnects in the middle is not an error of the benchmark. What it requested by then is missing, and
 * that is reported.
 */
const join = (socket: TLSSocket, port: number): void => {
  const behind = connect(port, '127.0.0.1');
  pipeline(socket, behind, socket, () => undefined);
};

export const openTlsFront = async (behind: string): Promise<TlsFront> => {
  const { port } = new URL(behind);
  const { private: key, cert } = await certificate(port);
  const sockets = new Set<TLSSocket>();
  const server = createServer({ key, cert }, (socket) => {
    sockets.add(socket);
    join(socket, Number(port));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    url: `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    ca: cert,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};

/** Returns the environment of a process that trusts these fronts. The files that it reads are in `folder`. */
export const trusting = async (
  folder: string,
  fronts: readonly TlsFront[],
): Promise<{ readonly NODE_EXTRA_CA_CERTS: string }> => {
  const file = path.join(folder, 'trusted.pem');
  await writeFile(file, fronts.map(({ ca }) => ca).join('\n'));
  return { NODE_EXTRA_CA_CERTS: file };
};
