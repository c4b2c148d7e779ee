import { describe, expect, it } from 'vitest';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { LookRequest } from '../../fencing/model/cluster.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { FENCED_LABEL, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import {
  ATTACHMENTS,
  CLAIMS,
  DRIVER,
  fresh,
  made,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  NODES,
  queryFor,
  recordFor,
  unhurried,
  usingClaim,
} from '../contract/cluster/harness.ts';
import { adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { clusterOver, faultyCluster, patientClock } from './wire.ts';

/** What a look does not read, because something else that it reads shows the same. */

const stage = () => {
  const calls: string[] = [];
  const cluster = faultyCluster({
    before: ({ method, path }) => {
      calls.push(`${method} ${path.split('?', 1)[0] ?? ''}`);
      return undefined;
    },
  });
  const look = async (machine: string, node: string, request: Partial<LookRequest> = {}) => {
    calls.length = 0;
    const facts = await cluster.cluster.look(
      { query: queryFor(machine), node, remembered: null, successorsOf: [], ...request },
      unhurried(),
    );
    return { facts, calls: [...calls] };
  };
  return { ...cluster, look };
};

/** A pod with a claim, on a Node whose status reports the volume as attached. */
const attachedPod = async (phase: 'Bound' | 'Pending', attacher = DRIVER) => {
  const scene = stage();
  const [machine, handle] = [fresh('i'), fresh('vol')];
  const node = await makeNode(scene, { machine });
  const volume = await makeVolume(scene, handle);
  await scene.admin('PATCH', `${CLAIMS}/${volume}/status`, { status: { phase } });
  await made(scene, ATTACHMENTS, {
    metadata: { name: attachmentName({ driver: DRIVER, handle }, node.name) },
    spec: { attacher, nodeName: node.name, source: { persistentVolumeName: volume } },
  });
  const status = { volumesAttached: [{ name: `kubernetes.io/csi/${DRIVER}^${handle}`, devicePath: '' }] };
  await scene.admin('PATCH', `${NODES}/${node.name}/status`, { status });
  await makePod(scene, node.name, usingClaim(volume));
  return { ...scene, machine, node: node.name, handle, volume };
};

describe('the PersistentVolume of a claim', () => {
  it.each([
    ['is not read if the claim is bound and the attachment shows the volume', 'Bound', DRIVER, 0],
    ['is read if the claim does not say that it is bound', 'Pending', DRIVER, 1],
    ['is read if the attachment belongs to another driver', 'Bound', 'another.driver', 1],
  ] as const)('%s', async (_, phase, attacher, reads) => {
    const { look, machine, node, handle, volume } = await attachedPod(phase, attacher);
    const { facts, calls } = await look(machine, node);
    expect(calls.filter((call) => call.startsWith('GET /api/v1/persistentvolumes/'))).toHaveLength(reads);
    expect(facts.pods).toMatchObject([{ volumes: [`${DRIVER}^${handle}`], unresolved: [] }]);
    expect(facts.volumes).toMatchObject([{ handle, persistentVolume: volume, pvc: `default/${volume}` }]);
  });
});

it('an attachment of another driver does not replace the PersistentVolume of a volume without a claim', async () => {
  const { look, ...scene } = stage();
  const [machine, handle] = [fresh('i'), fresh('vol')];
  const node = await makeNode(scene, { machine });
  const other = await makeVolume(scene, fresh('vol'));
  await made(scene, ATTACHMENTS, {
    metadata: { name: attachmentName({ driver: DRIVER, handle }, node.name) },
    spec: { attacher: 'another.driver', nodeName: node.name, source: { persistentVolumeName: other } },
  });
  const status = { volumesAttached: [{ name: `kubernetes.io/csi/${DRIVER}^${handle}`, devicePath: '' }] };
  await scene.admin('PATCH', `${NODES}/${node.name}/status`, { status });
  expect((await look(machine, node.name)).facts.volumes).toMatchObject([{ handle, persistentVolume: null }]);
});

it.each([
  ['another claim', { namespace: 'default', name: 'another' }],
  ['a claim of that name in another namespace', { namespace: 'shop', name: 'data' }],
  ['no claim', null],
])('a claim does not lead to the volume that it names if that volume is bound to %s', async (_whose, claimRef) => {
  const { look, ...scene } = stage();
  await makeNode(scene, { name: 'node', machine: 'i-1' });
  await makeVolume(scene, 'vol-1', 'data');
  await scene.admin('PATCH', '/api/v1/persistentvolumes/data', { spec: { claimRef: null } });
  await scene.admin('PATCH', '/api/v1/persistentvolumes/data', { spec: { claimRef } });
  await makePod(scene, 'node', { ...usingClaim('data'), tolerations: [{ operator: 'Exists' }] });
  const { facts } = await look('i-1', 'node');
  expect(facts.pods).toMatchObject([{ volumes: [], unresolved: ['default/data'] }]);
});

const PV = 'GET /api/v1/persistentvolumes/';
const LIST = 'GET /api/v1/namespaces/default/pods';
const reportedOn = (node: string, handles: readonly string[]) =>
  [
    `${NODES}/${node}/status`,
    { status: { volumesInUse: handles.map((handle) => `kubernetes.io/csi/${DRIVER}^${handle}`) } },
  ] as const;

it('no PersistentVolume is read if the attachment of each shows it, whether a pod claims it or not', async () => {
  const { look, ...scene } = stage();
  const node = await makeNode(scene, { name: 'node', machine: 'i-1' });
  const handles = ['vol-1', 'vol-2', 'vol-3'];
  for (const handle of handles) {
    await makeVolume(scene, handle, `data-${handle}`);
    await scene.admin('PATCH', `${CLAIMS}/data-${handle}/status`, { status: { phase: 'Bound' } });
    await makeAttachment(scene, attachmentName({ driver: DRIVER, handle }, 'node'), 'node', `data-${handle}`, 'i-1');
    if (handle !== 'vol-3') await makePod(scene, 'node', usingClaim(`data-${handle}`));
  }
  await scene.admin('PATCH', ...reportedOn(node.name, handles));
  const { facts, calls } = await look('i-1', 'node');
  expect(calls.filter((call) => call.startsWith(PV))).toEqual([]);
  expect(facts.volumes.map(({ handle, persistentVolume, pvc }) => [handle, persistentVolume, pvc])).toEqual([
    ['vol-1', 'data-vol-1', 'default/data-vol-1'],
    ['vol-2', 'data-vol-2', 'default/data-vol-2'],
    ['vol-3', 'data-vol-3', null],
  ]);
});

it('a record that gives one volume many names costs five reads, and the volume is found', async () => {
  const { look, ...scene } = stage();
  const node = await makeNode(scene, { name: 'node', machine: 'i-1' });
  await makeVolume(scene, 'vol-1', 'data');
  await makePod(scene, 'node', usingClaim('data'));
  const volumes = Array.from({ length: 20 }, (_, at) => ({
    driver: DRIVER,
    handle: 'vol-1',
    persistentVolume: `made-up-${at}`,
    attachment: '',
  }));
  const { facts, calls } = await look('i-1', 'node', { remembered: recordFor(node, 'i-1', { volumes }) });
  expect(facts.volumes).toMatchObject([{ persistentVolume: 'data' }]);
  expect(calls.filter((call) => call.startsWith(PV) && call.includes('made-up'))).toHaveLength(4);
});

describe('the Node of the pod that uses a volume now', () => {
  /** A volume of a Node that the look is to follow, and the names of the pods that its fence has recorded. */
  const followed = async (
    pods: readonly (readonly [namespace: string, name: string])[],
    more: readonly string[] = [],
  ) => {
    const scene = stage();
    const node = await makeNode(scene, { name: 'node', machine: 'i-1' });
    await makeVolume(scene, 'vol-1', 'data');
    const record = recordFor(node, 'i-1', {
      volumes: [
        { driver: DRIVER, handle: 'vol-1', persistentVolume: 'data', attachment: '' },
        ...more.map((name) => ({ driver: DRIVER, handle: `vol-${name}`, persistentVolume: name, attachment: '' })),
      ],
      pods: pods.map(([namespace, name]) => ({ namespace, name, uid: `old-${name}` })),
    });
    await scene.admin('PATCH', `${NODES}/node`, {
      metadata: {
        annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) },
        labels: { [FENCED_LABEL]: record.fence },
      },
    });
    const next = (node: string) =>
      makeAttachment(scene, attachmentName({ driver: DRIVER, handle: 'vol-1' }, node), node, 'data');
    const successorsOf = ['1', ...more].map((name) => `${DRIVER}^vol-${name}`);
    const find = () => scene.look('i-1', 'node', { successorsOf });
    return { ...scene, next, find };
  };
  const byName = (calls: readonly string[]) => calls.filter((call) => /\/namespaces\/[a-z]+\/pods\//.test(call));
  const lists = (calls: readonly string[]) =>
    calls.filter((call) => call.endsWith('/pods') && call.includes('/namespaces/'));

  it('is not that of a pod without a Node, or of a pod that has ended', async () => {
    const { next, find, ...scene } = await followed([]);
    const { uid } = await next('next');
    await makePod(scene, '', { ...usingClaim('data'), nodeName: undefined }, { name: 'a-waiting' });
    await makePod(scene, 'former', usingClaim('data'), { name: 'b-over' });
    await scene.admin('PATCH', '/api/v1/namespaces/default/pods/b-over/status', { status: { phase: 'Succeeded' } });
    await makePod(scene, 'next', usingClaim('data'), { name: 'c-runs' });
    expect((await find()).facts.volumes).toMatchObject([{ successor: { uid } }]);
  });

  it.each([
    [3, 3, 0],
    [4, 0, 1],
  ])('is read by the names of %i old pods: %i reads and %i lists', async (count, reads, most) => {
    const names = Array.from({ length: count }, (_, at) => `db-${at}`);
    const { next, find, ...scene } = await followed(names.map((name) => ['default', name] as const));
    const { uid } = await next('next');
    await makePod(scene, 'next', usingClaim('data'), { name: 'db-0' });
    const { facts, calls } = await find();
    expect(facts.volumes).toMatchObject([{ successor: { uid } }]);
    expect([byName(calls), lists(calls)].map((some) => some.length)).toEqual([reads, most]);
  });

  it('is found in the list if the pod of the old name uses another claim', async () => {
    const { next, find, ...scene } = await followed([['default', 'db-0']]);
    const { uid } = await next('next');
    await makePod(scene, 'other', usingClaim('other'), { name: 'db-0' });
    await makePod(scene, 'next', usingClaim('data'), { name: 'web' });
    expect((await find()).facts.volumes).toMatchObject([{ successor: { uid } }]);
  });

  it('is found for each of several volumes, on whichever page of the list the pod is', async () => {
    const { next, find, ...scene } = await followed([], ['more']);
    await makeVolume(scene, 'vol-more', 'more');
    await makePod(scene, 'next', usingClaim('more'), { name: 'a-first' });
    for (let pod = 0; pod < 500; pod += 1) await makePod(scene, 'next', {}, { name: `b-${pod}` });
    await makePod(scene, 'next', usingClaim('data'), { name: 'c-last' });
    const { uid } = await next('next');
    const { facts } = await find();
    expect(facts.volumes.find(({ handle }) => handle === 'vol-1')).toMatchObject({ successor: { uid } });
  });

  it('is not read by the names of pods in another namespace', async () => {
    const { find } = await followed([
      ['shop', 'web'],
      ['default', 'db-0'],
    ]);
    expect(byName((await find()).calls)).toEqual(['GET /api/v1/namespaces/default/pods/db-0']);
  });

  it.each([
    ['first', 'a-user', 1],
    ['second', 'z-user', 2],
  ])('is found on the %s page of many pods, and no further page is read', async (_page, name, most) => {
    const { next, find, server, ...scene } = await followed([]);
    for (let at = 0; at < 1_100; at += 1)
      server.store.create(
        'pods',
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { namespace: 'default', name: `${at < 600 ? 'm' : 'zz'}-${at}` },
          spec: { nodeName: 'other', containers: [] },
          status: {},
        },
        { user: 'admin', at: 0 },
      );
    const { uid } = await next('next');
    await makePod(scene, 'next', usingClaim('data'), { name });
    const { facts, calls } = await find();
    expect(facts.volumes).toMatchObject([{ successor: { uid } }]);
    expect(lists(calls)).toHaveLength(most);
  });
});

