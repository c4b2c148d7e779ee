import { describe, expect, it } from 'vitest';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { addBarePod, addDeployment, addJob, addMirrorPod, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { deleteNode, forceDeletePods, taintOutOfService } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { addDisk, addMachine, emptyPlainWorld, power, twoNodes } from './plain-cloud.ts';
import { attachedTo, secondsUntil } from './stopwatch.ts';

const podsOf = (world: PlainWorld, app: string) =>
  listObjects(world, 'pods').filter(({ metadata }) => metadata.labels?.['app'] === app);
const machineOf = (node: string | undefined): string => (node === 'node-1' ? 'm-1' : 'm-2');

describe('workloads on a dead node', () => {
  it('a Deployment replaces its pod when the eviction begins, not when the pod is gone', () => {
    const world = twoNodes(1);
    addDeployment(world, { name: 'web' });
    settle(world);
    const [old] = podsOf(world, 'web');
    power(world, machineOf(old?.spec.nodeName), 'stopped');
    const taken = secondsUntil(
      world,
      () =>
        podsOf(world, 'web').some((pod) => pod.status.phase === 'Running' && pod.metadata.uid !== old?.metadata.uid),
      400,
    );
    expect(taken).toBeGreaterThan(340);
    expect(podsOf(world, 'web')).toHaveLength(2);
  });

  it('a Job keeps its pod by a finalizer until the pod has failed', () => {
    const world = twoNodes(1);
    addJob(world, { name: 'batch' });
    settle(world);
    const [old] = podsOf(world, 'batch');
    const node = old?.spec.nodeName ?? '';
    power(world, machineOf(node), 'stopped');
    taintOutOfService(world, node, 'NoSchedule');
    forceDeletePods(world, node);
    world.advance(20_000);
    expect(getObject(world, 'pods', old?.metadata.name ?? '', 'default')?.metadata.finalizers).toEqual([
      'batch.kubernetes.io/job-tracking',
    ]);
    expect(
      secondsUntil(world, () => getObject(world, 'pods', old?.metadata.name ?? '', 'default') === undefined, 60),
    ).not.toBeNull();
    world.advance(5_000);
    expect(podsOf(world, 'batch').map(({ status }) => status.phase)).toEqual(['Running']);
  });

  it('a StatefulSet creates its replicas in order, each on its own disk', () => {
    const world = twoNodes(1);
    addStatefulSet(world, { name: 'store', disks: [addDisk(world, 'disk-a'), addDisk(world, 'disk-b')] });
    settle(world);
    const [first, second] = ['store-0', 'store-1'].map((name) => getObject(world, 'pods', name, 'default'));
    expect(first?.spec.volumes?.[0]?.persistentVolumeClaim?.claimName).toBe('data-store-0');
    expect(Date.parse(second?.metadata.creationTimestamp ?? '')).toBeGreaterThan(
      Date.parse(first?.metadata.creationTimestamp ?? ''),
    );
    expect(podsOf(world, 'store')).toHaveLength(2);
  });

  it('nothing replaces a bare pod, and its volume is free once PodGC has deleted it', () => {
    const world = twoNodes(1);
    addBarePod(world, { name: 'lone', spec: { nodeSelector: { 'kubernetes.io/hostname': 'node-2' } } });
    addMirrorPod(world, { name: 'proxy-node-2', node: 'node-2' });
    settle(world);
    power(world, 'm-2', 'stopped');
    world.advance(400_000);
    expect(getObject(world, 'pods', 'proxy-node-2', 'default')?.metadata.deletionTimestamp).toBeUndefined();
    deleteNode(world, 'node-2');
    world.advance(39_000);
    expect(listObjects(world, 'pods').filter(({ spec }) => spec.nodeName === 'node-2')).toHaveLength(2);
    world.advance(42_000);
    expect(listObjects(world, 'pods').map(({ metadata }) => metadata.name)).toEqual(['db-0']);
  });

  it('a pod stays Pending if no node of the zone of its disk is left', () => {
    const world = emptyPlainWorld(1);
    addMachine(world, 'm-1', 'node-1', 'z-1a');
    addMachine(world, 'm-2', 'node-2', 'z-1b');
    settle(world);
    addStatefulSet(world, { name: 'db', disks: [addDisk(world, 'disk-1')] });
    settle(world);
    taintOutOfService(world, 'node-1', 'NoSchedule');
    forceDeletePods(world, 'node-1');
    expect(attachedTo(world, 'node-2', 60)).toBeNull();
    const pod = getObject(world, 'pods', 'db-0', 'default');
    expect(pod?.status.phase).toBe('Pending');
    expect(pod?.spec.nodeName).toBeUndefined();
  });
});
