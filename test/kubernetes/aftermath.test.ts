import { describe, expect, it } from 'vitest';
import { ClusterUnavailable } from '../../fencing/model/errors.ts';
import type { AftermathQuery } from '../../incidents/watch.ts';
import { attachmentName } from '../../kubernetes/attachments.ts';
import { openConnection } from '../../kubernetes/cluster.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { FENCED_LABEL } from '../../kubernetes/names.ts';
import { createAftermathReading } from '../../kubernetes/readings/aftermath.ts';
import {
  ATTACHMENTS,
  DRIVER,
  makeAttachment,
  makeNode,
  makePod,
  makeVolume,
  NODES,
  PODS,
  unhurried,
  usingClaim,
} from '../contract/cluster/harness.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { faultyCluster, patientClock } from './wire.ts';

/** What a look long after a run shows. From these answers, the report calculates the time that Cloudfence saved. */

const OFF = Date.UTC(2026, 10, 21, 9, 59);
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const phases: AftermathQuery['phases'] = {
  off: iso(OFF),
  event: null,
  received: null,
  proven: null,
  marked: null,
  podsDeleted: null,
  attachmentsGone: null,
  disksFreed: null,
  attachedElsewhere: null,
  running: null,
  fenced: null,
  lifted: null,
  released: null,
  returned: null,
};

const stage = () => {
  const paths: string[] = [];
  const opened = faultyCluster({ before: ({ path }) => void paths.push(path) });
  const link = transportLink(inProcess(opened.server), FENCE_TOKEN);
  const read = createAftermathReading('test', openConnection({ name: 'test', link, clock: patientClock() }));
  const look = (query: Partial<AftermathQuery> = {}) =>
    read({ node: 'old', nodeUid: 'uid', bootID: 'boot-1', volumes: [], pods: [], phases, ...query }, unhurried());
  return { ...opened, look, paths };
};

type Stage = ReturnType<typeof stage>;

const on = (handle: string, node: string): string => attachmentName({ driver: DRIVER, handle }, node);
const volumeOf = (handle: string, persistentVolume: string | null = `data-${handle}`) => ({
  driver: DRIVER,
  handle,
  persistentVolume,
  attachment: '',
});
const readyAt = (ms: number, status: 'True' | 'False' = 'True') => ({
  conditions: [
    { type: 'PodScheduled', status: 'True' as const, lastTransitionTime: iso(OFF + 1_000) },
    { type: 'Ready', status, lastTransitionTime: iso(ms) },
  ],
});

/** A pod that uses the volume on another Node, to which it is attached. */
const moved = async (opened: Stage, handle: string, since: number, attached = true) => {
  await makeVolume(opened, handle, `data-${handle}`);
  await makePod(opened, 'new', usingClaim(`data-${handle}`), { name: `user-${handle}` });
  await opened.admin('PATCH', `${PODS}/user-${handle}/status`, { status: readyAt(since) });
  await makeAttachment(opened, on(handle, 'new'), 'new', `data-${handle}`);
  await opened.admin('PATCH', `${ATTACHMENTS}/${on(handle, 'new')}/status`, { status: { attached } });
};

