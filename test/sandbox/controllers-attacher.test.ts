import { describe, expect, it } from 'vitest';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { addDeployment } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { forceDeletePods, taintOutOfService } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { power, twoNodes } from './plain-cloud.ts';
import { attachedTo } from './stopwatch.ts';

const fence = (world: PlainWorld): void => {
  power(world, 'm-1', 'stopped');
  taintOutOfService(world, 'node-1', 'NoSchedule');
  forceDeletePods(world, 'node-1');
};

const withAttacherOn = (node: string): PlainWorld => {
  const world = twoNodes(1);
  addDeployment(world, { name: 'csi-controller', namespace: 'kube-system', spec: { nodeSelector: { pool: node } } });
  for (const name of ['node-1', 'node-2']) label(world, name, name === node ? node : 'other');
  settle(world);
  world.parts.cluster.knobs.attacherDeployment = 'kube-system/csi-controller';
  world.advance(5_000);
  for (const name of ['node-1', 'node-2']) label(world, name, node);
  return world;
};

const label = (world: PlainWorld, name: string, pool: string): void => {
  const node = world.parts.cluster.objects.nodes[`/${name}`];
  if (node) node.metadata.labels = { ...node.metadata.labels, pool };
};

describe('the external-attacher', () => {
  it('detaches nothing while it is down, and continues its work when it is back', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.attacherDown = true;
    fence(world);
    world.advance(60_000);
    expect(world.parts.cloud.disks['disk-1']?.on).toBe('m-1');
    world.parts.cluster.knobs.attacherDown = false;
    expect(attachedTo(world, 'node-2', 10)).not.toBeNull();
  });

  it('moves a volume as fast as before while its own pod runs elsewhere', () => {
    const world = withAttacherOn('node-2');
    fence(world);
    expect(attachedTo(world, 'node-2', 10)).toBeLessThan(3);
  });

  it('takes over after its leader lease if its pod was on the dead node', () => {
    const world = withAttacherOn('node-1');
    fence(world);
    const seconds = attachedTo(world, 'node-2', 60);
    expect(seconds).toBeGreaterThan(13);
    expect(seconds).toBeLessThan(25);
    expect(
      listObjects(world, 'pods')
        .filter(({ metadata }) => metadata.namespace === 'kube-system')
        .map(({ spec }) => spec.nodeName),
    ).toEqual(['node-2']);
  });
});
