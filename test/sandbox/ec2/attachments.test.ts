import { AttachVolumeCommand, DescribeVolumesCommand, DetachVolumeCommand } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../../providers/aws/errors.ts';
import { defaultStop, stopByUser } from '../../../sandbox/ec2/instances.ts';
import { addInstance, addVolume, stopGuest } from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { instanceIn, volumeIn, volumesOf } from '../../../sandbox/ec2/state.ts';
import { underlyingEc2 } from '../../../sandbox/ec2/underlying-cloud.ts';
import { MINUTE, clientOf, ec2World } from './ec2-world.ts';

const mounted = () => {
  const world = ec2World();
  const machine = addInstance(world);
  const disk = addVolume(world, {}, { instance: machine });
  expect(underlyingEc2.mount(world, disk, machine)).toBe(true);
  return { world, machine, disk };
};

const detach = (world: Ec2World, VolumeId: string, InstanceId: string, Force = false) =>
  clientOf(world).send(new DetachVolumeCommand({ VolumeId, InstanceId, Force }));

const attachmentStates = (world: Ec2World, disk: string) =>
  volumeIn(world, disk)?.attachments.map((attachment) => attachment.state);

const refusedWith = (code: string) => expect.toSatisfy((caught: unknown) => errorCodeOf(caught) === code);

describe("disks in the sandbox's EC2", () => {
  it('are busy while a living guest has them mounted, and are detached once it releases them', async () => {
    const { world, machine, disk } = mounted();
    await detach(world, disk, machine);
    expect(attachmentStates(world, disk)).toEqual(['detaching']);
    world.advance(MINUTE);
    expect(attachmentStates(world, disk)).toEqual(['busy']);
    underlyingEc2.unmount(world, disk, machine);
    expect(attachmentStates(world, disk)).toEqual([]);
    expect(world.parts.ec2.violations).toEqual([]);
  });

  it('are detached when the busy guest has stopped', async () => {
    const { world, machine, disk } = mounted();
    await detach(world, disk, machine);
    stopGuest(world, machine);
    world.advance(MINUTE);
    expect(attachmentStates(world, disk)).toEqual([]);
    expect(world.parts.ec2.violations).toEqual([]);
  });

  it('cause a violation if they are taken from a living guest, and again if another machine gets them', async () => {
    const { world, machine, disk } = mounted();
    await detach(world, disk, machine, true);
    world.advance(MINUTE);
    const other = addInstance(world);
    await clientOf(world).send(new AttachVolumeCommand({ VolumeId: disk, InstanceId: other, Device: '/dev/sdf' }));
    expect(world.parts.ec2.violations.map((violations) => violations.what)).toEqual([
      `${disk} was detached from ${machine}, whose guest is up and has it mounted`,
      `${disk} was attached to ${other} while ${machine}, whose guest is up, has it mounted`,
    ]);
  });

  it('cause a violation if they are taken from a hibernated guest', async () => {
    const world = ec2World();
    const machine = addInstance(world, { canHibernate: true });
    const disk = addVolume(world, {}, { instance: machine });
    underlyingEc2.mount(world, disk, machine);
    const instance = instanceIn(world, machine);
    if (instance) stopByUser(world, instance, { ...defaultStop, hibernate: true });
    world.advance(MINUTE);
    await detach(world, disk, machine);
    world.advance(MINUTE);
    expect(world.parts.ec2.violations).toHaveLength(1);
  });

  it('cause no violation if they are taken from a stopped machine', async () => {
    const { world, machine, disk } = mounted();
    stopGuest(world, machine);
    world.advance(MINUTE);
    await detach(world, disk, machine);
    world.advance(MINUTE);
    expect(attachmentStates(world, disk)).toEqual([]);
    expect(world.parts.ec2.violations).toEqual([]);
  });

  it('are rejected where EC2 rejects them', async () => {
    const { world, machine, disk } = mounted();
    const [other, elsewhere] = [addInstance(world), addInstance(world, { zone: 'eu-central-1b' })];
    const [stopping, managed] = [addInstance(world, { state: 'stopping' }), addInstance(world, { managed: true })];
    const [free, theirs] = [addVolume(world), addVolume(world, {}, { instance: managed })];
    const root = volumesOf(world, other)[0]?.id ?? '';
    const attach = (VolumeId: string, InstanceId: string) =>
      clientOf(world).send(new AttachVolumeCommand({ VolumeId, InstanceId, Device: '/dev/sdg' }));
    await expect(attach(disk, other)).rejects.toEqual(refusedWith('VolumeInUse'));
    await expect(attach(free, elsewhere)).rejects.toEqual(refusedWith('InvalidVolume.ZoneMismatch'));
    await expect(attach(free, stopping)).rejects.toEqual(refusedWith('IncorrectState'));
    await expect(detach(world, disk, other, true)).rejects.toEqual(refusedWith('InvalidAttachment.NotFound'));
    await expect(detach(world, free, machine)).rejects.toEqual(refusedWith('IncorrectState'));
    await expect(detach(world, root, other)).rejects.toEqual(refusedWith('OperationNotPermitted'));
    await expect(detach(world, theirs, managed)).rejects.toEqual(refusedWith('UnsupportedOperation'));
    await expect(detach(world, 'vol-0ffffffff', machine)).rejects.toEqual(refusedWith('InvalidParameterValue'));
    await expect(detach(world, 'vol-ffffffff', machine)).rejects.toEqual(refusedWith('InvalidVolume.NotFound'));
    expect(attachmentStates(world, disk)).toEqual(['attached']);
  });

  it('are listed by the machine that they are attached to', async () => {
    const { world, machine, disk } = mounted();
    addVolume(world);
    const Filters = [{ Name: 'attachment.instance-id', Values: [machine] }];
    const { Volumes } = await clientOf(world).send(new DescribeVolumesCommand({ Filters }));
    expect(Volumes?.map((volume) => volume.VolumeId)).toContain(disk);
    expect(Volumes).toHaveLength(2);
  });
});

describe('the EBS driver on the sandbox', () => {
  it('publishes and unpublishes by asking again, and never forces', () => {
    const world = ec2World();
    const [machine, disk] = [addInstance(world), addVolume(world)];
    expect(underlyingEc2.publish(world, disk, machine)).toBe('pending');
    expect(underlyingEc2.mount(world, disk, machine)).toBe(false);
    world.advance(MINUTE);
    expect(underlyingEc2.publish(world, disk, machine)).toBe('done');
    underlyingEc2.mount(world, disk, machine);
    expect(underlyingEc2.unpublish(world, disk, machine)).toBe('pending');
    world.advance(MINUTE);
    expect(underlyingEc2.unpublish(world, disk, machine)).toBe('pending');
    underlyingEc2.unmount(world, disk, machine);
    expect(underlyingEc2.unpublish(world, disk, machine)).toBe('done');
    expect(world.parts.ec2.violations).toEqual([]);
  });

  it('learns that a disk is in use elsewhere', () => {
    const { world, disk } = mounted();
    expect(underlyingEc2.publish(world, disk, addInstance(world))).toEqual({
      error: expect.stringMatching(/^VolumeInUse/),
    });
  });

  it('reports to the cloud controller whether machines exist, are shut down, or are gone', () => {
    const world = ec2World();
    const states = ['running', 'stopping', 'stopped', 'terminated'] as const;
    expect(states.map((state) => underlyingEc2.existence(world, addInstance(world, { state })))).toEqual([
      'exists',
      'exists',
      'shut-down',
      'gone',
    ]);
    expect(underlyingEc2.existence(world, 'i-ffffffff')).toBe('gone');
  });
});
