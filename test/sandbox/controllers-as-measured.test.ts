import { describe, expect, it } from 'vitest';
import { createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { hasTaint, notReady, unreachable, unschedulable } from '../../sandbox/cluster/controllers/taints.ts';
import { databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { forceDeletePods, taintOutOfService } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { addMachine, boot, emptyPlainWorld, person, power, twoNodes } from './plain-cloud.ts';
import { attachedTo, secondsUntil } from './stopwatch.ts';

/** What was added to the sandbox after the comparison with a real control plane (test/control-plane/differential). */

const nodeOf = (world: PlainWorld) => getObject(world, 'nodes', 'node-1');
const tainted = (world: PlainWorld, key: string, effect: 'NoSchedule' | 'NoExecute'): boolean => {
  const node = nodeOf(world);
  return node !== undefined && hasTaint(node, key, effect);
};
const attachmentOn = (world: PlainWorld, node: string) =>
  listObjects(world, 'volumeattachments').find(({ spec }) => spec.nodeName === node);

const fence = (world: PlainWorld): void => {
  power(world, 'm-1', 'stopped');
  taintOutOfService(world, 'node-1', 'NoSchedule');
  forceDeletePods(world, 'node-1');
};

describe('a new Node', () => {
  it('has the not-ready taint and loses it as soon as a watch shows that it is ready', () => {
    const world = emptyPlainWorld(1);
    addMachine(world, 'm-1', 'node-1');
    while (!nodeOf(world)) world.advance(1);
    expect(nodeOf(world)?.spec.taints).toEqual([{ key: notReady, effect: 'NoSchedule' }]);
    world.advance(20);
    expect(nodeOf(world)?.spec.taints).toBeUndefined();
    expect(world.parts.cluster.audit.findLast(({ resource }) => resource === 'nodes')?.user).toBe('node-controller');
  });
});

describe('a Node that is cordoned', () => {
  it('is tainted until it is uncordoned', () => {
    const world = twoNodes(1);
    const cordon = (on: boolean): void => {
      const node = nodeOf(world);
      if (node) person(world).change('nodes', node, (draft) => void (draft.spec.unschedulable = on));
      world.advance(20);
    };
    cordon(true);
    expect(nodeOf(world)?.spec.taints).toMatchObject([{ key: unschedulable, effect: 'NoSchedule' }]);
    cordon(false);
    expect(nodeOf(world)?.spec.taints).toBeUndefined();
  });
});

describe('a Node that comes back', () => {
  it('may get pods before the eviction of its pods is canceled', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    world.advance(120_000);
    expect([tainted(world, unreachable, 'NoSchedule'), tainted(world, unreachable, 'NoExecute')]).toEqual([true, true]);
    boot(world, 'm-1');
    expect(secondsUntil(world, () => !tainted(world, unreachable, 'NoSchedule'), 20)).not.toBeNull();
    expect(tainted(world, unreachable, 'NoExecute')).toBe(true);
    expect(secondsUntil(world, () => !tainted(world, unreachable, 'NoExecute'), 5.1)).not.toBeNull();
  });
});

describe('a pod that is deleted without a grace period', () => {
  it('is seen terminating for one revision and is then gone', () => {
    const world = twoNodes(1);
    const { uid } = getObject(world, 'pods', 'db-0', 'default')?.metadata ?? {};
    forceDeletePods(world, 'node-1');
    const audited = world.parts.cluster.audit.filter((entry) => entry.uid === uid).slice(-3);
    expect(audited.map(({ verb, user }) => `${verb} by ${user}`)).toEqual([
      'delete by person',
      'update by person',
      'remove by person',
    ]);
  });

  it('was evicted with the account of the node controller when its time was up', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    world.advance(400_000);
    expect(
      world.parts.cluster.audit
        .filter(({ resource, verb }) => resource === 'pods' && verb === 'delete')
        .map(({ user }) => user),
    ).toEqual(['node-controller']);
  });
});

describe('the external-attacher', () => {
  it('publishes again what it has just published, and reports it if that fails', () => {
    const world = twoNodes(1);
    fence(world);
    expect(attachedTo(world, 'node-2', 10)).not.toBeNull();
    const disk = world.parts.cloud.disks['disk-1'];
    if (disk) disk.refuses = 'attach';
    world.advance(2_000);
    expect(attachmentOn(world, 'node-2')?.status).toMatchObject({
      attached: true,
      attachError: { message: expect.stringContaining('VolumeInUse') },
    });
  });

  it('needs half the time for a disk that the cloud has already detached', () => {
    const world = twoNodes(1);
    const disk = world.parts.cloud.disks['disk-1'];
    if (disk) disk.on = null;
    fence(world);
    const seconds = secondsUntil(world, () => attachmentOn(world, 'node-1') === undefined, 5);
    expect(seconds).toBeGreaterThan(0.5);
    expect(seconds).toBeLessThan(0.8);
  });

  it('abandons a call after six minutes, not after one', () => {
    const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 10, 21) });
    const { holder, nodeOf: named } = databaseOnTwoNodes(world);
    world.parts.ec2.knobs.detachTakes = 3_600_000;
    taintOutOfService(world, named(holder), 'NoSchedule');
    forceDeletePods(world, named(holder));
    const isAbandoned = () =>
      listObjects(world, 'volumeattachments').some(({ status }) =>
        status.detachError?.message.includes('DeadlineExceeded'),
      );
    world.advance(355_000);
    expect(isAbandoned()).toBe(false);
    world.advance(15_000);
    expect(isAbandoned()).toBe(true);
  });
});

describe('attach-detach', () => {
  /** Seconds from one event to the next, over many phases. */
  const lags = (): readonly number[] =>
    Array.from({ length: 40 }, (_, seed) => {
      const world = twoNodes(seed + 1);
      fence(world);
      secondsUntil(world, () => attachmentOn(world, 'node-1') === undefined, 10);
      return secondsUntil(world, () => attachmentOn(world, 'node-2') !== undefined, 10) ?? Number.POSITIVE_INFINITY;
    });

  it('checks for the end of a detach every half second', () => {
    const measured = lags();
    expect(Math.max(...measured)).toBeLessThan(0.8);
    expect(measured.filter((lag) => lag > 0.4).length).toBeGreaterThan(2);
    expect(measured.filter((lag) => lag < 0.3).length).toBeGreaterThan(20);
  });
});
