import { describe, expect, it } from 'vitest';
import type { PlacedCanary } from '../../drill/ports.ts';
import { Refused } from '../../fencing/model/errors.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { createDrillCluster } from '../../kubernetes/drill/cluster.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { ADMIN_TOKEN, type Faults } from '../../sandbox/cluster/api/server.ts';
import type { ObjectMeta } from '../../sandbox/cluster/objects.ts';
import {
  CLAIMS,
  DRIVER,
  made,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  NODES,
  PODS,
  queryFor,
  unhurried,
  usingClaim,
  VOLUMES,
} from '../contract/cluster/harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { faultyCluster, patientClock } from './wire.ts';

/** What a drill reads and creates in a cluster. From each answer, it decides whether it may stop a healthy machine. */

const SETS = '/apis/apps/v1/namespaces/default/statefulsets';
const RESERVED = 'cloudfence.node-restriction.kubernetes.io/drill-reserved-by';
const MADE_BY = 'cloudfence.dev/drill';
const SET = 'cloudfence-drill';
const POD = 'cloudfence-drill-0';
const CLAIM = 'data-cloudfence-drill-0';

const canary: PlacedCanary = {
  namespace: 'default',
  image: 'example.org/pause:1',
  storageClass: null,
  node: 'node',
  hostname: 'host',
  drill: 'mine',
};

type ApiRequest = Parameters<NonNullable<Faults['before']>>[0];

const stage = async (faults: Faults = {}) => {
  const calls: ApiRequest[] = [];
  const opened = faultyCluster({
    ...faults,
    before: (request) => {
      calls.push(request);
      return faults.before?.(request);
    },
  });
  const link = transportLink(inProcess(opened.server), ADMIN_TOKEN);
  const drill = createDrillCluster('test', openConnection({ name: 'test', link, clock: patientClock() }));
  const node = await makeNode(opened, {
    name: 'node',
    machine: 'i-1',
    metadata: { labels: { 'kubernetes.io/hostname': 'host', 'topology.kubernetes.io/zone': 'a' } },
  });
  const inspect = async (own: string | null = null, storageClass: string | null = null) => {
    const request = { canary: { ...canary, storageClass }, own, cap: defaultPolicy.cap };
    const scene = await drill.inspect('node', request, unhurried());
    if (!scene) throw new Error('the Node is not there');
    return scene;
  };
  const sent = (method: string): readonly ApiRequest[] => calls.filter((call) => call.method === method);
  return { ...opened, drill, node, inspect, calls, sent };
};

type Stage = Awaited<ReturnType<typeof stage>>;

const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
const inZone = (zone: string) => ({ labels: { 'topology.kubernetes.io/zone': zone } });
const madeBy = (drill: string) => ({ labels: { [MADE_BY]: drill } });
const owned = (kind: string) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true }],
});

describe('a Node on which a drill is to run', () => {
  it('has no facts if it is gone', async () => {
    const { drill } = await stage();
    const request = { canary, own: null, cap: defaultPolicy.cap };
    expect(await drill.inspect('gone', request, unhurried())).toBeNull();
    expect(await drill.node('gone', unhurried())).toBeNull();
  });

  it('is described as a fence sees it', async () => {
    const { drill, node } = await stage();
    const facts = await drill.node('node', unhurried());
    expect(facts).toMatchObject({ name: 'node', uid: node.uid, bootID: 'boot-1' });
    expect(facts?.identitySources.map((source) => queryFor('i-1').machineOf(source))).toEqual(['i-1']);
  });

  it.each([
    [{}, false],
    [{ 'cloudfence.node-restriction.kubernetes.io/drill': 'no' }, false],
    [{ 'cloudfence.node-restriction.kubernetes.io/drill': 'allowed' }, true],
  ])('is allowed only by the value of its label: %j', async (labels, allowed) => {
    const { admin, inspect } = await stage();
    await admin('PATCH', `${NODES}/node`, { metadata: { labels } });
    expect(await inspect()).toMatchObject({ allowed, hostname: 'host', barred: [], reservedBy: null });
  });

  it('gives the canary no hostname if the label for it is missing', async () => {
    const { admin, inspect } = await stage();
    await admin('PATCH', `${NODES}/node`, { metadata: { labels: null } });
    expect((await inspect()).hostname).toBeNull();
  });

  it('lists what keeps pods off, but not a taint that only discourages them', async () => {
    const { admin, inspect } = await stage();
    const taints = ['NoSchedule', 'NoExecute', 'PreferNoSchedule'].map((effect) => ({ key: `k-${effect}`, effect }));
    await admin('PATCH', `${NODES}/node`, { spec: { taints, unschedulable: true } });
    expect((await inspect()).barred).toEqual([
      'it is cordoned',
      'taint k-NoSchedule:NoSchedule',
      'taint k-NoExecute:NoExecute',
    ]);
  });

  it('has a spare only in its zone, and only if that is Ready, schedulable, and not about to go', async () => {
    const opened = await stage();
    const { admin, inspect } = opened;
    await admin('PATCH', `${NODES}/node/status`, { status: ready });
    const node = (name: string, traits: Parameters<typeof makeNode>[1] = {}) =>
      makeNode(opened, { name, metadata: inZone('a'), status: ready, ...traits });
    await node('spare');
    await node('elsewhere', { metadata: inZone('b') });
    await node('nowhere', { metadata: {} });
    await node('not-ready', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } });
    await node('pressed', { status: { conditions: [{ type: 'DiskPressure', status: 'True' }] } });
    await node('unheard', { status: {} });
    await node('tainted', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } });
    await node('cordoned', { spec: { unschedulable: true } });
    await node('going', { metadata: { ...inZone('a'), finalizers: ['example.com/hold'] } });
    await admin('DELETE', `${NODES}/going`);
    expect((await inspect()).spares).toEqual(['spare']);
  });
});

