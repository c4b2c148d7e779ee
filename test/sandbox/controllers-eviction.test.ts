import { describe, expect, it } from 'vitest';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { addDaemonSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { forceDeletePods, taintOutOfService, untaint } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { addMachine, power, twoNodes } from './plain-cloud.ts';
import { secondsUntil } from './stopwatch.ts';

const replacement = (world: PlainWorld) => getObject(world, 'pods', 'db-0', 'default');
const condition = (world: PlainWorld) =>
  replacement(world)?.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
const evictions = (world: PlainWorld) =>
  world.parts.cluster.audit.filter(
    ({ user, verb, resource }) => user === 'node-controller' && verb === 'delete' && resource === 'pods',
  );

describe('eviction by taint', () => {
  it('deletes the replacement by its name if a force delete overtakes it', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    const dead = replacement(world)?.metadata.uid;
    taintOutOfService(world, 'node-1', 'NoExecute');
    forceDeletePods(world, 'node-1');
    world.advance(200);
    expect(replacement(world)).toMatchObject({
      spec: { nodeName: 'node-2' },
      metadata: { deletionGracePeriodSeconds: 30 },
    });
    expect(condition(world)).toMatchObject({ status: 'True', reason: 'DeletionByTaintManager' });
    expect(evictions(world).map(({ uid }) => uid)).not.toContain(dead);
  });

  it('does not delete the replacement if the force delete waits for the mark of the eviction', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    taintOutOfService(world, 'node-1', 'NoExecute');
    expect(secondsUntil(world, () => condition(world) !== undefined, 1)).not.toBeNull();
    forceDeletePods(world, 'node-1');
    world.advance(10_000);
    expect(replacement(world)?.status.phase).toBe('Running');
    expect(evictions(world)).toHaveLength(1);
  });

  it('does nothing about a taint that only keeps pods from being scheduled', () => {
    const world = twoNodes(1);
    taintOutOfService(world, 'node-1', 'NoSchedule');
    world.advance(60_000);
    expect(replacement(world)).toMatchObject({ status: { phase: 'Running' }, spec: { nodeName: 'node-1' } });
    expect(evictions(world)).toEqual([]);
  });

  it('cancels a planned eviction when the node reports again', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.partitioned.push('node-1');
    world.advance(200_000);
    expect(getObject(world, 'nodes', 'node-1')?.spec.taints?.map(({ effect }) => effect)).toEqual([
      'NoSchedule',
      'NoExecute',
    ]);
    world.parts.cluster.knobs.partitioned.length = 0;
    world.advance(400_000);
    expect(replacement(world)?.metadata.deletionTimestamp).toBeUndefined();
    expect(getObject(world, 'nodes', 'node-1')?.spec.taints).toBeUndefined();
  });

  it('removes daemons from the node, unless they tolerate every taint, and brings them back after the taint', () => {
    const world = twoNodes(1);
    addDaemonSet(world, { name: 'logs' });
    addDaemonSet(world, { name: 'csi', tolerateAll: true });
    settle(world);
    const daemons = () =>
      listObjects(world, 'pods')
        .filter((pod) => pod.spec.nodeName === 'node-1')
        .map(({ metadata }) => metadata.labels?.['app']);
    taintOutOfService(world, 'node-1', 'NoExecute');
    world.advance(10_000);
    expect(daemons()).toEqual(['csi']);
    untaint(world, 'node-1');
    world.advance(10_000);
    expect(new Set(daemons())).toEqual(new Set(['csi', 'logs']));
  });
});

describe('the limits of the unreachable taint', () => {
  const evicting = (world: PlainWorld): number =>
    listObjects(world, 'nodes').filter(({ spec }) => spec.taints?.some(({ effect }) => effect === 'NoExecute')).length;

  const manyNodes = (more: readonly string[]): PlainWorld => {
    const world = twoNodes(4);
    for (const machine of more) addMachine(world, machine, `node-of-${machine}`);
    settle(world);
    return world;
  };

  it('is one node in ten seconds', () => {
    const world = manyNodes(['m-3', 'm-4', 'm-5', 'm-6']);
    for (const machine of ['m-1', 'm-3']) power(world, machine, 'stopped');
    expect(secondsUntil(world, () => evicting(world) === 1, 70)).not.toBeNull();
    expect(secondsUntil(world, () => evicting(world) === 2, 70)).toBeGreaterThan(9);
  });

  it('is stricter while most of a small zone is down: at most the first node is tainted', () => {
    const world = manyNodes(['m-3', 'm-4']);
    for (const machine of ['m-1', 'm-3', 'm-4']) power(world, machine, 'stopped');
    world.advance(300_000);
    expect(listObjects(world, 'nodes').filter(({ spec }) => spec.taints !== undefined)).toHaveLength(3);
    expect(evicting(world)).toBeLessThanOrEqual(1);
  });

  it('is absolute while no node is ready anywhere', () => {
    const world = twoNodes(4);
    for (const machine of ['m-1', 'm-2']) power(world, machine, 'stopped');
    world.advance(400_000);
    expect(evicting(world)).toBe(0);
  });
});
