import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProofExpired, Unavailable } from '../../fencing/model/errors.ts';
import { linkFromKubeConfig, linkFromToken } from '../../kubernetes/access.ts';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import type { Link } from '../../kubernetes/exchange.ts';
import { type KubernetesServer, openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { adminOf, FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { queryFor, makeAttachment, makeNode, unhurried } from '../contract/cluster/harness.ts';
import { granted } from '../permits.ts';

let apiServer: KubernetesServer;
let link: Link;
const server = sandboxServer();
const stage = () => ({
  cluster: createCluster({ name: 'c', link, clock: callClock }),
  admin: adminOf(server),
  now: server.now,
});

const tokenLink = () => linkFromToken({ server: apiServer.url, ca: apiServer.caData, token: async () => FENCE_TOKEN });

const kubeConfig = (ca: string) =>
  JSON.stringify({
    clusters: [
      {
        name: 'c',
        cluster: { server: apiServer.url, 'certificate-authority-data': Buffer.from(ca).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token: FENCE_TOKEN } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  });

beforeEach(async () => {
  apiServer = await openKubernetesServer(server);
  link = tokenLink();
});
afterEach(async () => {
  await link.close();
  await apiServer.close();
});

describe('over HTTPS', () => {
  it.each([
    ['a token', tokenLink],
    ['a kubeconfig', () => linkFromKubeConfig(kubeConfig(apiServer.caData), 'x')],
  ])('twenty consecutive calls with %s open one or two TLS connections', async (_case, open) => {
    const { name } = await makeNode(stage(), { machine: 'i-1' });
    const opened = open();
    const cluster = createCluster({ name: 'c', link: opened, clock: callClock });
    for (let call = 0; call < 20; call += 1)
      expect(await cluster.find(queryFor('i-1', name), unhurried())).toEqual([name]);
    expect(apiServer.traffic().requests).toBe(20);
    expect(apiServer.traffic().connections).toBeLessThanOrEqual(2);
    await opened.close();
  });

  it('connections are opened ahead unless some are open, and are closed with the link', async () => {
    await link.connect(2);
    await link.connect(2);
    await expect.poll(() => apiServer.traffic().connections).toBe(2);
    const { name } = await makeNode(stage(), { machine: 'i-8' });
    expect(await stage().cluster.find(queryFor('i-8', name), unhurried())).toEqual([name]);
    expect(apiServer.traffic().connections).toBe(2);
    expect(link.unverified()).toBe(false);
  });

  it('a look at everything opens at most 24 connections, however many calls it makes at once', async () => {
    const { name } = await makeNode(stage(), { machine: 'i-7' });
    await stage().cluster.look({ query: queryFor('i-7'), node: name, remembered: null, successorsOf: [] }, unhurried());
    expect(apiServer.traffic().connections).toBeLessThanOrEqual(24);
  });

  it('deletes use the same connection, and send their preconditions', async () => {
    const { cluster } = stage();
    const doomed = await Promise.all(
      Array.from({ length: 6 }, (_, which) => makeAttachment(stage(), `csi-doomed-${which}`, 'n', 'data')),
    );
    for (const { name, uid } of doomed)
      await cluster.apply({ do: 'delete-attachment', attachment: { name, uid } }, granted, unhurried());
    expect(apiServer.traffic().requests).toBe(6);
    expect(apiServer.traffic().connections).toBeLessThanOrEqual(2);
  });

  it('a server whose certificate the CA does not verify gets no token', async () => {
    const other = await openKubernetesServer(server);
    const wary = createCluster({
      name: 'c',
      link: linkFromKubeConfig(kubeConfig(other.caData), 'x'),
      clock: callClock,
    });
    await expect(wary.recheck('n', unhurried())).rejects.toThrow(Unavailable);
    expect(apiServer.traffic().requests).toBe(0);
    await other.close();
  });

  it('a request is not sent if its proof expires while the connection is being opened', async () => {
    const { name, uid } = await makeAttachment(stage(), 'csi-late', 'n', 'data');
    let checks = 0;
    const check = () => {
      checks += 1;
      throw new ProofExpired('too late');
    };
    const applied = stage().cluster.apply(
      { do: 'delete-attachment', attachment: { name, uid } },
      { ...granted, check },
      unhurried(),
    );
    await expect(applied).rejects.toThrow(ProofExpired);
    expect([checks, apiServer.traffic().requests]).toEqual([1, 0]);
    expect(server.store.get('volumeattachments', name)).toBeDefined();
  });

  it('a server that does not answer in time is unavailable', async () => {
    const clock = { ...callClock, sleep: async () => undefined };
    const hung = {
      ...link,
      send: (request: Parameters<Link['send']>[0]) =>
        new Promise<never>((_resolve, reject) => {
          const signal = request.getSignal();
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const cluster = createCluster({ name: 'c', link: hung, clock, callLasts: 5 });
    await expect(cluster.recheck('n', unhurried())).rejects.toThrow(/got no response/);
  });
});
