import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { PermissionDenied, InvalidConfiguration } from '../../fencing/model/errors.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { openKubernetesServer, type KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { runDoctorChecks } from '../../app/doctor.ts';
import type { OpenedCloud } from '../../providers/plugin.ts';
import type { ClusterEntry } from '../../providers/cluster-entries.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { parseConfiguration } from '../../config/configuration-text.ts';
import { FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { unhurried } from '../contract/cluster/harness.ts';

/**
 * A token is planted wherever a token may be, and must not come out anywhere: in no message, in no cause, and on no
 * connection that others can read.
 */
const CANARY = 'eyJhbGciOiJ-canary-7f3a91';

let folder: string;
let apiServer: KubernetesServer;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  apiServer = await openKubernetesServer(sandboxServer());
});
afterEach(() => Promise.all([apiServer.close(), rm(folder, { recursive: true })]));

const kubeconfig = (cluster: object, user: object): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  });

const authority = () => ({
  server: apiServer.url,
  'certificate-authority-data': Buffer.from(apiServer.caData).toString('base64'),
});

const inFile = async (content: string): Promise<ClusterEntry> => {
  const file = path.join(folder, 'config');
  await writeFile(file, content);
  return { name: 'c', kubeconfig: file };
};

const nobody = () => Promise.reject(new Error('no cloud is needed'));

const open = (entry: ClusterEntry, secret = '') =>
  connectCluster(entry, { managedCluster: nobody, secret: async () => secret }, unhurried());

/** Returns the error of one request, or of the access before it, with everything that could be printed about it. */
const failureOf = async (
  entry: ClusterEntry,
  secret = '',
): Promise<{ readonly error: unknown; readonly text: string }> => {
  const error: unknown = await open(entry, secret).then(
    async (opened) => {
      const failed: unknown = await opened.cluster.identify('n', unhurried()).catch((caught: unknown) => caught);
      await opened.close();
      return failed;
    },
    (caught: unknown) => caught,
  );
  return { error, text: inspect(error, { depth: 20, showHidden: true }) };
};

const plugin = (script: string) => ({
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', script],
    interactiveMode: 'Never',
  },
});

describe('a credential plugin', () => {
  it.each([
    ['prints no JSON', `process.stdout.write('${CANARY}')`],
    ['prints JSON without a credential', `process.stdout.write(JSON.stringify({ token: '${CANARY}' }))`],
    ['prints its token where it complains', `process.stderr.write('${CANARY}'); process.exit(1)`],
    ['prints half a credential', `process.stdout.write('{"status":{"token":"${CANARY}"')`],
  ])('that %s is denied, and its output is not shown', async (_, script) => {
    const { error, text } = await failureOf(await inFile(kubeconfig(authority(), plugin(script))));
    expect(error).toBeInstanceOf(PermissionDenied);
    expect(text).toContain('the credential plugin of kubeconfig user u returned no credential');
    expect(text).not.toContain('7f3a91');
  });

  it('that cannot be started is a configuration error', async () => {
    const { error } = await failureOf(
      await inFile(
        kubeconfig(authority(), {
          exec: { apiVersion: 'client.authentication.k8s.io/v1', command: path.join(folder, 'nowhere') },
        }),
      ),
    );
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(String(error)).toContain('plugin nowhere of kubeconfig user u cannot be started (ENOENT): install it');
  });

  it('is not started for a connection that is opened ahead', async () => {
    const started = path.join(folder, 'started');
    const script = `require('node:fs').writeFileSync(${JSON.stringify(started)}, '')`;
    const opened = await open(await inFile(kubeconfig(authority(), plugin(script))));
    await opened.connect(2);
    expect(existsSync(started)).toBe(false);
    await opened.cluster.identify('n', unhurried()).catch(() => undefined);
    expect(existsSync(started)).toBe(true);
    await opened.close();
  });

  it('is used from a file if it works', async () => {
    const credential = `{ kind: 'ExecCredential', apiVersion, status: { token: '${FENCE_TOKEN}' } }`;
    const apiVersion = "const apiVersion = 'client.authentication.k8s.io/v1';";
    const script = `${apiVersion} process.stdout.write(JSON.stringify(${credential}))`;
    const opened = await open(await inFile(kubeconfig(authority(), plugin(script))));
    expect(await opened.cluster.identify('nobody', unhurried())).toBeNull();
    await opened.close();
  });
});

