import { describe, expect, it } from 'vitest';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { hasTaint, shutDown } from '../../sandbox/cluster/controllers/taints.ts';
import { deleteAttachments, deleteNode, forceDeletePods, taintOutOfService } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { power, twoNodes } from './plain-cloud.ts';
import { attachedTo, mean, secondsUntil } from './stopwatch.ts';

/**
 * The phases of the loops of the control plane differ from run to run, so measured numbers are compared with the mean
 * of all phases.
 */
const moments = Array.from({ length: 12 }, (_, moment) => moment * 5_300);

/** Mean seconds from the end of the machine until the volume is attached to the other node. */
const meanSeconds = (
  act: (world: PlainWorld) => void,
  limit: number,
  end: 'stopped' | 'terminated' = 'stopped',
): number =>
  mean(
    moments.map((moment) => {
      const world = twoNodes(1);
      world.advance(moment);
      power(world, 'm-1', end);
      act(world);
      return attachedTo(world, 'node-2', limit) ?? Number.POSITIVE_INFINITY;
    }),
  );

const isShutDown = (world: PlainWorld): boolean => {
  const node = getObject(world, 'nodes', 'node-1');
  return node !== undefined && hasTaint(node, shutDown);
};

/** The relative difference between a number and the measured one. */
const offBy = (seconds: number, measured: number): number => Math.abs(seconds / measured - 1);

describe('what Kubernetes does about a stopped machine, compared with a real control plane', () => {
  it('moves nothing within 620 s, and only marks the pod', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    expect(
      secondsUntil(world, () => getObject(world, 'nodes', 'node-1')?.status.conditions?.[0]?.status === 'Unknown', 60),
    ).toBeGreaterThan(39);
    expect(
      secondsUntil(
        world,
        () => getObject(world, 'pods', 'db-0', 'default')?.metadata.deletionTimestamp !== undefined,
        310,
      ),
    ).toBeGreaterThan(295);
    expect(attachedTo(world, 'node-2', 270)).toBeNull();
    expect(getObject(world, 'pods', 'db-0', 'default')?.spec.nodeName).toBe('node-1');
  });

  it('binds the successor of a force-deleted pod to the dead node if there is no taint', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    const uid = getObject(world, 'pods', 'db-0', 'default')?.metadata.uid;
    forceDeletePods(world, 'node-1');
    world.advance(100);
    expect(getObject(world, 'pods', 'db-0', 'default')).toMatchObject({ spec: { nodeName: 'node-1' } });
    expect(getObject(world, 'pods', 'db-0', 'default')?.metadata.uid).not.toBe(uid);
    expect(attachedTo(world, 'node-2', 600)).toBeNull();
  });

  it('takes about 416 s if the Node is deleted', () => {
    expect(
      offBy(
        meanSeconds((world) => deleteNode(world, 'node-1'), 600),
        415.6,
      ),
    ).toBeLessThan(0.2);
  });

  it('takes about 32 s if the pods and the VolumeAttachment are deleted with the Node', () => {
    const act = (world: PlainWorld): void => {
      deleteNode(world, 'node-1');
      forceDeletePods(world, 'node-1');
      world.advance(20);
      deleteAttachments(world, 'node-1');
    };
    expect(offBy(meanSeconds(act, 120), 32.4)).toBeLessThan(0.2);
  });

  it('takes about 69 s under the taint with NoExecute alone', () => {
    expect(
      offBy(
        meanSeconds((world) => taintOutOfService(world, 'node-1', 'NoExecute'), 200),
        68.6,
      ),
    ).toBeLessThan(0.2);
  });

  it('takes about 354 s under the taint with NoSchedule alone', () => {
    expect(
      offBy(
        meanSeconds((world) => taintOutOfService(world, 'node-1', 'NoSchedule'), 600),
        354,
      ),
    ).toBeLessThan(0.2);
  });

  it('takes 2.2 s under the taint with NoSchedule if the pods are force-deleted at once', () => {
    const act = (world: PlainWorld): void => {
      taintOutOfService(world, 'node-1', 'NoSchedule');
      world.advance(40);
      forceDeletePods(world, 'node-1');
    };
    expect(offBy(meanSeconds(act, 30), 2.25)).toBeLessThan(0.2);
  });

  it('takes about 453 s from termination if the cloud controller deletes the Node', () => {
    const act = (world: PlainWorld): void => void (world.parts.cluster.knobs.cloudController = true);
    expect(offBy(meanSeconds(act, 700, 'terminated'), 452.9)).toBeLessThan(0.2);
  });

  it('never moves it if the cloud controller only sees the machine stopped', () => {
    const world = twoNodes(2);
    world.parts.cluster.knobs.cloudController = true;
    power(world, 'm-1', 'stopped');
    const tainted = secondsUntil(world, () => isShutDown(world), 100);
    expect(offBy(tainted ?? 0, 53.6)).toBeLessThan(0.2);
    expect(attachedTo(world, 'node-2', 700)).toBeNull();
  });

  it('neither taints nor deletes a Node whose machine runs, however long it is silent', () => {
    const world = twoNodes(2);
    world.parts.cluster.knobs.cloudController = true;
    world.parts.cluster.knobs.partitioned.push('node-1');
    world.advance(200_000);
    expect(getObject(world, 'nodes', 'node-1')?.spec.taints).toHaveLength(2);
    expect(isShutDown(world)).toBe(false);
  });

  it('never moves it after a Node delete if the six-minute timer is off', () => {
    const world = twoNodes(3);
    world.parts.cluster.knobs.disableForceDetachOnTimeout = true;
    power(world, 'm-1', 'stopped');
    deleteNode(world, 'node-1');
    expect(attachedTo(world, 'node-2', 900)).toBeNull();
  });
});
