import { describe, expect, it } from 'vitest';
import { Refused } from '../../fencing/model/errors.ts';
import type { V1PersistentVolume } from '@kubernetes/client-node/dist/gen/index.js';
import { createConnection } from '../../kubernetes/connection.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { podFactsOf, readNodePods } from '../../kubernetes/pods.ts';
import { granted, makePod, PODS, unhurried } from '../contract/cluster/harness.ts';
import { FENCE_TOKEN } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import type { ApiAnswer } from '../../sandbox/cluster/api/wire.ts';
import { clusterOver, faultyCluster, patientClock } from './wire.ts';

/** What Cloudfence reads from a pod, and what happens to a pod that changes while a step is on its way. */

const bound = (volumeHandle: string, name = 'pv') => ({
  metadata: { name },
  spec: { csi: { driver: 'a-driver', volumeHandle } },
});
const podWith = (volumes: object[] = [], more: object = {}, metadata: object = {}, status: object = {}) => ({
  metadata: { namespace: 'ns', name: 'db-0', uid: 'u', ...metadata },
  spec: { containers: [], volumes: volumes.map((one, at) => ({ name: `v${at}`, ...one })), ...more },
  status,
});
const claim = (claimName: string) => ({ persistentVolumeClaim: { claimName } });

describe('the facts about a pod', () => {
  it('are empty for an empty pod', () => {
    expect(podFactsOf(podWith(), new Map())).toEqual({
      namespace: 'ns',
      name: 'db-0',
      uid: 'u',
      owner: null,
      priority: 0,
      kind: 'other',
      finished: false,
      deleting: false,
      finalizers: false,
      tolerates: false,
      optOut: null,
      volumes: [],
      unresolved: [],
    });
  });

  it('have no name if the pod has none', () => {
    expect(podFactsOf({}, new Map())).toMatchObject({ namespace: '', name: '', uid: '' });
  });

  it('name each volume once, and each claim or volume that cannot be resolved', () => {
    const pod = podWith([
      claim('known'),
      claim('same'),
      claim('unbound'),
      claim('strange'),
      { awsElasticBlockStore: { volumeID: 'vol-1' } },
      { awsElasticBlockStore: { volumeID: '' } },
      { emptyDir: {} },
    ]);
    const claimed = new Map<string, V1PersistentVolume>([
      ['ns/known', bound('disk-1')],
      ['ns/same', bound('disk-1')],
      ['ns/strange', { metadata: { name: 'pv' }, spec: { awsElasticBlockStore: { volumeID: '' } } }],
    ]);
    expect(podFactsOf(pod, claimed)).toMatchObject({
      volumes: ['a-driver^disk-1', 'ebs.csi.aws.com^vol-1'],
      unresolved: ['ns/unbound', 'ns/strange', 'volume v5'],
    });
  });

  it.each([
    ['DaemonSet', 'daemon'],
    ['Job', 'job'],
    ['StatefulSet', 'other'],
  ])('of a %s have the kind %s, if that is its controller', (kind, is) => {
    const owner = { apiVersion: 'v1', kind, name: 'o', uid: 'owner-uid' };
    const owned = podWith([], {}, { ownerReferences: [{ ...owner, controller: true }] });
    expect(podFactsOf(owned, new Map())).toMatchObject({ kind: is, owner: 'owner-uid' });
    expect(podFactsOf(podWith([], {}, { ownerReferences: [owner] }), new Map())).toMatchObject({
      kind: 'other',
      owner: null,
    });
  });

  it.each([
    [{}, { phase: 'Succeeded' }, { finished: true }],
    [{}, { phase: 'Failed' }, { finished: true }],
    [{}, { phase: 'Running' }, { finished: false }],
    [{}, { phase: 'Unknown' }, { finished: false }],
    [{ deletionTimestamp: new Date(0) }, {}, { deleting: true }],
    [{ finalizers: ['x'] }, {}, { finalizers: true }],
    [{ finalizers: [] }, {}, { finalizers: false }],
    [{ annotations: { 'kubernetes.io/config.mirror': '' } }, {}, { kind: 'mirror' }],
    [{ annotations: { 'cloudfence.dev/opt-out': 'mine' } }, {}, { optOut: { by: 'annotation', says: 'mine' } }],
    [{ annotations: { 'cloudfence.dev/opt-out': 'false' } }, {}, { optOut: { by: 'annotation', says: 'false' } }],
  ])('for %j and %j are %j', (metadata, status, facts) => {
    expect(podFactsOf(podWith([], {}, metadata, status), new Map())).toMatchObject(facts);
  });

  it('have the reason of an opt-out on one line, without control characters for a terminal', () => {
    const annotations = { 'cloudfence.dev/opt-out': '\u001B[2K\rlicence\nis bound' };
    expect(podFactsOf(podWith([], {}, { annotations }), new Map()).optOut?.says).toBe('[2K licence is bound');
  });

  it('include its priority', () => {
    expect(podFactsOf(podWith([], { priority: 7 }), new Map()).priority).toBe(7);
  });
});