describe('the pods that use the volumes of a Node', () => {
  const listsFor = async (phase: 'fencing' | 'fenced' | null, attached: readonly string[]) => {
    const scene = stage();
    const node = await makeNode(scene, { name: 'node', machine: 'i-1' });
    const handles = ['vol-1', 'vol-2'];
    for (const handle of handles) await makeVolume(scene, handle, `data-${handle}`);
    for (const handle of attached)
      await makeAttachment(scene, attachmentName({ driver: DRIVER, handle }, 'node'), 'node', `data-${handle}`, 'i-1');
    const volumes = handles.map((handle) => ({
      driver: DRIVER,
      handle,
      persistentVolume: `data-${handle}`,
      attachment: '',
    }));
    const record = recordFor(node, 'i-1', { volumes, phase: phase ?? 'fencing' });
    if (phase !== null)
      await scene.admin('PATCH', `${NODES}/node`, {
        metadata: {
          annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) },
          labels: { [FENCED_LABEL]: record.fence },
        },
      });
    const { facts, calls } = await scene.look('i-1', 'node', { remembered: record });
    expect(facts.volumes).toHaveLength(2);
    return calls.filter((call) => call === LIST).length;
  };

  it.each([
    ['a fence is unfinished, and nothing is attached any more', 'fencing', [], 1],
    ['one volume is still attached', 'fencing', ['vol-1'], 0],
    ['both volumes are still attached', 'fencing', ['vol-1', 'vol-2'], 0],
    ['the fence has ended', 'fenced', [], 0],
    ['there is no fence', null, [], 0],
  ] as const)('are listed only if that matters: %s', async (_case, phase, attached, most) => {
    expect(await listsFor(phase, attached)).toBe(most);
  });
});