describe('the pods that a drill would disturb', () => {
  const neighbors = async (make: (opened: Stage) => Promise<unknown>) => {
    const opened = await stage();
    await make(opened);
    return (await opened.inspect()).pods;
  };
  const named = { name: 'pod' };

  it.each([
    ['that nothing creates again', {}, {}, [{ name: 'default/pod', disks: [], bare: true }]],
    ['of a controller', {}, owned('ReplicaSet'), [{ name: 'default/pod', disks: [], bare: false }]],
    ['of a DaemonSet', {}, owned('DaemonSet'), []],
    [
      'of a DaemonSet with a disk',
      usingClaim('data'),
      owned('DaemonSet'),
      [{ name: 'default/pod', disks: ['claim data'], bare: false }],
    ],
    [
      'of a DaemonSet with a disk that its pod brings along',
      { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } }] },
      owned('DaemonSet'),
      [{ name: 'default/pod', disks: ['volume v'], bare: false }],
    ],
    [
      'with a disk without a claim',
      { volumes: [{ name: 'v', awsElasticBlockStore: { volumeID: 'vol-1' } }] },
      {},
      [{ name: 'default/pod', disks: ['volume v'], bare: true }],
    ],
    ['of the kubelet itself', {}, { annotations: { 'kubernetes.io/config.mirror': 'x' } }, []],
  ])('are listed with their disks: a pod %s', async (_case, spec, metadata, found) => {
    expect(await neighbors((opened) => makePod(opened, 'node', spec, { ...named, ...metadata }))).toEqual(found);
  });

  it.each(['configMap', 'secret', 'projected', 'downwardAPI', 'emptyDir', 'hostPath', 'image', 'csi'])(
    'lose nothing with a volume of the kind %s',
    async (kind) => {
      const spec = { volumes: [{ name: 'v', [kind]: kind === 'csi' ? { driver: 'd' } : {} }] };
      expect(await neighbors((opened) => makePod(opened, 'node', spec, named))).toMatchObject([{ disks: [] }]);
    },
  );

  it('are those of this Node that still run, without the canary of this namespace', async () => {
    const found = await neighbors(async (opened) => {
      await makePod(opened, 'node', {}, { name: POD });
      await makePod(opened, 'other', {}, { name: 'others' });
      await makePod(opened, 'node', {}, { name: 'over' });
      await opened.admin('PATCH', `${PODS}/over/status`, { status: { phase: 'Succeeded' } });
      await made(opened, '/api/v1/namespaces/shop/pods', {
        metadata: { name: POD },
        spec: { nodeName: 'node', containers: [{ name: 'main', image: 'pause' }] },
      });
    });
    expect(found).toEqual([{ name: `shop/${POD}`, disks: [], bare: true }]);
  });
});