describe('the volumes of a dead machine', () => {
  it('are not detached, attached, or running anywhere if it had none', async () => {
    expect(await stage().look()).toEqual({
      detached: false,
      attachedElsewhere: false,
      runningSince: null,
      returnedSince: null,
      fenced: false,
      nodeGone: true,
    });
  });

  it('are detached once no attachment to the old Node is left', async () => {
    const opened = stage();
    for (const handle of ['a', 'b']) await makeAttachment(opened, on(handle, 'old'), 'old', `data-${handle}`);
    const volumes = [volumeOf('a'), volumeOf('b')];
    expect(await opened.look({ volumes })).toMatchObject({ detached: false });
    await opened.admin('DELETE', `${ATTACHMENTS}/${on('a', 'old')}`);
    expect(await opened.look({ volumes })).toMatchObject({ detached: false });
    await opened.admin('DELETE', `${ATTACHMENTS}/${on('b', 'old')}`);
    expect(await opened.look({ volumes })).toMatchObject({ detached: true, attachedElsewhere: false });
  });

  it('run elsewhere since the time at which the last of their pods became ready', async () => {
    const opened = stage();
    await moved(opened, 'a', OFF + 9_000);
    await moved(opened, 'b', OFF + 5_000);
    const volumes = [volumeOf('a'), volumeOf('b')];
    expect(await opened.look({ volumes })).toMatchObject({ attachedElsewhere: true, runningSince: OFF + 9_000 });
    expect(await opened.look({ volumes: volumes.toReversed() })).toMatchObject({ runningSince: OFF + 9_000 });
  });

  it.each([
    ['is not attached yet', (opened: Stage) => moved(opened, 'b', OFF + 5_000, false)],
    ['has no pod elsewhere', (opened: Stage) => makeVolume(opened, 'b', 'data-b')],
    ['has no volume any more', async () => undefined],
  ])('do not run elsewhere while one of them %s', async (_case, make) => {
    const opened = stage();
    await moved(opened, 'a', OFF + 9_000);
    await make(opened);
    expect(await opened.look({ volumes: [volumeOf('a'), volumeOf('b')] })).toMatchObject({
      attachedElsewhere: false,
      runningSince: null,
    });
  });

  it('are attached elsewhere but do not run while a pod is not ready', async () => {
    const opened = stage();
    await moved(opened, 'a', OFF + 9_000);
    await opened.admin('PATCH', `${PODS}/user-a/status`, { status: readyAt(OFF + 9_000, 'False') });
    expect(await opened.look({ volumes: [volumeOf('a')] })).toMatchObject({
      attachedElsewhere: true,
      runningSince: null,
    });
  });

  it('are not found elsewhere if nobody wrote the name of their PersistentVolume', async () => {
    const opened = stage();
    await moved(opened, 'a', OFF + 9_000);
    const found = await opened.look({ volumes: [volumeOf('a', null)] });
    expect(found).toMatchObject({ detached: true, attachedElsewhere: false, runningSince: null });
  });

  it('are read up to the number that a Node can have, whatever a kubelet lists', async () => {
    const { look, paths } = stage();
    const volumes = Array.from({ length: 1_000 }, (_, at) => volumeOf(`${at}`));
    await look({ volumes });
    expect(paths.filter((path) => path.startsWith('/api/v1/persistentvolumes/'))).toHaveLength(128);
    expect(paths.filter((path) => path.startsWith(ATTACHMENTS))).toHaveLength(128);
  });
});

describe('the pods without volumes', () => {
  const old = (name: string, owner: string | null, namespace = 'default') => ({
    namespace,
    name,
    uid: `uid-${name}`,
    replacedBy: owner,
  });
  const ownedBy = (uid: string) => ({
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'o', uid, controller: true }],
  });
  /** A pod of a controller on a Node, created and ready at these times. */
  const pod = async (
    { server }: Stage,
    name: string,
    { owner = 'web', node = 'new', made = OFF + 2_000, since = OFF + 5_000, namespace = 'default' } = {},
  ) =>
    server.store.create(
      'pods',
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace, name, ...ownedBy(owner) },
        spec: { nodeName: node, containers: [] },
        status: readyAt(since),
      },
      { user: 'admin', at: made },
    );

  it('run again since the last of their replacements became ready', async () => {
    const opened = stage();
    await pod(opened, 'web-2', { since: OFF + 9_000 });
    const pods = [old('web-a', 'web'), old('web-b', 'web')];
    expect(await opened.look({ pods })).toMatchObject({ runningSince: null });
    expect(await opened.look({ pods: pods.slice(1) })).toMatchObject({ runningSince: OFF + 9_000 });
    await pod(opened, 'web-3', { since: OFF + 4_000 });
    expect(await opened.look({ pods })).toMatchObject({ runningSince: OFF + 9_000 });
    expect(await opened.look({ pods: pods.slice(1) })).toMatchObject({ runningSince: OFF + 4_000 });
  });

  it.each([
    ['of another controller', { owner: 'other' }],
    ['on the old Node', { node: 'old' }],
    ['without a Node', { node: '' }],
    ['that is older than the stop', { made: OFF - 1_000 }],
    ['of another namespace', { namespace: 'shop' }],
  ])('are not replaced by a pod %s', async (_which, traits) => {
    const opened = stage();
    await pod(opened, 'web-2', traits);
    expect(await opened.look({ pods: [old('web-a', 'web')] })).toMatchObject({ runningSince: null });
  });

  it('may be replaced within the second of the stop, because the API server writes whole seconds', async () => {
    const opened = stage();
    await pod(opened, 'web-2', { made: OFF });
    const later = { ...phases, off: new Date(OFF + 900).toISOString() };
    expect(await opened.look({ pods: [old('web-a', 'web')], phases: later })).toMatchObject({
      runningSince: OFF + 5_000,
    });
  });

  it('count from the receipt of the event if nobody knows when the machine went off', async () => {
    const opened = stage();
    await pod(opened, 'web-2');
    const received = (ms: number) => ({ ...phases, off: null, received: iso(ms) });
    const pods = [old('web-a', 'web')];
    expect(await opened.look({ pods, phases: received(OFF) })).toMatchObject({ runningSince: OFF + 5_000 });
    expect(await opened.look({ pods, phases: received(OFF + 60_000) })).toMatchObject({ runningSince: null });
  });

  it('are not replaced by themselves', async () => {
    const opened = stage();
    const made = await pod(opened, 'web-2');
    const itself = { ...old('web-2', 'web'), uid: made?.metadata.uid ?? '' };
    expect(await opened.look({ pods: [itself] })).toMatchObject({ runningSince: null });
  });

  it('are followed in each of their namespaces, but only if a controller replaces them', async () => {
    const opened = stage();
    await pod(opened, 'web-2');
    await pod(opened, 'cart-2', { namespace: 'shop', owner: 'cart', since: OFF + 7_000 });
    const pods = [old('web-a', 'web'), old('cart-a', 'cart', 'shop'), old('job', null, 'batch')];
    expect(await opened.look({ pods })).toMatchObject({ runningSince: OFF + 7_000 });
    expect(opened.paths.filter((path) => path.includes('/namespaces/batch/'))).toEqual([]);
  });

  it('count together with the volumes', async () => {
    const opened = stage();
    await moved(opened, 'a', OFF + 9_000);
    const query = { volumes: [volumeOf('a')], pods: [old('web-a', 'web')] };
    expect(await opened.look(query)).toMatchObject({ attachedElsewhere: true, runningSince: null });
    await pod(opened, 'web-2', { since: OFF + 12_000 });
    expect(await opened.look(query)).toMatchObject({ runningSince: OFF + 12_000 });
  });

  it('are followed up to the number that a kubelet can have', async () => {
    const opened = stage();
    const namespaceOf = (at: number) => (at < 255 ? 'default' : at < 256 ? 'batch' : 'shop');
    const pods = Array.from({ length: 300 }, (_, at) => old(`web-${at}`, 'web', namespaceOf(at)));
    await opened.look({ pods });
    expect(opened.paths.filter((path) => path.includes('/namespaces/shop/pods'))).toEqual([]);
    for (const namespace of ['default', 'batch'])
      expect(opened.paths.filter((path) => path.includes(`/namespaces/${namespace}/pods`))).toHaveLength(1);
  });
});