/** A fenced Node whose volume is free, and a new pod on another Node that uses it. */
const movedPod = async (oldName: string, newName: string) => {
  const scene = stage();
  const [machine, handle] = [fresh('i'), fresh('vol')];
  const node = await makeNode(scene, { machine });
  const volume = await makeVolume(scene, handle);
  const record = recordFor(node, machine, {
    volumes: [{ driver: DRIVER, handle, persistentVolume: volume, attachment: 'gone' }],
    pods: [{ namespace: 'default', name: oldName, uid: 'old' }],
  });
  await scene.admin('PATCH', `${NODES}/${node.name}`, {
    metadata: {
      annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) },
      labels: { [FENCED_LABEL]: record.fence },
    },
  });
  const next = fresh('node');
  await makePod(scene, next, usingClaim(volume), { name: newName });
  const { uid } = await makeAttachment(scene, attachmentName({ driver: DRIVER, handle }, next), next, volume);
  const { facts, calls } = await scene.look(machine, node.name);
  return { uid, facts, lists: calls.filter((call) => call === 'GET /api/v1/namespaces/default/pods') };
};

describe('the new attachment of a volume', () => {
  it.each([
    ['is found by the name of the old pod', 'db-0', 'db-0', 0],
    ['is found in the list of pods if the new pod has another name', 'web-a', 'web-b', 1],
  ])('%s', async (_, oldName, newName, most) => {
    const { uid, facts, lists } = await movedPod(oldName, newName);
    expect(facts.volumes).toMatchObject([{ attachment: null, successor: { uid } }]);
    expect(lists).toHaveLength(most);
  });
});