/** The objects of the canary, bound to a disk that is attached to the Node. */
const makeCanary = async (opened: Stage, drill = canary.drill) => {
  await opened.drill.create({ ...canary, drill }, unhurried());
  const volume = await makeVolume(opened, 'vol-canary', CLAIM);
  await opened.admin('PATCH', `${CLAIMS}/${CLAIM}`, { metadata: madeBy(drill) });
  const pod = await makePod(opened, 'node', usingClaim(CLAIM), { name: POD, ...madeBy(drill) });
  const attachment = attachmentName({ driver: DRIVER, handle: 'vol-canary' }, 'node');
  const { uid } = await makeAttachment(opened, attachment, 'node', volume, 'i-1');
  return { pod, attachment: uid };
};

describe('the attachments to the Node', () => {
  it('are all listed if the drill has no canary', async () => {
    const opened = await stage();
    await makeAttachment(opened, 'csi-1', 'node', 'data');
    await makeAttachment(opened, 'csi-2', 'other', 'elsewhere');
    expect((await opened.inspect()).attachments).toEqual(['data']);
    expect((await opened.inspect('mine')).attachments).toEqual(['data']);
  });

  it('are listed without its own as soon as the drill has a canary', async () => {
    const opened = await stage();
    await makeCanary(opened);
    await makeAttachment(opened, 'csi-1', 'node', 'data');
    const by = (own: string | null) => opened.inspect(own).then(({ attachments }) => [...attachments].sort());
    expect(await by('mine')).toEqual(['data']);
    expect(await by('another')).toEqual([CLAIM, 'data'].sort());
    expect(await by(null)).toEqual([CLAIM, 'data'].sort());
  });

  it('are listed by themselves if a pod names the disk', async () => {
    const opened = await stage();
    const inlineVolumeSpec = { accessModes: ['ReadWriteOnce'], csi: { driver: DRIVER, volumeHandle: 'vol' } };
    await made(opened, '/apis/storage.k8s.io/v1/volumeattachments', {
      metadata: { name: 'csi-inline' },
      spec: { attacher: DRIVER, nodeName: 'node', source: { inlineVolumeSpec } },
    });
    expect((await opened.inspect()).attachments).toEqual(['csi-inline']);
  });
});

describe('what another drill has left behind', () => {
  const all = [`statefulset/${SET}`, `pod/${POD}`, `pvc/${CLAIM}`].map((part) => `${part} in namespace default`);

  it.each([
    ['nobody', null, all],
    ['this drill', 'mine', []],
    ['another drill', 'another', all],
  ] as const)('is everything that is not its own, according to %s', async (_who, own, leftovers) => {
    const opened = await stage();
    expect((await opened.inspect(own)).leftovers).toEqual([]);
    await makeCanary(opened);
    expect((await opened.inspect(own)).leftovers).toEqual(leftovers);
  });
});

describe('the StorageClass of a canary', () => {
  const DEFAULT = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const withClasses = async () => {
    const opened = await stage();
    const add = (name: string, annotations: Record<string, string>, reclaimPolicy: 'Delete' | 'Retain', hour = 0) =>
      opened.server.store.create(
        'storageclasses',
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'StorageClass',
          metadata: { name, annotations },
          provisioner: 'p',
          reclaimPolicy,
        },
        { user: 'admin', at: Date.UTC(2026, 10, 21, hour) },
      );
    return { ...opened, add };
  };

  it('is null if there is no default one', async () => {
    const { add, inspect } = await withClasses();
    add('plain', {}, 'Delete');
    add('former', { 'storageclass.kubernetes.io/is-default-class': 'false' }, 'Delete');
    expect((await inspect()).storageClass).toBeNull();
  });

  it('is the newest if there are several default ones', async () => {
    const { add, inspect } = await withClasses();
    add('middle', DEFAULT, 'Delete', 9);
    add('newest', DEFAULT, 'Delete', 10);
    add('oldest', DEFAULT, 'Delete', 8);
    expect((await inspect()).storageClass).toEqual({ name: 'newest', deletesDisks: true });
  });

  it.each([
    ['Delete', true],
    ['Retain', false],
  ] as const)('is read by its name: its policy %s', async (policy, deletesDisks) => {
    const { add, inspect } = await withClasses();
    add('default', DEFAULT, 'Delete');
    add('fast', {}, policy);
    expect((await inspect(null, 'fast')).storageClass).toEqual({ name: 'fast', deletesDisks });
    expect((await inspect(null, 'gone')).storageClass).toBeNull();
  });
});

const waiting = (reason: object) => ({ name: 'canary', state: { waiting: reason } });
const scheduled = (status: string) => ({ type: 'PodScheduled', status, message: 'no room' });

