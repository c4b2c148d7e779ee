import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { openKubernetesServer, type KubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { connectCluster } from '../../app/connect-cluster.ts';
import { FENCE_TOKEN, adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { NODES, unhurried } from '../contract/cluster/harness.ts';

/** From a kubeconfig on disk to an answer of the API server. */

const never = async (): Promise<never> => {
  throw new Error('no cloud is needed for a kubeconfig');
};
const access = { managedCluster: never, secret: never, parameter: never };
const server = sandboxServer();
const nobody = 'https://127.0.0.1:9';

let folder: string;
let apiServer: KubernetesServer;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  apiServer = await openKubernetesServer(server);
  await mkdir(path.join(folder, 'pki'));
  await writeFile(path.join(folder, 'pki', 'ca.pem'), apiServer.caData);
  await adminOf(server)('POST', NODES, { metadata: { name: 'here' }, spec: { providerID: 'aws:///z/i-1' } });
});
afterEach(() => Promise.all([apiServer.close(), rm(folder, { recursive: true })]));

const cluster = (url: string) => ({
  clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority': 'pki/ca.pem' } }],
});
const users = { users: [{ name: 'u', user: { token: FENCE_TOKEN } }] };
const contexts = { 'current-context': 'x', contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }] };

const written = async (name: string, content: object): Promise<string> => {
  const file = path.join(folder, name);
  await writeFile(file, stringify({ apiVersion: 'v1', kind: 'Config', ...content }));
  return file;
};

const nodesSeenWith = async (kubeconfig: string) => {
  const opened = await connectCluster({ name: 'c', kubeconfig }, access, unhurried());
  try {
    return await opened.cluster.identify('here', unhurried());
  } finally {
    await opened.close();
  }
};

const here = [{ source: 'providerID', driver: null, value: 'aws:///z/i-1' }];

describe('a kubeconfig in a file', () => {
  it('may refer to files next to it', async () => {
    expect(await nodesSeenWith(await written('config', { ...cluster(apiServer.url), ...users, ...contexts }))).toEqual(
      here,
    );
  });

  it.each(['', 'users: [{ token: my-secret }'])(
    'that is not a kubeconfig is reported by its path, without its content: %j',
    async (content) => {
      const file = path.join(folder, 'broken');
      await writeFile(file, content);
      const failure = nodesSeenWith(file).catch((error: unknown) => String(error));
      expect(await failure).toContain(`the kubeconfig ${file} is not valid`);
      expect(await failure).not.toContain('my-secret');
    },
  );

  it('may be split over several files: the first value wins, and missing files are ignored', async () => {
    const files = [
      await written('first', { ...cluster(apiServer.url), 'current-context': 'x' }),
      path.join(folder, 'nowhere'),
      await written('second', { ...cluster(nobody), ...users, ...contexts, 'current-context': 'y' }),
    ];
    expect(await nodesSeenWith(files.join(path.delimiter))).toEqual(here);
    await expect(nodesSeenWith([path.join(folder, 'nowhere'), ''].join(path.delimiter))).rejects.toThrow(
      /no kubeconfig exists at .*nowhere: give --kubeconfig/,
    );
  });

  it('may use the short form', async () => {
    const file = path.join(folder, 'short.json');
    await writeFile(file, JSON.stringify({ server: apiServer.url, ca: apiServer.caData, token: FENCE_TOKEN }));
    expect(await nodesSeenWith(file)).toEqual(here);
  });
});
