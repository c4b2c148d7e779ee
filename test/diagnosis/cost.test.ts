import { describe, expect, it } from 'vitest';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addBarePod, addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addMachine } from '../../sandbox/scenes/ec2-database.ts';
import { stage } from '../simulation/incidents.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox } from './ec2-diagnosis.ts';
import { addClaim, addPod } from './scenes.ts';

/** The calls of a diagnosis. */

const counting = (world: AwsWorld) => {
  const kubernetes: string[] = [];
  const cloud: string[] = [];
  const troubles = {
    api: {
      before: ({ method, path }: { readonly method: string; readonly path: string }) => {
        kubernetes.push(`${method} ${path}`);
        return undefined;
      },
    },
    ec2Takes: (action: string) => {
      cloud.push(action);
      return 1;
    },
  };
  return { kubernetes, cloud, ask: (target: string) => diagnoseSandbox(world, target, troubles) };
};

/** A pod that waits for a volume on a machine that is cut off, among other Nodes with volumes. */
const cutOff = (others: number): AwsWorld => {
  const { world, scene } = stage(1);
  addClaim(world);
  const nodes = Array.from({ length: others }, () => addMachine(world));
  settle(world);
  for (const [at] of nodes.entries()) {
    addBoundClaim(world, `more-${at}`, { driver: EBS, handle: addVolume(world), zone: 'eu-west-1a' });
    addBarePod(world, {
      name: `more-${at}`,
      namespace: 'default',
      spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: `more-${at}` } }] },
    });
  }
  addPod(world, 'before', scene.nodeOf(scene.holder));
  settle(world);
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
  world.advance(120_000);
  const pod = getObject(world, 'pods', 'before', 'default');
  if (pod) writerAs(world, 'person').remove('pods', pod, 0);
  addPod(world, 'app', scene.nodeOf(scene.spare));
  world.advance(120_000);
  return world;
};

describe('the cost of an answer', () => {
  it.each([0, 30])('is the same with %i more Nodes', async (others) => {
    const world = cutOff(others);
    const { kubernetes, cloud, ask } = counting(world);
    expect(theCause(await ask('pod/default/app')).kind).toBe('machine-unreachable');
    expect(kubernetes.length, kubernetes.join('\n')).toBe(16);
    expect(cloud).toEqual(['DescribeVolumes', 'DescribeInstances']);
    expect(kubernetes.filter((line) => !line.startsWith('GET'))).toEqual([]);
    expect(kubernetes.filter((line) => line.includes('/volumeattachments?'))).toEqual([]);
  });

  it('includes one call to the cloud for all pods', async () => {
    const world = cutOff(3);
    const { cloud, ask } = counting(world);
    const [node] = listObjects(world, 'nodes').map(({ metadata }) => metadata.name);
    await ask(`node/${node ?? ''}`);
    expect(cloud).toEqual(['DescribeVolumes', 'DescribeInstances']);
  });
});
