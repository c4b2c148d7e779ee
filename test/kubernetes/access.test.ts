import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { HttpMethod, RequestContext } from '@kubernetes/client-node/dist/gen/index.js';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, it } from 'vitest';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { linkFromKubeConfig } from '../../kubernetes/access.ts';
import type { Link } from '../../kubernetes/exchange.ts';

const content = `
current-context: blue
clusters:
- {name: blue, cluster: {server: 'https://blue.example'}}
- {name: green, cluster: {server: 'https://green.example'}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: blue, context: {cluster: blue, user: me}}
- {name: green, context: {cluster: green, user: me}}
- {name: torn, context: {cluster: red, user: nobody}}
`;

describe('a kubeconfig', () => {
  it.each([
    [null, 'https://blue.example'],
    ['green', 'https://green.example'],
  ])('leads in context %s to %s', (context, server) => {
    expect(linkFromKubeConfig(content, context).server).toBe(server);
  });

  it('is rejected with the name of an entry that is missing', () => {
    expect(() => linkFromKubeConfig(content, 'torn')).toThrow(/no cluster named red[^]*no user named nobody/);
    expect(() => linkFromKubeConfig(content, 'violet')).toThrow('no context named violet: use one of');
  });

  it.each(['', '{', '- a\n- b', '{"clusters":[{"name":1}]}'])('is rejected if it is not one: %j', (text) => {
    expect(() => linkFromKubeConfig(text, null)).toThrow(InvalidConfiguration);
  });
});

const pemFor = (name: string) =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: name }] },
    ],
  });

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const open: Server[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

/** The name in the server's certificate, which differs from the address of the server. */
const SERVER_NAME = 'kubernetes.example';

/** An API server that admits only users with one of these certificates. It notes who asked. */
const admitting = async (...certificates: readonly string[]) => {
  const users: unknown[] = [];
  const own = await pemFor(SERVER_NAME);
  const options = { key: own.private, cert: own.cert, ca: [...certificates], requestCert: true };
  const server = createServer(options, ({ socket }, response) => {
    users.push(socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : null);
    response.end();
  });
  open.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const cluster = {
    server: url,
    'certificate-authority-data': base64(own.cert),
    'tls-server-name': SERVER_NAME,
  };
  const linkAs = (user: object): Link =>
    linkFromKubeConfig(
      JSON.stringify({
        clusters: [{ name: 'c', cluster }],
        users: [{ name: 'u', user }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      }),
      'x',
    );
  const ask = async (link: Link): Promise<number> => {
    const request = new RequestContext(`${url}/version`, HttpMethod.GET);
    await link.authentication.applySecurityAuthentication(request);
    return (await link.send(request, null)).httpStatusCode;
  };
  const connections = promisify(server.getConnections.bind(server));
  return { users, linkAs, ask, connections };
};

describe('a client certificate', () => {
  it('in a kubeconfig proves the user to a server whose certificate has another name than its address', async () => {
    const { cert, private: key } = await pemFor('cloudfence');
    const { users, linkAs, ask } = await admitting(cert);
    const link = linkAs({ 'client-certificate-data': base64(cert), 'client-key-data': base64(key) });
    expect(await ask(link)).toBe(200);
    expect(users).toEqual(['cloudfence']);
    await link.close();
  });

  it('of a credential plugin is used until the plugin returns another one', async () => {
    const [first, second] = await Promise.all([pemFor('first'), pemFor('second')]);
    const { users, linkAs, ask, connections } = await admitting(first.cert, second.cert);
    const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
    folders.push(folder);
    const file = path.join(folder, 'credential.json');
    const apiVersion = 'client.authentication.k8s.io/v1';
    const issue = ({ cert, private: key }: typeof first) => {
      const expirationTimestamp = '2000-01-01T00:00:00Z';
      const status = { clientCertificateData: cert, clientKeyData: key, expirationTimestamp };
      return writeFile(file, JSON.stringify({ kind: 'ExecCredential', apiVersion, status }));
    };
    const script = `process.stdout.write(require('node:fs').readFileSync(${JSON.stringify(file)}))`;
    const exec = { apiVersion, command: process.execPath, args: ['-e', script], interactiveMode: 'Never' };
    const link = linkAs({ exec });
    for (const issued of [first, first, second]) {
      await issue(issued);
      expect(await ask(link)).toBe(200);
    }
    expect(users).toEqual(['first', 'first', 'second']);
    // The connections with the first certificate are closed.
    await expect.poll(() => connections()).toBe(1);
    await link.close();
  });
});
