import { describe, expect, it } from 'vitest';
import type { Transport } from '../../kubernetes/exchange.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import {
  DRIVER,
  NODES,
  queryFor,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  recordFor,
  unhurried,
  usingClaim,
  type ClusterHarness,
} from '../contract/cluster/harness.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { annotatedIdentitySources, csiNodeIdentitySources } from '../../kubernetes/node.ts';
import { clusterOver, patientClock } from './wire.ts';

/** An API server, or a kubelet, that reports more than exists. */

const counted = (transport: Transport) => {
  const paths: string[] = [];
  const counting: Transport = async (request, signal) => {
    paths.push(request.path);
    return transport(request, signal);
  };
  return { paths, counting };
};

const endless = (token: (page: number) => string) => {
  let page = 0;
  return counted(async () => {
    page += 1;
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        kind: 'List',
        apiVersion: 'v1',
        items: [],
        metadata: { resourceVersion: '1', continue: token(page) },
      }),
    };
  });
};

describe('a list that never ends', () => {
  it.each([
    ['whose next page always starts at the beginning', (page: number) => `page-${page}`, 1_001],
    ['whose next page starts where the last one started', () => 'page', 2],
  ])('%s is abandoned with a reason', async (_, token, most) => {
    const { paths, counting } = endless(token);
    await expect(clusterOver(counting).suspects(60_000, unhurried())).rejects.toThrow(
      /^a list (?:has more than \d+ pages|returns the same page again)/,
    );
    expect(paths.length).toBeLessThanOrEqual(most);
  });
});

const busyNode = async () => {
  const server = sandboxServer({ now: patientClock().now });
  const { paths, counting } = counted(inProcess(server));
  const stage: ClusterHarness = { cluster: clusterOver(counting), admin: adminOf(server), now: server.now };
  const node = await makeNode(stage, { machine: 'i-1' });
  return {
    paths,
    stage,
    node,
    look: (remembered = null as ReturnType<typeof recordFor> | null) =>
      stage.cluster.look({ query: queryFor('i-1'), node: node.name, remembered, successorsOf: [] }, unhurried()),
  };
};

const names = (count: number) => Array.from({ length: count }, (_, at) => `${DRIVER}^vol-made-up-${at}`);

describe('a kubelet that names ten thousand volumes', () => {
  it.each(['volumesInUse', 'volumesAttached'])(
    'in %s costs one list, and what is really attached is found',
    async (field) => {
      const { paths, stage, node, look } = await busyNode();
      const volume = await makeVolume(stage, 'vol-real');
      await makePod(stage, node.name, usingClaim(volume));
      const { uid } = await makeAttachment(
        stage,
        attachmentName({ driver: DRIVER, handle: 'vol-real' }, node.name),
        node.name,
        volume,
        'i-1',
      );
      const unclaimed = await makeVolume(stage, 'vol-unclaimed');
      await makeAttachment(
        stage,
        attachmentName({ driver: DRIVER, handle: 'vol-unclaimed' }, node.name),
        node.name,
        unclaimed,
        'i-1',
      );
      const said = [...names(10_000), `${DRIVER}^vol-unclaimed`].map((name) => `kubernetes.io/csi/${name}`);
      const status = { [field]: field === 'volumesInUse' ? said : said.map((name) => ({ name, devicePath: '' })) };
      await stage.admin('PATCH', `${NODES}/${node.name}/status`, { status });
      paths.length = 0;
      const { volumes } = await look();
      expect(paths.length).toBeLessThan(30);
      expect(new Map(volumes.map(({ handle, persistentVolume }) => [handle, persistentVolume]))).toEqual(
        new Map([
          ['vol-real', volume],
          ['vol-unclaimed', unclaimed],
        ]),
      );
      expect(volumes.find(({ handle }) => handle === 'vol-real')?.attachment?.uid).toBe(uid);
    },
  );

  it('does not hide a volume that something else names: a claim, a pod, or the record', async () => {
    const { stage, node, look } = await busyNode();
    const inline = { name: 'v', awsElasticBlockStore: { volumeID: 'vol-inline' } };
    const claimed = usingClaim(await makeVolume(stage, 'vol-claimed'));
    await makePod(stage, node.name, { volumes: [...claimed.volumes, inline] });
    const said = names(1_000).map((name) => `kubernetes.io/csi/${name}`);
    await stage.admin('PATCH', `${NODES}/${node.name}/status`, { status: { volumesInUse: said } });
    const volumes = [{ driver: DRIVER, handle: 'vol-noted', persistentVolume: 'gone', attachment: '' }];
    const facts = await look(recordFor(node, 'i-1', { volumes }));
    expect(facts.volumes.map(({ handle }) => handle).sort()).toEqual(['vol-claimed', 'vol-inline', 'vol-noted']);
  });

  it('in the record costs no more than a large Node', async () => {
    const { paths, node, look } = await busyNode();
    const volumes = Array.from({ length: 10_000 }, (_, at) => ({
      driver: DRIVER,
      handle: `vol-${at}`,
      persistentVolume: `pv-${at}`,
      attachment: '',
    }));
    await look(recordFor(node, 'i-1', { volumes }));
    expect(paths.length).toBeLessThan(600);
  });
});

describe('a large Node', () => {
  it('with 300 volumes is read volume by volume, attached or not', async () => {
    const { stage, node, look } = await busyNode();
    await stage.admin('PATCH', `${NODES}/${node.name}/status`, {
      status: { volumesInUse: names(300).map((name) => `kubernetes.io/csi/${name}`) },
    });
    expect((await look()).volumes).toHaveLength(300);
  });

  it('with pods that name 300 claims has no claim that is not resolved', async () => {
    const { stage, node, look } = await busyNode();
    const claims = await Promise.all(Array.from({ length: 300 }, (_, at) => makeVolume(stage, `vol-claimed-${at}`)));
    const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
    await makePod(stage, node.name, { volumes, tolerations: [{ operator: 'Exists' }] });
    expect((await look()).pods).toMatchObject([{ unresolved: [] }]);
  });
});

describe('a tenant', () => {
  it('whose pods name two thousand claims costs a limited number of calls, and the rest is unresolved', async () => {
    const { paths, stage, node, look } = await busyNode();
    const volumes = Array.from({ length: 2_000 }, (_, at) => ({
      name: `v${at}`,
      persistentVolumeClaim: { claimName: `c${at}` },
    }));
    await makePod(stage, node.name, { volumes, tolerations: [{ operator: 'Exists' }] });
    paths.length = 0;
    expect((await look()).pods[0]?.unresolved).toHaveLength(2_000);
    expect(paths.length).toBeLessThan(1_050);
  });
});

it('a nodeid annotation of ten thousand entries names at most as many machines as a Node can have drivers', () => {
  const ids = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`driver-${at}`, `i-${at}`]));
  expect(
    annotatedIdentitySources({ annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify(ids) } }),
  ).toHaveLength(50);
  expect(
    csiNodeIdentitySources({ spec: { drivers: Object.entries(ids).map(([name, nodeID]) => ({ name, nodeID })) } }),
  ).toHaveLength(50);
});