describe('the canary', () => {
  it('has no objects before the drill creates them', async () => {
    const { drill } = await stage();
    const nothing = { pod: null, volume: null, here: null, there: null };
    expect(await drill.canary(canary, 'node', unhurried())).toEqual(nothing);
  });

  it('is read with its pod, its disk, and the attachment to the Node in question', async () => {
    const opened = await stage();
    const { pod, attachment } = await makeCanary(opened);
    const view = await opened.drill.canary(canary, 'node', unhurried());
    expect(view).toMatchObject({
      pod: { uid: pod.uid, node: 'node', ready: false, deleting: false, waits: null },
      volume: { persistentVolume: CLAIM, driver: DRIVER, handle: 'vol-canary' },
      here: { uid: attachment },
      there: null,
    });
  });

  it('is read on another Node, with the attachments to both', async () => {
    const opened = await stage();
    const { attachment } = await makeCanary(opened);
    await opened.admin('DELETE', `${PODS}/${POD}?gracePeriodSeconds=0`);
    await makePod(opened, 'next', usingClaim(CLAIM), { name: POD });
    const name = attachmentName({ driver: DRIVER, handle: 'vol-canary' }, 'next');
    const { uid } = await makeAttachment(opened, name, 'next', CLAIM);
    const view = await opened.drill.canary(canary, 'node', unhurried());
    expect(view).toMatchObject({ pod: { node: 'next' }, here: { uid: attachment }, there: { uid } });
  });

  it.each([
    ['the reason of a container', { containerStatuses: [waiting({ reason: 'ErrImagePull' })] }, 'ErrImagePull'],
    [
      'the message of a container',
      {
        containerStatuses: [{ name: 'sidecar', state: { running: {} } }, waiting({ reason: 'R', message: 'no image' })],
      },
      'no image',
    ],
    ['the scheduler', { conditions: [scheduled('False')] }, 'no room'],
    ['nothing once it is scheduled', { conditions: [scheduled('True')] }, null],
    ['nothing of another condition', { conditions: [{ type: 'Ready', status: 'False', message: 'not ready' }] }, null],
  ])('waits for %s', async (_for, status, waits) => {
    const opened = await stage();
    await makeCanary(opened);
    await opened.admin('PATCH', `${PODS}/${POD}/status`, { status });
    expect((await opened.drill.canary(canary, 'node', unhurried())).pod).toMatchObject({ waits, ready: false });
  });

  it('is ready, or has ended, as its pod says', async () => {
    const opened = await stage();
    await makeCanary(opened);
    const conditions = [{ type: 'PodScheduled', status: 'False' }, ...ready.conditions];
    await opened.admin('PATCH', `${PODS}/${POD}/status`, { status: { conditions } });
    expect((await opened.drill.canary(canary, 'node', unhurried())).pod).toMatchObject({
      ready: true,
      deleting: false,
    });
    await opened.admin('DELETE', `${PODS}/${POD}`);
    expect((await opened.drill.canary(canary, 'node', unhurried())).pod).toMatchObject({ deleting: true });
  });

  it('prefers its Node, takes its disk with it, and runs under the strictest rules for pods', async () => {
    const { drill, server } = await stage();
    await drill.create({ ...canary, storageClass: 'fast' }, unhurried());
    expect(server.store.get('statefulsets', SET, 'default')).toMatchObject({
      metadata: madeBy('mine'),
      spec: {
        replicas: 1,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
        template: {
          metadata: madeBy('mine'),
          spec: {
            automountServiceAccountToken: false,
            securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
            affinity: {
              nodeAffinity: {
                preferredDuringSchedulingIgnoredDuringExecution: [
                  {
                    preference: {
                      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['host'] }],
                    },
                  },
                ],
              },
            },
            containers: [
              {
                image: 'example.org/pause:1',
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ['ALL'] },
                },
                volumeMounts: [{ name: 'data' }],
              },
            ],
          },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data', ...madeBy('mine') },
            spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast' },
          },
        ],
      },
    });
  });

  it('leaves the StorageClass to the cluster if nobody names one', async () => {
    const { drill, sent } = await stage();
    await drill.create(canary, unhurried());
    expect(sent('POST').at(-1)?.body).not.toContain('storageClassName');
  });
});

