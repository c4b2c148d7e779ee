import { expect, it } from 'vitest';
import { callClock } from '../../kubernetes/connection.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { FENCE_TOKEN, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import {
  ATTACHMENTS,
  CSI_NODES,
  DRIVER,
  LEASES,
  made,
  makeAttachment,
  makeNode,
  unhurried,
} from '../contract/cluster/harness.ts';
import { openCalls } from '../open-calls.ts';
import { clusterOver, faultyCluster } from './wire.ts';

const by = { user: 'admin', at: 0 };

/** This many silent Nodes, and one attachment to a Node that is gone. */
const silentCluster = (nodes: number) => {
  const server = sandboxServer();
  const { store } = server;
  for (let ordinal = 0; ordinal < nodes; ordinal += 1) {
    const name = `node-${ordinal}`;
    store.create(
      'nodes',
      { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { providerID: `aws:///z/i-${ordinal}` }, status: {} },
      by,
    );
    store.create(
      'leases',
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace: 'kube-node-lease' },
        spec: {},
      },
      by,
    );
  }
  const metadata = { name: 'csi-left', annotations: { 'csi.alpha.kubernetes.io/node-id': 'i-gone' } };
  const spec = { attacher: 'ebs.csi.aws.com', nodeName: 'gone', source: { persistentVolumeName: 'data' } };
  store.create(
    'volumeattachments',
    { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata, spec, status: { attached: true } },
    by,
  );
  return server;
};

it.each([
  ['a few', 3, 3],
  ['all of many', 700, 10],
])(
  'suspects each node of a cluster in which %s are silent, and what is left of one that is gone',
  async (_, nodes, calls) => {
    let requests = 0;
    const transport = inProcess(silentCluster(nodes));
    const link = transportLink(async (request, signal) => {
      requests += 1;
      return transport(request, signal);
    }, FENCE_TOKEN);
    const suspects = await createCluster({ name: 'c', link, clock: callClock }).suspects(60_000, unhurried());
    const silent = suspects.filter(({ because }) => because === 'lease-stale');
    expect(new Set(silent.map(({ node, identitySources }) => `${node} ${identitySources[0]?.value}`)).size).toBe(nodes);
    expect(suspects.filter(({ because }) => because !== 'lease-stale')).toMatchObject([
      { because: 'node-missing', node: 'gone', attachments: ['csi-left'] },
    ]);
    expect(requests).toBe(calls);
  },
);

it('names each driver of a Node that is gone, even if they gave its machine the same id', async () => {
  const stage = faultyCluster({});
  const attach = (name: string, attacher: string) =>
    made(stage, ATTACHMENTS, {
      metadata: { name, annotations: { 'csi.alpha.kubernetes.io/node-id': 'i-gone' } },
      spec: { attacher, nodeName: 'gone', source: { persistentVolumeName: name } },
    });
  await attach('csi-1', 'another.csi.example.org');
  await attach('csi-2', 'ebs.csi.aws.com');
  const [suspect, ...others] = await stage.cluster.suspects(60_000, unhurried());
  expect([suspect?.because, others]).toEqual(['node-missing', []]);
  expect(suspect?.identitySources.map(({ driver }) => driver)).toEqual(['another.csi.example.org', 'ebs.csi.aws.com']);
});

it('reads the attachments once if each living Node has only those of its own machine', async () => {
  const lists: string[] = [];
  const stage = faultyCluster({
    before: ({ path }) => {
      if (path.startsWith(`${ATTACHMENTS}?`)) lists.push(path);
      return undefined;
    },
  });
  const renewTime = new Date(stage.now());
  await makeNode(stage, { name: 'node', machine: 'i-own' });
  await made(stage, LEASES, { metadata: { name: 'node' }, spec: { renewTime } });
  for (const name of ['csi-1', 'csi-2']) await makeAttachment(stage, name, 'node', 'data', 'i-own');
  expect(await stage.cluster.suspects(60_000, unhurried())).toEqual([]);
  expect(lists).toHaveLength(1);
  await makeAttachment(stage, 'csi-3', 'node', 'data', 'i-former');
  expect(await stage.cluster.suspects(60_000, unhurried())).toMatchObject([{ attachments: ['csi-3'] }]);
  expect(lists).toHaveLength(3);
});