describe('the Node of a dead machine', () => {
  const SINCE = OFF + 120_000;
  const returned = (bootID: string, status = 'True') => ({
    nodeInfo: { bootID },
    conditions: [{ type: 'Ready', status, lastTransitionTime: iso(SINCE) }],
  });

  it.each([
    ['in another boot', 'boot-2', 'True', SINCE],
    ['not in the same boot', 'boot-1', 'True', null],
    ['not before it is Ready', 'boot-2', 'False', null],
  ])('has returned: %s', async (_case, bootID, status, since) => {
    const opened = stage();
    const { uid } = await makeNode(opened, { name: 'old', status: returned(bootID, status) });
    expect(await opened.look({ nodeUid: uid })).toMatchObject({ returnedSince: since, nodeGone: false, fenced: false });
    expect(await opened.look({ nodeUid: uid, bootID: null })).toMatchObject({ returnedSince: null });
  });

  it('counts as gone if another Node has its name, unless nobody knows its uid', async () => {
    const opened = stage();
    await makeNode(opened, { name: 'old', status: returned('boot-2') });
    expect(await opened.look()).toMatchObject({ returnedSince: null, nodeGone: true });
    expect(await opened.look({ nodeUid: null })).toMatchObject({ returnedSince: null, nodeGone: false });
  });

  it('has a fence of Cloudfence, or none', async () => {
    const opened = stage();
    const { uid } = await makeNode(opened, { name: 'old' });
    expect(await opened.look({ nodeUid: uid })).toMatchObject({ fenced: false });
    await opened.admin('PATCH', `${NODES}/old`, { metadata: { labels: { [FENCED_LABEL]: 'fence-1' } } });
    expect(await opened.look({ nodeUid: uid })).toMatchObject({ fenced: true });
  });
});

it('an answer in an unexpected form is rejected', async () => {
  const link = transportLink(
    async ({ path }) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(
        path.includes('/nodes/')
          ? { kind: 'Node', apiVersion: 'v1', metadata: { name: 'old', resourceVersion: '1' }, spec: { taints: 5 } }
          : { kind: 'List', apiVersion: 'v1', items: [], metadata: { resourceVersion: '1' } },
      ),
    }),
    FENCE_TOKEN,
  );
  const read = createAftermathReading('test', openConnection({ name: 'test', link, clock: patientClock() }));
  const query = { node: 'old', nodeUid: null, bootID: null, volumes: [], pods: [], phases };
  await expect(read(query, unhurried())).rejects.toThrow(ClusterUnavailable);
});