describe('a kubeconfig from a secret', () => {
  const secret: ClusterEntry = { name: 'c', secret: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:k' };

  it('does not run a program', async () => {
    const proof = path.join(folder, 'ran');
    const script = `require('node:fs').writeFileSync(${JSON.stringify(proof)}, '')`;
    const { error } = await failureOf(secret, kubeconfig(authority(), plugin(script)));
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(String(error)).toContain('a kubeconfig from a secret must be self-contained: user u runs a program');
    await expect(chmod(proof, 0o600)).rejects.toThrow(/ENOENT/);
  });

  it.each([
    [
      'a certificate authority',
      () => ({ server: apiServer.url, 'certificate-authority': '/etc/hosts' }),
      { token: CANARY },
    ],
    ['a client certificate', authority, { 'client-certificate': '/etc/hosts', 'client-key': '/etc/hosts' }],
    ['a client certificate alone', authority, { 'client-certificate': '/etc/hosts' }],
    ['a client key alone', authority, { 'client-key': '/etc/hosts' }],
    ['a token', authority, { 'token-file': '/etc/hostname' }],
    ['a token, as kubectl spells it', authority, { tokenFile: '/etc/hostname' }],
    ['an auth-provider', authority, { 'auth-provider': { name: 'gcp', config: { 'cmd-path': '/bin/true' } } }],
  ])('does not refer to a file for %s', async (_, cluster, user) => {
    const { error, text } = await failureOf(secret, kubeconfig(cluster(), user));
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(text).toContain('from a secret');
    expect(text).not.toContain('7f3a91');
  });

  it('is used if it contains everything that it needs', async () => {
    const opened = await open(secret, kubeconfig(authority(), { token: FENCE_TOKEN }));
    expect(await opened.cluster.identify('nobody', unhurried())).toBeNull();
    await opened.close();
  });
});

describe('plain http', () => {
  it.each([
    ['a token', { token: CANARY }],
    ['a password', { username: 'u', password: CANARY }],
    ['a plugin', plugin(`process.stdout.write('${CANARY}')`)],
    ['an auth-provider', { 'auth-provider': { name: 'oidc', config: { 'id-token': CANARY } } }],
  ])('is rejected with %s, even if the kubeconfig skips the verification', async (_, user) => {
    for (const skips of [{}, { 'insecure-skip-tls-verify': true }]) {
      const { error, text } = await failureOf(
        await inFile(kubeconfig({ server: 'http://10.9.8.7:8080', ...skips }, user)),
      );
      expect(error).toBeInstanceOf(InvalidConfiguration);
      expect(text).toContain('expose the credential');
      expect(text).not.toContain('7f3a91');
    }
  });

  it.each(['http://localhost.example.org', 'http://127.0.0.1.example.org:80', 'HTTP://10.9.8.7'])(
    'to %s does not count as local',
    async (server) => {
      const { text } = await failureOf(
        { name: 'c', secret: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:k' },
        JSON.stringify({ server, ca: 'PEM', token: CANARY }),
      );
      expect(text).toContain('expose the credential');
      expect(text).not.toContain('7f3a91');
    },
  );

  it('to this machine through a proxy does not count as local', async () => {
    const { text } = await failureOf(
      await inFile(
        kubeconfig(
          { server: 'http://127.0.0.1:9', 'insecure-skip-tls-verify': true, 'proxy-url': 'http://10.9.8.7:3128' },
          { token: CANARY },
        ),
      ),
    );
    expect(text).toContain('expose the credential');
  });

  it('to this machine is allowed', async () => {
    for (const server of ['http://127.0.0.1:9', 'http://localhost:9', 'http://[::1]:9']) {
      const opened = await open(
        await inFile(kubeconfig({ server, 'insecure-skip-tls-verify': true }, { token: CANARY })),
      );
      expect(opened.doctor.unverified()).toBe(true);
      await opened.close();
    }
  });
});

/** A cloud without machines. */
const noCloud = (): OpenedCloud => ({
  cloud: {
    name: 'none',
    look: nobody,
    witness: nobody,
    detach: nobody,
    powerOff: nobody,
    machineOf: () => null,
    immutableIdsOf: () => [],
    unservedScope: () => null,
    diskOf: () => null,
  },
  readHints: () => ({ hints: [], faults: [], ignored: [] }),
  viewDisks: async () => [],
  driverFaultOf: () => null,
  probes: [],
  access: { managedCluster: nobody, secret: nobody },
});

it('doctor fails for a server whose certificate cannot be verified, and names the remedy', async () => {
  const opened = await open(
    await inFile(kubeconfig({ server: apiServer.url, 'insecure-skip-tls-verify': true }, { token: FENCE_TOKEN })),
  );
  const cluster = {
    cluster: opened.cluster,
    doctor: async () => opened.doctor,
    cap: async () => opened.cap,
    status: async () => opened.status,
    connection: async () => opened.connection,
    diagnosis: async () => opened.diagnosis,
    aftermath: async () => opened.aftermath,
    open: async () => undefined,
    close: opened.close,
  };
  const { checks } = await runDoctorChecks(
    noCloud(),
    [cluster],
    { policy: defaultPolicy, runsFences: false },
    { inTime: (call) => call(), signal: unhurried() },
  );
  expect(checks).toContainEqual({
    what: 'c: the identity of the API server is verified',
    verdict: 'fail',
    says: expect.stringContaining('certificate-authority-data'),
  });
  await opened.close();
});

describe('a configuration that contains a token', () => {
  it.each([
    [
      'is not valid YAML',
      `clusters:\n  - name: c\n    kubeconfig: |\n     users: [{user: {token: ${CANARY}}}]\n   bad: "${CANARY}\n`,
    ],
    ['has an alias instead of a token', `pause: *${CANARY}\n`],
    ['has a line without its space', `{ token:${CANARY}: 1 }\n`],
    ['has a token instead of a list', `clusters: ${CANARY}\n`],
    ['uses the token as an unknown key', `clusters: [{ name: c, token: ${CANARY} }]\n`],
  ])('%s: the error does not show the token', (_, text) => {
    const read = (): unknown => {
      try {
        return parseConfiguration(text, 'cf.yaml');
      } catch (error) {
        return error;
      }
    };
    const error = read();
    expect(error).toBeInstanceOf(InvalidConfiguration);
    expect(inspect(error, { depth: 20, showHidden: true })).toContain('cf.yaml');
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('7f3a91');
  });
});