it('suspects what is left of a machine whose id is the beginning of the id of the Node’s new machine', async () => {
  const server = silentCluster(0);
  const { store } = server;
  const name = 'node-a';
  const nodeID = (instance: string) => `projects/p/zones/z/instances/${instance}`;
  const annotations = {
    'csi.volume.kubernetes.io/nodeid': JSON.stringify({ 'pd.csi.storage.gke.io': nodeID('db-10') }),
  };
  const spec = { providerID: 'gce://p/z/db-10' };
  store.create('nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, annotations }, spec, status: {} }, by);
  for (const instance of ['db-1', 'db-10']) {
    const metadata = { name: `csi-${instance}`, annotations: { 'csi.alpha.kubernetes.io/node-id': nodeID(instance) } };
    const attached = { attacher: 'pd.csi.storage.gke.io', nodeName: name, source: { persistentVolumeName: instance } };
    store.create(
      'volumeattachments',
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttachment',
        metadata,
        spec: attached,
        status: { attached: true },
      },
      by,
    );
  }
  const link = transportLink(inProcess(server), FENCE_TOKEN);
  const suspects = await createCluster({ name: 'c', link, clock: callClock }).suspects(60_000, unhurried());
  expect(suspects.filter(({ node }) => node === name)).toMatchObject([
    { because: 'lease-stale' },
    { because: 'node-missing', attachments: ['csi-db-1'] },
  ]);
});

it('suspects what is left of a machine whose short id is the beginning of that of the Node’s new machine', async () => {
  const stage = faultyCluster({});
  await makeNode(stage, { name: 'node', spec: { providerID: 'cloud://zone/db-10' } });
  for (const machine of ['db-1', 'db-10']) await makeAttachment(stage, `csi-${machine}`, 'node', 'data', machine);
  expect(await stage.cluster.suspects(60_000, unhurried())).toMatchObject([
    { because: 'lease-stale' },
    { because: 'node-missing', attachments: ['csi-db-1'] },
  ]);
});

it('reads the CSINodes of silent Nodes that name no machine, eight at the same time', async () => {
  const stage = faultyCluster({});
  const names = Array.from({ length: 30 }, (_, nth) => `node-${nth}`);
  for (const name of names) {
    await makeNode(stage, { name, spec: { providerID: '' } });
    await made(stage, LEASES, { metadata: { name }, spec: {} });
    await made(stage, CSI_NODES, { metadata: { name }, spec: { drivers: [{ name: DRIVER, nodeID: `i-${name}` }] } });
  }
  const transport = inProcess(stage.server);
  const calls = openCalls();
  const cluster = clusterOver((request, signal) => calls.during(() => transport(request, signal)));
  const suspects = await cluster.suspects(60_000, unhurried());
  expect(new Set(suspects.map(({ identitySources }) => identitySources[0]?.value))).toEqual(
    new Set(names.map((name) => `i-${name}`)),
  );
  expect([calls.most(), calls.open()]).toEqual([8, 0]);
});

it('suspects what is left of a machine whose id is the end of the id of the Node’s new machine', async () => {
  const stage = faultyCluster({});
  await makeNode(stage, { name: 'node', spec: { providerID: 'cloud://zone/new-db' } });
  for (const machine of ['db', 'new-db']) await makeAttachment(stage, `csi-${machine}`, 'node', 'data', machine);
  expect(await stage.cluster.suspects(60_000, unhurried())).toMatchObject([
    { because: 'lease-stale' },
    { because: 'node-missing', attachments: ['csi-db'] },
  ]);
});
