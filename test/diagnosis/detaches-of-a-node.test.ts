import { describe, expect, it } from 'vitest';
import { EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { theCause } from './sandbox-diagnosis.ts';
import { diagnoseSandbox, edit } from './ec2-diagnosis.ts';
import { addPod, twoNodes } from './scenes.ts';

/** Volumes that stay on a Node although no pod there uses them, and nobody waits for them. */

const removeNow = (world: AwsWorld): void => {
  const pod = getObject(world, 'pods', 'app', 'default');
  if (pod) writerAs(world, 'person').remove('pods', pod, 0);
};

const causeAt = async (world: AwsWorld, node: string) => {
  const { findings, text } = await diagnoseSandbox(world, `node/${node}`);
  const [found, ...more] = findings.filter(({ pod }) => pod === null);
  if (!found || more.length > 0) throw new Error(text);
  expect(text).toMatchSnapshot(found.cause.kind);
  return found.cause;
};

describe('diagnose node/… without a pod that waits', () => {
  it('a Ready Node: its kubelet does not unmount the volume', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    world.parts.cluster.knobs.unmountMs = 3_600_000;
    removeNow(world);
    world.advance(300_000);
    expect(await causeAt(world, node)).toMatchObject({ kind: 'unmount-stuck', confidence: 'likely' });
    edit(world, 'csinodes', [node], ({ spec }) => void (spec.drivers = []));
    expect(await causeAt(world, node)).toMatchObject({ kind: 'driver-missing-on-holder', confidence: 'proved' });
  });

  it('a Node that is cut off: its guest may write, and Kubernetes detaches the disk after six minutes', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    world.parts.cluster.knobs.partitioned.push(node);
    world.advance(60_000);
    removeNow(world);
    world.advance(120_000);
    const cause = await causeAt(world, node);
    expect(cause).toMatchObject({ kind: 'machine-unreachable', confidence: 'proved', ending: 'by-person' });
    expect(cause.says).toContain('may still write');
    expect(cause.next.join('\n')).toMatch(/six minutes/);
    expect(cause.next.join('\n')).not.toContain('delete volumeattachment');
  });

  it('a Node that is cut off, while Kubernetes already detaches the disk: the finalizer is no way out', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    world.parts.cluster.knobs.partitioned.push(node);
    world.parts.cluster.knobs.attacherDown = true;
    world.advance(60_000);
    removeNow(world);
    world.advance(600_000);
    const cause = await causeAt(world, node);
    expect(cause).toMatchObject({ kind: 'machine-unreachable', ending: 'by-person' });
    expect(cause.next.join('\n')).not.toContain('finalizer');
  });

  it('a pod uses the volume there: nothing is stuck', async () => {
    const { world, node } = twoNodes();
    addPod(world, 'app', node);
    settle(world);
    world.advance(300_000);
    expect((await diagnoseSandbox(world, `node/${node}`)).findings.filter(({ pod }) => pod === null)).toEqual([]);
  });
});

describe('two PersistentVolumes with one disk on one Node', () => {
  it('the attachment is of the one that waits: its kubelet has mounted the disk for the other one', async () => {
    const { world, disk, node } = twoNodes();
    addBoundClaim(world, 'twin', { driver: EBS, handle: disk, zone: 'eu-west-1a', volume: 'twin-pv' });
    addPod(world, 'app', node);
    settle(world);
    addPod(world, 'first', node, 'twin');
    settle(world);
    world.advance(300_000);
    edit(world, 'pods', ['app', 'default'], ({ status }) => {
      status.phase = 'Pending';
      status.conditions = [];
      status.containerStatuses = [{ name: 'main', ready: false, state: { waiting: { reason: 'ContainerCreating' } } }];
    });
    const cause = theCause(await diagnoseSandbox(world, 'pod/default/app'));
    expect(cause).toMatchObject({ kind: 'shared-claim', confidence: 'likely' });
    expect(cause.next.join()).toContain('kubectl get pv twin-pv');
    expect(cause.next.join()).not.toContain('restart the kubelet of');
  });
});
