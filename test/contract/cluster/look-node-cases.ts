import { expect, it } from 'vitest';
import type { LookRequest } from '../../../fencing/model/cluster.ts';
import type { ClusterHarness } from './harness.ts';
import { LEASES, NODES, queryFor, fresh, made, makeNode, makePod, recordFor, unhurried } from './harness.ts';
import { FENCED_LABEL } from '../../../kubernetes/names.ts';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

export const lookNodeCases = (harness: () => ClusterHarness): void => {
  const look = (machine: string, node: string, request: Partial<LookRequest> = {}) =>
    harness().cluster.look(
      { query: queryFor(machine, node), node, remembered: null, successorsOf: [], ...request },
      unhurried(),
    );

  it('reads the identity and the state of a Node', async () => {
    const machine = fresh('i');
    const { name, uid } = await makeNode(harness(), {
      machine,
      metadata: {
        labels: { 'topology.kubernetes.io/zone': 'z1', 'node-role.kubernetes.io/control-plane': '' },
        annotations: {
          'cloudfence.dev/opt-out': '',
          'csi.volume.kubernetes.io/nodeid': `{"ebs.csi.aws.com":"${machine}"}`,
        },
        finalizers: ['example.com/hold'],
        ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'c', uid: 'u' }],
      },
      status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-11-21T09:00:00Z' }] },
    });
    await made(harness(), '/apis/storage.k8s.io/v1/csinodes', {
      metadata: { name },
      spec: { drivers: ['efs.csi.aws.com', 'ebs.csi.aws.com'].map((driver) => ({ name: driver, nodeID: machine })) },
    });
    const { node } = await look(machine, name);
    expect(node).toMatchObject({
      name,
      uid,
      bootID: 'boot-1',
      ready: 'False',
      readySince: Date.UTC(2026, 10, 21, 9),
      deleting: false,
      zone: 'z1',
    });
    expect(node).toMatchObject({
      controlPlane: true,
      optOuts: [
        { by: 'annotation', says: 'no reason given', remedy: `kubectl annotate node ${name} cloudfence.dev/opt-out-` },
      ],
      finalizers: ['example.com/hold'],
      owners: ['NodeClaim'],
    });
    expect(node?.identitySources.map(({ source, driver }) => [source, driver])).toEqual([
      ['providerID', null],
      ['nodeIdAnnotation', 'ebs.csi.aws.com'],
      ['csiNode', 'efs.csi.aws.com'],
      ['csiNode', 'ebs.csi.aws.com'],
    ]);
    expect(await harness().cluster.identify(name, unhurried())).toEqual(node?.identitySources);
    expect(await harness().cluster.identify(fresh('gone'), unhurried())).toBeNull();
    expect(node).toMatchObject({ recordText: null, record: null, taints: { outOfService: false, quarantine: false } });
  });

  it('reads the record on a Node, and its text even if that is no record', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), {
      machine,
      spec: { providerID: `x/${machine}`, taints: [{ key: OUT_OF_SERVICE, effect: 'NoExecute' }] },
    });
    const record = recordFor(node, machine);
    const annotate = (text: string) =>
      harness().admin('PATCH', `${NODES}/${node.name}`, {
        metadata: { annotations: { 'cloudfence.dev/fence': text } },
      });
    await annotate(JSON.stringify(record));
    expect((await look(machine, node.name)).node).toMatchObject({
      record: null,
      strayRecord: record,
      dropRecord: `kubectl annotate node ${node.name} cloudfence.dev/fence-`,
      taints: { outOfService: true, quarantine: false },
    });
    await harness().admin('PATCH', `${NODES}/${node.name}`, { metadata: { labels: { [FENCED_LABEL]: record.fence } } });
    expect((await look(machine, node.name)).node).toMatchObject({ record, strayRecord: null });
    await annotate(JSON.stringify({ ...record, fence: 'a-kubelets.1' }));
    expect((await look(machine, node.name)).node).toMatchObject({ record: null, strayRecord: null });
    await annotate('garbled');
    expect((await look(machine, node.name)).node).toMatchObject({ record: null, recordText: 'garbled' });
  });

  it('reads a Lease with its microseconds, and null if there is none', async () => {
    const machine = fresh('i');
    const { name } = await makeNode(harness(), { machine });
    expect((await look(machine, name)).lease).toBeNull();
    await made(harness(), LEASES, { metadata: { name }, spec: { renewTime: '2026-11-21T09:59:58.123456Z' } });
    expect((await look(machine, name)).lease).toBe('2026-11-21T09:59:58.123456Z');
  });

  it('reads the Lease of the Node itself, although an earlier Node of the machine had another name', async () => {
    const machine = fresh('i');
    const former = await makeNode(harness());
    const { name } = await makeNode(harness(), { machine });
    const renewTime = '2026-11-21T10:00:00.000000Z';
    await made(harness(), LEASES, { metadata: { name }, spec: { renewTime } });
    const { lease, nameTaken } = await look(machine, name, { remembered: recordFor(former, machine) });
    expect({ lease, nameTaken }).toEqual({ lease: renewTime, nameTaken: false });
  });

  it('lists the pods of the Node, and no others', async () => {
    const machine = fresh('i');
    const { name } = await makeNode(harness(), { machine });
    const owned = (kind: string) => ({
      ownerReferences: [{ apiVersion: 'v1', kind, name: 'o', uid: 'o', controller: true }],
    });
    const mirror = await makePod(harness(), name, {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    const daemon = await makePod(harness(), name, { tolerations: [{ operator: 'Exists' }] }, owned('DaemonSet'));
    const job = await makePod(
      harness(),
      name,
      { terminationGracePeriodSeconds: 30 },
      { ...owned('Job'), finalizers: ['batch.kubernetes.io/job-tracking'] },
    );
    const other = await makePod(harness(), name, {}, { annotations: { 'cloudfence.dev/opt-out': 'by hand' } });
    await makePod(harness(), fresh('node'));
    await harness().admin('DELETE', `/api/v1/namespaces/default/pods/${job.name}`);
    const { pods } = await look(machine, name);
    const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
    expect(byUid.size).toBe(4);
    expect(byUid.get(mirror.uid)).toMatchObject({ kind: 'mirror', tolerates: false });
    expect(byUid.get(daemon.uid)).toMatchObject({ kind: 'daemon', tolerates: true, volumes: [] });
    expect(byUid.get(job.uid)).toMatchObject({ kind: 'job', deleting: true, finalizers: true });
    expect(byUid.get(other.uid)).toMatchObject({
      kind: 'other',
      optOut: {
        by: 'annotation',
        says: 'by hand',
        remedy: `kubectl annotate -n default pod ${other.name} cloudfence.dev/opt-out-`,
      },
      deleting: false,
      finished: false,
    });
  });

  it('honors the pause', async () => {
    const machine = fresh('i');
    const own = await makeNode(harness(), { machine });
    const map = '/api/v1/namespaces/kube-system/configmaps';
    await made(harness(), map, { metadata: { name: 'cloudfence' }, data: { pause: 'moving house' } });
    expect((await look(machine, own.name)).surroundings.paused).toBe('moving house');
    for (const [pause, paused] of [
      ['no', 'no'],
      ['0', '0'],
      ['false', null],
      [' ', null],
    ]) {
      await harness().admin('PATCH', `${map}/cloudfence`, { data: { pause } });
      expect((await look(machine, own.name)).surroundings.paused).toBe(paused);
    }
    await harness().admin('DELETE', `${map}/cloudfence`);
  });

  it('sees that another machine now has the name of the remembered Node', async () => {
    const machine = fresh('i');
    const node = await makeNode(harness(), { machine });
    await makePod(harness(), node.name);
    const own = recordFor(node, machine);
    expect(await look(machine, node.name, { remembered: own })).toMatchObject({ nameTaken: false });
    const remembered = recordFor({ ...node, uid: 'an-older-uid' }, machine);
    expect(await look(machine, node.name, { remembered })).toMatchObject({ nameTaken: true, node: { uid: node.uid } });
    const gone = fresh('i');
    expect(await look(gone, node.name, { remembered: { ...remembered, machine: gone } })).toMatchObject({
      nameTaken: true,
      node: null,
      nodeName: node.name,
      pods: [],
      lease: null,
    });
  });
};