describe('the removal of a canary', () => {
  const volume = { persistentVolume: CLAIM, driver: DRIVER, handle: 'vol-canary' };
  const standing = ({ server: { store } }: Stage) => [
    store.get('statefulsets', SET, 'default')?.metadata.name,
    store.get('pods', POD, 'default')?.metadata.name,
    store.get('persistentvolumeclaims', CLAIM, 'default')?.metadata.name,
  ];

  it('deletes what the drill created, lists what is left, and ends if nothing is left', async () => {
    const opened = await stage();
    await makeCanary(opened);
    const remove = () => opened.drill.remove(canary, volume, unhurried());
    expect(await remove()).toEqual([`pod/${POD} in namespace default`, `pv/${CLAIM} with vol-canary`]);
    await opened.admin('DELETE', `${PODS}/${POD}?gracePeriodSeconds=0`);
    await opened.admin('DELETE', `${VOLUMES}/${CLAIM}`);
    expect(await remove()).toEqual([]);
    expect(standing(opened)).toEqual([undefined, undefined, undefined]);
  });

  it('deletes the StatefulSet before the pod, which it would recreate, and each only by its uid', async () => {
    const opened = await stage();
    const { pod } = await makeCanary(opened);
    await opened.drill.remove(canary, null, unhurried());
    const deletes = opened.sent('DELETE').map(({ path, body }) => ({ path: path.split('?')[0], body }));
    expect(deletes.map(({ path }) => path)).toEqual([`${SETS}/${SET}`, `${PODS}/${POD}`, `${CLAIMS}/${CLAIM}`]);
    expect(deletes[1]?.body).toContain(pod.uid);
    for (const { body } of deletes)
      expect(JSON.parse(body)).toEqual({
        preconditions: { uid: expect.stringMatching(/^0/) },
        propagationPolicy: 'Background',
      });
  });

  it('deletes nothing that another drill has created', async () => {
    const opened = await stage();
    await makeCanary(opened, 'another');
    expect(await opened.drill.remove(canary, null, unhurried())).toEqual([]);
    expect(standing(opened)).toEqual([SET, POD, CLAIM]);
    expect(opened.sent('DELETE')).toEqual([]);
  });

  it.each([
    ['has gone', 404, { reason: 'NotFound', details: { name: POD } }],
    ['is another one', 409, { reason: 'Conflict' }],
  ])('continues if a part %s meanwhile', async (_case, code, status) => {
    const answer = {
      status: code,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'Status', code, ...status }),
    };
    const opened = await stage({
      before: ({ method, path }) => (method === 'DELETE' && path.startsWith(PODS) ? answer : undefined),
    });
    await makeCanary(opened);
    await opened.drill.remove(canary, null, unhurried());
    expect(standing(opened)).toEqual([undefined, POD, undefined]);
  });

  it('fails if the API server declines it', async () => {
    const answer = { status: 403, headers: {}, body: '' };
    const opened = await stage({ before: ({ method }) => (method === 'DELETE' ? answer : undefined) });
    await makeCanary(opened);
    await expect(opened.drill.remove(canary, null, unhurried())).rejects.toThrow(/403/);
  });

  it('has one command for the canary of one drill, and one for any canary', async () => {
    const { drill } = await stage();
    expect(drill.removeCommand({ namespace: 'shop' }, 'mine')).toBe(
      'kubectl -n shop delete statefulset,pvc -l cloudfence.dev/drill=mine',
    );
    expect(drill.removeCommand({ namespace: 'shop' }, null)).toBe(
      `kubectl -n shop delete statefulset/${SET} pvc/${CLAIM} --ignore-not-found`,
    );
    expect(drill.allowCommand('n')).toBe(
      'kubectl label node n cloudfence.node-restriction.kubernetes.io/drill=allowed',
    );
    expect(drill.freeCommand('n')).toBe(`kubectl label node n ${RESERVED}-`);
  });
});