it('no pods are read for a name that would be another selector', async () => {
  const stage = faultyCluster({});
  await makePod(stage, 'node');
  const { reader } = createConnection(transportLink(inProcess(stage.server), FENCE_TOKEN), patientClock(), 1_000);
  expect(await readNodePods(reader(unhurried()), 'node')).toHaveLength(1);
  expect(await readNodePods(reader(unhurried()), 'gone,spec.nodeName=node')).toEqual([]);
  expect(await readNodePods(reader(unhurried()), 'node,metadata.namespace=default')).toEqual([]);
});

describe('a pod that changes while it is being failed', () => {
  const answer = (status: number, reason = 'Declined') => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'Status', code: status, reason, message: 'no', details: { name: 'p' } }),
  });
  const GONE = answer(404, 'NotFound');

  /** The server answers the write with `written`, and each later read with `then`. */
  const failing = async (written: ApiAnswer, then?: ApiAnswer) => {
    let sent = false;
    const stage = faultyCluster({
      before: ({ method }) => {
        if (method === 'GET' && sent) return then;
        if (method !== 'PATCH') return undefined;
        sent = true;
        return written;
      },
    });
    const { name, uid } = await makePod(stage, 'node');
    return stage.cluster.apply({ do: 'fail-pod', pod: { namespace: 'default', name, uid } }, granted, unhurried());
  };

  it('counts as done if it is gone by then', async () => {
    expect(await failing(GONE)).toBe('already');
  });

  it('counts as done if a precondition failed and it is gone by now', async () => {
    expect(await failing(answer(422), GONE)).toBe('already');
  });

  it('is not touched if another pod has its name by then', async () => {
    const stage = faultyCluster({});
    const { name, uid } = await makePod(stage, 'node');
    const transport = inProcess(stage.server);
    const cluster = clusterOver(async (request, signal) => {
      if (request.method === 'PATCH') {
        await stage.admin('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
        await makePod(stage, 'node', {}, { name });
      }
      return transport(request, signal);
    });
    const step = { do: 'fail-pod', pod: { namespace: 'default', name, uid } } as const;
    expect(await cluster.apply(step, granted, unhurried())).toBe('already');
    const { body } = await stage.admin('GET', `${PODS}/${name}`);
    expect(body.metadata.uid).not.toBe(uid);
    expect(body).not.toMatchObject({ status: { phase: 'Failed' } });
  });

  it('does not count as done if a precondition failed and it is still there', async () => {
    await expect(failing(answer(422))).rejects.toThrow(Refused);
  });

  it('does not count as done if the write is rejected for another reason, even if it is gone by now', async () => {
    await expect(failing(answer(400), GONE)).rejects.toThrow(Refused);
  });
});
