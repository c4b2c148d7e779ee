import { describe, expect, it } from 'vitest';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { attachmentName } from '../../sandbox/cluster/controllers/volumes.ts';
import { addDeployment } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { deleteAttachments, deleteNode, forceDeletePods, taintOutOfService } from './operator.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { addDisk, person, power, twoNodes } from './plain-cloud.ts';
import { attachedTo, secondsUntil } from './stopwatch.ts';

const disk = (world: PlainWorld) => world.parts.cloud.disks['disk-1'];
const attachmentOn = (world: PlainWorld, node: string) =>
  listObjects(world, 'volumeattachments').find(({ spec }) => spec.nodeName === node);
const notes = (world: PlainWorld) => listObjects(world, 'events').map(({ note }) => note);

const fence = (world: PlainWorld): void => {
  power(world, 'm-1', 'stopped');
  taintOutOfService(world, 'node-1', 'NoSchedule');
  world.advance(40);
  forceDeletePods(world, 'node-1');
};

const nudge = (world: PlainWorld, node: string): void => {
  const attachment = attachmentOn(world, node);
  if (!attachment) return;
  person(world).change('volumeattachments', attachment, (draft) => {
    draft.metadata.annotations = { ...draft.metadata.annotations, nudged: 'yes' };
  });
};

describe('VolumeAttachments', () => {
  it('have the name that Kubernetes computes', () => {
    const name = attachmentName(
      { driver: 'ebs.csi.aws.com', handle: 'vol-0123456789abcdef0' },
      'ip-10-0-0-1.ec2.internal',
    );
    expect(name).toBe('csi-fe06e9b7f0788d36d037dc072e698d0df29ffac77397761bb77014101d61709d');
  });

  it('have the attacher’s finalizer and the node’s ID', () => {
    const attachment = attachmentOn(twoNodes(1), 'node-1');
    expect(attachment?.metadata.finalizers).toEqual(['external-attacher/disk-example-org']);
    expect(attachment?.metadata.annotations).toEqual({ 'csi.alpha.kubernetes.io/node-id': 'm-1' });
  });

  it('are detached by their own annotation if the Node and its CSINode are gone', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    deleteNode(world, 'node-1');
    forceDeletePods(world, 'node-1');
    deleteAttachments(world, 'node-1');
    world.advance(2_000);
    expect(getObject(world, 'csinodes', 'node-1')).toBeUndefined();
    expect(attachmentOn(world, 'node-1')).toBeUndefined();
  });

  it('are recreated on the dead node if they are deleted while a pod still wants the volume', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    const uid = attachmentOn(world, 'node-1')?.metadata.uid;
    deleteAttachments(world, 'node-1');
    world.advance(65_000);
    expect(attachmentOn(world, 'node-1')?.status.attached).toBe(true);
    expect(attachmentOn(world, 'node-1')?.metadata.uid).not.toBe(uid);
  });
});

describe('a volume that is wanted on a second node', () => {
  it('is rejected without the name of a pod while it is attached elsewhere and no pod there wants it', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    deleteNode(world, 'node-1');
    forceDeletePods(world, 'node-1');
    world.advance(60_000);
    expect(notes(world)).toEqual([
      'Multi-Attach error for volume "pv-disk-1" Volume is already exclusively attached to one node and can\'t be attached to another',
    ]);
  });

  it('is rejected with the name of the pod that uses it, and is reported once although the pod goes', () => {
    const world = twoNodes(1);
    addDeployment(world, { name: 'web', disk: addDisk(world, 'disk-2') });
    settle(world);
    const old = listObjects(world, 'pods').find(({ metadata }) => metadata.labels?.['app'] === 'web');
    power(world, old?.spec.nodeName === 'node-1' ? 'm-1' : 'm-2', 'stopped');
    world.advance(450_000);
    if (old) person(world).remove('pods', old, 0);
    world.advance(10_000);
    expect(notes(world)).toEqual([
      `Multi-Attach error for volume "pv-disk-2" Volume is already used by pod(s) ${old?.metadata.name}`,
    ]);
  });

  it('is not rejected if it may be on several nodes at once', () => {
    const world = twoNodes(1);
    addDeployment(world, {
      name: 'files',
      replicas: 2,
      disk: { ...addDisk(world, 'disk-3'), accessModes: ['ReadWriteMany'] },
    });
    world.advance(2_000);
    const shares = listObjects(world, 'volumeattachments').filter(
      ({ spec }) => spec.source.persistentVolumeName === 'pv-disk-3',
    );
    expect(shares.map(({ spec }) => spec.nodeName).toSorted()).toEqual(['node-1', 'node-2']);
    expect(notes(world).filter((note) => note?.startsWith('Multi-Attach'))).toEqual([]);
  });

  it('is tried elsewhere after a failed detach if only the cloud rejects it', () => {
    const world = twoNodes(1);
    Object.assign(disk(world) ?? {}, { refuses: 'detach' });
    fence(world);
    expect(secondsUntil(world, () => attachmentOn(world, 'node-2') !== undefined, 2)).not.toBeNull();
    world.advance(2_000);
    expect(disk(world)?.on).toBe('m-1');
    expect(getObject(world, 'nodes', 'node-1')?.status.volumesAttached).toEqual([]);
    expect(attachmentOn(world, 'node-1')?.status.detachError?.message).toBe('InternalError: disk-1');
    expect(notes(world)).toEqual(['AttachVolume.Attach failed for volume "pv-disk-1" : VolumeInUse: disk-1']);
  });
});

describe('a detach that fails for 20 s', () => {
  const recovered = (nudged: readonly string[]): number => {
    const world = twoNodes(1);
    Object.assign(disk(world) ?? {}, { refuses: 'detach' });
    fence(world);
    world.advance(20_000);
    Object.assign(disk(world) ?? {}, { refuses: null });
    world.advance(1_000);
    if (nudged.includes('old')) nudge(world, 'node-1');
    const old = secondsUntil(world, () => attachmentOn(world, 'node-1') === undefined, 30) ?? Number.POSITIVE_INFINITY;
    if (nudged.includes('new')) nudge(world, 'node-2');
    return 21 + old + (attachedTo(world, 'node-2', 120) ?? Number.POSITIVE_INFINITY);
  };

  it('costs a minute of back-off, measured 63.8 s', () => {
    expect(Math.abs(recovered([]) - 63.8)).toBeLessThan(2);
  });

  it('costs half of that if the old VolumeAttachment is nudged, measured 31.8 s', () => {
    expect(Math.abs(recovered(['old']) - 31.8)).toBeLessThan(2);
  });

  it('costs nothing more if the new one is also nudged, measured 24.1 s', () => {
    expect(Math.abs(recovered(['old', 'new']) - 24.1)).toBeLessThan(2);
  });
});

describe('the out-of-service taint', () => {
  it('takes the disk from a slow unmount if it is on a healthy node', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.unmountMs = 5_000;
    taintOutOfService(world, 'node-1', 'NoSchedule');
    world.advance(1_000);
    expect(world.parts.cloud.violations).toEqual([]);
    forceDeletePods(world, 'node-1');
    world.advance(2_000);
    expect(world.parts.cloud.violations).toEqual(['disk-1']);
  });

  it('takes the disk from a guest that is only cut off', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.partitioned.push('node-1');
    taintOutOfService(world, 'node-1', 'NoSchedule');
    forceDeletePods(world, 'node-1');
    world.advance(2_000);
    expect(world.parts.cloud.violations).toEqual(['disk-1']);
  });
});