describe('the reservation of a Node', () => {
  const holder = ({ server: { store } }: Stage) => store.get('nodes', 'node')?.metadata.labels?.[RESERVED];
  const label = ({ admin }: Stage, drill: string | null) =>
    admin('PATCH', `${NODES}/node`, { metadata: { labels: { [RESERVED]: drill } } });
  const reserve = ({ drill, node }: Stage, uid = node.uid) =>
    drill.reserve({ name: 'node', uid, drill: 'mine' }, unhurried());

  it('is written once, and can be read', async () => {
    const opened = await stage();
    await reserve(opened);
    await reserve(opened);
    expect([holder(opened), (await opened.inspect()).reservedBy]).toEqual(['mine', 'mine']);
    expect(opened.sent('PATCH').filter(({ path }) => path.startsWith(NODES))).toHaveLength(1);
  });

  it('never replaces that of another drill', async () => {
    const opened = await stage();
    await label(opened, 'another');
    await expect(reserve(opened)).rejects.toThrow(Refused);
    await expect(reserve(opened)).rejects.toThrow('another drill (another) has just reserved Node node');
    expect(holder(opened)).toBe('another');
  });

  it('is not written on another Node of that name, or if there is none', async () => {
    const opened = await stage();
    await expect(reserve(opened, 'a-former-uid')).rejects.toThrow('Node node is gone, or is another one by now');
    await opened.admin('DELETE', `${NODES}/node`);
    await expect(reserve(opened)).rejects.toThrow('Node node is gone, or is another one by now');
    expect(opened.sent('PATCH').filter(({ path }) => path.startsWith(NODES))).toEqual([]);
  });

  /** Something writes to the Node right before each of this many patches of the drill. */
  const contested = async (times: number, write: (opened: Stage) => Promise<unknown>) => {
    let left = times;
    const writes: Promise<unknown>[] = [];
    const opened: Stage = await stage({
      before: ({ method, path, headers }) => {
        const isDrills = headers['content-type']?.includes('json-patch');
        if (method !== 'PATCH' || !path.startsWith(NODES) || !isDrills || left === 0) return undefined;
        left -= 1;
        writes.push(write(opened));
        return undefined;
      },
    });
    return opened;
  };
  const change = ({ server: { store } }: Stage, metadata: Partial<ObjectMeta>): Promise<void> => {
    const node = store.get('nodes', 'node');
    if (node) store.update('nodes', { ...node, metadata: { ...node.metadata, ...metadata } }, { user: 'x', at: 0 });
    return Promise.resolve();
  };
  const takeOver = (opened: Stage) => change(opened, { labels: { [RESERVED]: 'another' } });
  let beats = 0;
  const beat = (opened: Stage) => change(opened, { annotations: { beat: `${(beats += 1)}` } });

  it('is written although the kubelet writes in between', async () => {
    const opened = await contested(4, beat);
    await reserve(opened);
    expect(holder(opened)).toBe('mine');
  });

  it('is given up if the kubelet does not stop to write', async () => {
    const opened = await contested(100, beat);
    await expect(reserve(opened)).rejects.toThrow(Refused);
    expect(opened.sent('PATCH')).toHaveLength(5);
    expect(holder(opened)).toBeUndefined();
  });

  it('belongs to the other drill if that was faster', async () => {
    const opened = await contested(1, takeOver);
    await expect(reserve(opened)).rejects.toThrow('another drill (another) has just reserved Node node');
    expect(holder(opened)).toBe('another');
  });

  it('fails at once if the API server rejects it for another reason', async () => {
    const answer = { status: 403, headers: {}, body: '' };
    const opened = await stage({ before: ({ method }) => (method === 'PATCH' ? answer : undefined) });
    await expect(reserve(opened)).rejects.toThrow(/403/);
    expect(opened.sent('PATCH')).toHaveLength(1);
  });

  it.each([
    ['of this drill', 'mine', undefined, 1],
    ['of another drill', 'another', 'another', 0],
    ['of nobody', null, undefined, 0],
  ])('ends if it is that %s', async (_whose, drill, left, writes) => {
    const opened = await stage();
    await label(opened, drill);
    await opened.drill.free({ name: 'node', drill: 'mine' }, unhurried());
    expect(holder(opened)).toBe(left);
    expect(opened.sent('PATCH').filter(({ path }) => path.startsWith(NODES))).toHaveLength(writes);
  });

  it('stays if another drill takes it right before the end', async () => {
    const opened = await contested(1, takeOver);
    await label(opened, 'mine');
    await expect(opened.drill.free({ name: 'node', drill: 'mine' }, unhurried())).rejects.toThrow(Refused);
    expect(holder(opened)).toBe('another');
  });

  it('has ended if its Node is gone', async () => {
    const opened = await stage();
    await opened.admin('DELETE', `${NODES}/node`);
    await opened.drill.free({ name: 'node', drill: 'mine' }, unhurried());
    expect(opened.sent('PATCH').filter(({ path }) => path.startsWith(NODES))).toEqual([]);
  });
});
