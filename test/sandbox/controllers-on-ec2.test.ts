import { describe, expect, it } from 'vitest';
import { clusterActors, startControlPlane } from '../../sandbox/cluster/controllers/actors.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { isReady } from '../../sandbox/cluster/controllers/nodes.ts';
import { addTaint, outOfService } from '../../sandbox/cluster/controllers/taints.ts';
import { addNode, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { emptyCluster } from '../../sandbox/cluster/store.ts';
import { ec2Actors } from '../../sandbox/ec2/actors.ts';
import { defaultStop, start, stopByUser } from '../../sandbox/ec2/instances.ts';
import { addInstance, addVolume } from '../../sandbox/ec2/scenario.ts';
import type { WithEc2 } from '../../sandbox/ec2/state.ts';
import { emptyEc2, instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { underlyingEc2 } from '../../sandbox/ec2/underlying-cloud.ts';
import type { World } from '../../sandbox/world.ts';
import { createWorld } from '../../sandbox/world.ts';

type Whole = World<ClusterParts & WithEc2>;

const zone = 'eu-west-1a';
const driver = 'ebs.csi.aws.com';

const clusterOnEc2 = () => {
  const parts = { cluster: emptyCluster(), ec2: emptyEc2({ account: '111122223333', region: 'eu-west-1' }) };
  const world: Whole = createWorld({ ...clusterActors<ClusterParts & WithEc2>(underlyingEc2), ...ec2Actors() }, parts, {
    now: Date.UTC(2026, 10, 21),
    seed: 1,
  });
  const [first, second] = [addInstance(world), addInstance(world)];
  const nodeFor = (machine: string): string => instanceIn(world, machine)?.privateDnsName ?? '';
  for (const machine of [first, second])
    addNode(world, { name: nodeFor(machine), machine, providerID: `aws:///${zone}/${machine}`, zone, driver });
  startControlPlane(world);
  const volume = addVolume(world);
  addStatefulSet(world, { name: 'db', disks: [{ driver, handle: volume, zone }] });
  settle(world);
  const holder = volumeIn(world, volume)?.attachments[0]?.instance ?? '';
  return { world, volume, holder, other: holder === first ? second : first, nodeFor };
};

const stopInstance = (world: Whole, id: string): void => {
  const instance = instanceIn(world, id);
  if (instance) stopByUser(world, instance, defaultStop);
};

const fence = (world: Whole, name: string): void => {
  const writer = writerAs(world, 'person');
  const node = getObject(world, 'nodes', name);
  const pod = getObject(world, 'pods', 'db-0', 'default');
  if (node)
    writer.change('nodes', node, (draft) =>
      addTaint(draft, { key: outOfService, value: 'nodeshutdown', effect: 'NoSchedule' }),
    );
  if (pod) writer.remove('pods', pod, 0);
};

describe('the cluster on EC2', () => {
  it('moves the volume of a stopped instance to the other one without a violation', () => {
    const { world, volume, holder, other, nodeFor } = clusterOnEc2();
    stopInstance(world, holder);
    world.advance(60_000);
    expect(instanceIn(world, holder)?.state).toBe('stopped');
    fence(world, nodeFor(holder));
    world.advance(15_000);
    expect(volumeIn(world, volume)?.attachments.map(({ instance, state }) => ({ instance, state }))).toEqual([
      { instance: other, state: 'attached' },
    ]);
    expect(getObject(world, 'pods', 'db-0', 'default')).toMatchObject({
      spec: { nodeName: nodeFor(other) },
      status: { phase: 'Running' },
    });
    expect(world.parts.ec2.violations).toEqual([]);
  });

  it('has the node back with another bootID after a stop and a start', () => {
    const { world, holder, nodeFor } = clusterOnEc2();
    const before = getObject(world, 'nodes', nodeFor(holder))?.status.nodeInfo?.bootID;
    stopInstance(world, holder);
    world.advance(120_000);
    const stopped = instanceIn(world, holder);
    if (stopped) start(world, stopped);
    world.advance(60_000);
    const node = getObject(world, 'nodes', nodeFor(holder));
    expect(node && isReady(node)).toBe(true);
    expect(node?.status.nodeInfo?.bootID).not.toBe(before);
    expect(getObject(world, 'pods', 'db-0', 'default')).toMatchObject({
      spec: { nodeName: nodeFor(holder) },
      status: { phase: 'Running' },
    });
  });
});
