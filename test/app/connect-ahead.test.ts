import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectClustersAhead, openClusters } from '../../app/open-clusters.ts';
import { Refused } from '../../fencing/model/errors.ts';
import { type KubernetesServer, openKubernetesServer } from '../../sandbox/cluster/api/https-server.ts';
import { kubeconfigFor } from '../cli/live-cloud.ts';
import { sandboxServer } from '../contract/cluster/sandbox-harness.ts';

let apiServer: KubernetesServer;

beforeEach(async () => {
  apiServer = await openKubernetesServer(sandboxServer());
});
afterEach(() => apiServer.close());

const never = () => Promise.reject(new Refused('no cloud provides the access'));
const access = { managedCluster: never, secret: never };
const entryOf = (kubeconfig: string, nth = 0) => ({ name: `c-${nth}`, kubeconfig });
const opened = (...kubeconfigs: readonly string[]) =>
  openClusters(kubeconfigs.map(entryOf), access, new AbortController().signal);

it.each([
  [1, [8]],
  [2, [4, 4]],
  [8, [1, 1, 1, 1, 1, 1, 1, 1]],
  [9, []],
])('opens eight connections ahead in total: with %i clusters, %j', (clusters, expected) => {
  const counts: number[] = [];
  const connect = async (count: number): Promise<void> => void counts.push(count);
  connectClustersAhead(Array.from({ length: clusters }, () => ({ connect })));
  expect(counts).toEqual(expected);
});

it('connects, asks nothing, and does not connect again while the connections are open', async () => {
  const [cluster] = opened(kubeconfigFor(apiServer.url, apiServer.caData));
  await cluster?.connect(3);
  await cluster?.connect(3);
  await expect.poll(() => apiServer.traffic().connections).toBe(3);
  expect(apiServer.traffic().requests).toBe(0);
  await cluster?.cluster.identify('n', new AbortController().signal);
  expect(apiServer.traffic()).toMatchObject({ connections: 3, requests: 2 });
  await cluster?.close();
});

it.each([
  ['cannot be opened', 'no kubeconfig'],
  ['is out of reach', kubeconfigFor('https://127.0.0.1:1', '')],
])('a cluster that %s is no failure yet', async (_case, kubeconfig) => {
  const [cluster] = opened(kubeconfig);
  await cluster?.connect(2);
  await expect(cluster?.cluster.identify('n', AbortSignal.timeout(1))).rejects.toBeInstanceOf(Error);
  await cluster?.close().catch(() => undefined);
});

const openedBy = (managedCluster: typeof never, signal = new AbortController().signal) =>
  openClusters([{ name: 'prod', eks: {} }], { ...access, managedCluster }, signal);

it('a cluster that could not be opened ahead is opened by the call that needs it, and not before', async () => {
  let asked = 0;
  const [cluster] = openedBy(() => {
    asked += 1;
    return never();
  });
  await cluster?.connect(2);
  await cluster?.connect(2);
  expect(asked).toBe(1);
  await expect(cluster?.cluster.identify('n', AbortSignal.timeout(1))).rejects.toBeInstanceOf(Refused);
  expect(asked).toBe(2);
});

it('closes although a cluster that is still being opened ahead fails', async () => {
  const [cluster] = openedBy(never);
  const connecting = cluster?.connect(2);
  await expect(cluster?.close()).resolves.toBeUndefined();
  await connecting;
});

it('leaves no connection open, however often it has connected', async () => {
  const [cluster] = opened(kubeconfigFor(apiServer.url, apiServer.caData));
  await Promise.all([cluster?.connect(3), cluster?.connect(3)]);
  await expect.poll(() => apiServer.traffic().connections).toBe(3);
  await cluster?.close();
  await expect.poll(() => apiServer.traffic().open).toBe(0);
});
