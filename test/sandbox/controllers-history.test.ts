import { describe, expect, it } from 'vitest';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { forceDeletePods, taintOutOfService } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { power, twoNodes } from './plain-cloud.ts';
import { attachedTo } from './stopwatch.ts';

const history = (seed: number): PlainWorld => {
  const world = twoNodes(seed);
  power(world, 'm-1', 'stopped');
  taintOutOfService(world, 'node-1', 'NoExecute');
  forceDeletePods(world, 'node-1');
  world.advance(120_000);
  return world;
};

describe('the history of a cluster', () => {
  it('is the same for the same seed', () => {
    expect(history(5).parts.cluster.audit).toEqual(history(5).parts.cluster.audit);
  });

  it('differs with the seed', () => {
    expect(history(5).parts.cluster.audit).not.toEqual(history(6).parts.cluster.audit);
  });

  it('continues in the same way in a fork in the middle of a fence', () => {
    const world = history(7);
    const fork = world.fork();
    for (const one of [world, fork]) one.advance(300_000);
    expect(fork.parts.cluster.audit).toEqual(world.parts.cluster.audit);
    expect(fork.parts.cluster.memory).toEqual(world.parts.cluster.memory);
  });

  it('is not changed by its fork', () => {
    const world = twoNodes(8);
    const fork = world.fork();
    power(fork, 'm-1', 'stopped');
    taintOutOfService(fork, 'node-1', 'NoSchedule');
    forceDeletePods(fork, 'node-1');
    expect(attachedTo(fork, 'node-2', 10)).not.toBeNull();
    world.advance(10_000);
    expect(getObject(world, 'pods', 'db-0', 'default')?.spec.nodeName).toBe('node-1');
    expect(world.parts.cloud.disks['disk-1']?.on).toBe('m-1');
  });

  it('takes few steps: 620 s without actions need a few hundred scheduled calls', () => {
    const world = twoNodes(9);
    power(world, 'm-1', 'stopped');
    const before = world.state.order;
    world.advance(620_000);
    expect(world.state.order - before).toBeLessThan(2_000);
  });
});