describe('what a look has read for a reservation', () => {
  const SETTINGS = '/api/v1/namespaces/kube-system/configmaps';
  const lifted = { 'cap-lifted-until': '2026-11-22T10:00:00Z', 'cap-lifted-because': 'a storm' };

  /** A look for a reservation while a person overrides the cap. The override ends right after it. */
  const admittedAfter = async (ms: number): Promise<boolean> => {
    const clock = patientClock();
    const server = sandboxServer({ now: clock.now });
    const scene = { cluster: clusterOver(inProcess(server), clock), admin: adminOf(server), now: clock.now };
    const [machine, first] = [fresh('i'), fresh('i')];
    const node = await makeNode(scene, { machine });
    await made(scene, SETTINGS, { metadata: { name: 'cloudfence' }, data: lifted });
    const reserve = (of: string) =>
      scene.cluster.reserve({ machine: of, boot: 'b', cap: defaultPolicy.cap, onlyAsked: false }, unhurried());
    await reserve(first);
    const request = {
      query: queryFor(machine),
      node: node.name,
      remembered: null,
      successorsOf: [],
      beforeReservation: true,
    };
    await scene.cluster.look(request, unhurried());
    await scene.admin('PATCH', `${SETTINGS}/cloudfence`, { data: { 'cap-lifted-until': null } });
    await clock.sleep(ms, unhurried());
    return (await reserve(machine)).admitted;
  };

  it('contains the ledger only for the first question: the next one counts what the first has reserved', async () => {
    const clock = patientClock();
    const server = sandboxServer({ now: clock.now });
    const scene = { cluster: clusterOver(inProcess(server), clock), admin: adminOf(server), now: clock.now };
    const machine = fresh('i');
    const { name } = await makeNode(scene, { machine });
    const request = {
      query: queryFor(machine),
      node: name,
      remembered: null,
      successorsOf: [],
      beforeReservation: true,
    };
    await scene.cluster.look(request, unhurried());
    const ask = (of: string, onlyAsked: boolean) =>
      scene.cluster.reserve({ machine: of, boot: 'b', cap: defaultPolicy.cap, onlyAsked }, unhurried());
    expect(await ask(machine, false)).toMatchObject({ admitted: true });
    expect(await ask(fresh('i'), true)).toMatchObject({ admitted: false, begun: 1 });
  });

  it('is used for one second', async () => {
    expect([await admittedAfter(900), await admittedAfter(1_100)]).toEqual([true, false]);
  });
});
