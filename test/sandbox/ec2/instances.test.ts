import {
  DescribeInstancesCommand,
  RebootInstancesCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../../providers/aws/errors.ts';
import {
  forget,
  addInstance,
  addVolume,
  haltGuest,
  shutdownTakes,
  stopGuest,
  stopOutOfBand,
} from '../../../sandbox/ec2/scenario.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { instanceIn, volumeIn } from '../../../sandbox/ec2/state.ts';
import { MINUTE, clientOf, ec2World } from './ec2-world.ts';

const describeOne = async (world: Ec2World, id: string) =>
  (await clientOf(world).send(new DescribeInstancesCommand({ InstanceIds: [id] }))).Reservations?.[0]?.Instances?.[0];

const announced = (world: Ec2World, id: string): readonly string[] =>
  world.parts.ec2.events.filter((event) => event.detail['instance-id'] === id).map((event) => event.detail.state);

describe("the life of an instance in the sandbox's EC2", () => {
  it('passes through stopping and pending, with an event for each state', async () => {
    const world = ec2World({ shutdownTakes: 20_000, bootTakes: 15_000 });
    const id = addInstance(world);
    const first = (await describeOne(world, id))?.LaunchTime;
    await clientOf(world).send(new StopInstancesCommand({ InstanceIds: [id] }));
    world.advance(19_999);
    expect(await describeOne(world, id)).toMatchObject({
      State: { Code: 64, Name: 'stopping' },
      StateTransitionReason: 'User initiated (2026-11-21 00:00:00 GMT)',
    });
    world.advance(1);
    expect(await describeOne(world, id)).toMatchObject({
      State: { Code: 80, Name: 'stopped' },
      StateReason: { Code: 'Client.UserInitiatedShutdown' },
    });
    await clientOf(world).send(new StartInstancesCommand({ InstanceIds: [id] }));
    world.advance(15_000);
    const again = await describeOne(world, id);
    expect(again).toMatchObject({ State: { Code: 16 } });
    expect(again?.LaunchTime).not.toEqual(first);
    expect(announced(world, id)).toEqual(['stopping', 'stopped', 'pending', 'running']);
  });

  it('keeps the guest alive until it is really stopped', () => {
    const world = ec2World({ shutdownTakes: 20_000 });
    const id = addInstance(world);
    stopGuest(world, id);
    world.advance(19_999);
    expect(instanceIn(world, id)).toMatchObject({ state: 'stopping', guest: 'up' });
    world.advance(1);
    expect(instanceIn(world, id)).toMatchObject({ state: 'stopped', guest: 'down' });
  });

  it('stops a machine that never shuts down only by force', async () => {
    const world = ec2World();
    const id = addInstance(world);
    shutdownTakes(world, id, null);
    await clientOf(world).send(new StopInstancesCommand({ InstanceIds: [id] }));
    world.advance(60 * MINUTE);
    expect(instanceIn(world, id)?.state).toBe('stopping');
    await clientOf(world).send(new StopInstancesCommand({ InstanceIds: [id], Force: true }));
    world.advance(MINUTE);
    expect(instanceIn(world, id)?.state).toBe('stopped');
  });

  it('shows a hibernation by its reason, and resumes the same boot', async () => {
    const world = ec2World();
    const id = addInstance(world, { canHibernate: true });
    await clientOf(world).send(new StopInstancesCommand({ InstanceIds: [id], Hibernate: true }));
    world.advance(MINUTE);
    expect(await describeOne(world, id)).toMatchObject({
      State: { Name: 'stopped' },
      StateReason: { Code: 'Client.UserInitiatedHibernate' },
      HibernationOptions: { Configured: true },
    });
    await clientOf(world).send(new StartInstancesCommand({ InstanceIds: [id] }));
    world.advance(MINUTE);
    expect(instanceIn(world, id)).toMatchObject({ guest: 'up', boot: 1 });
  });

  it('frees the data disks of a terminated machine, deletes its root disk, and forgets it later', async () => {
    const world = ec2World({ forgetAfter: 60 * MINUTE });
    const id = addInstance(world);
    const root = Object.keys(world.parts.ec2.volumes)[0] ?? '';
    const disk = addVolume(world, {}, { instance: id });
    await clientOf(world).send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    world.advance(MINUTE);
    expect(await describeOne(world, id)).toMatchObject({
      State: { Code: 48 },
      PrivateDnsName: '',
      BlockDeviceMappings: [],
    });
    expect(volumeIn(world, disk)?.attachments).toEqual([]);
    expect(volumeIn(world, root)).toBeUndefined();
    world.advance(60 * MINUTE);
    await expect(describeOne(world, id)).rejects.toSatisfy(
      (caught) => errorCodeOf(caught) === 'InvalidInstanceID.NotFound',
    );
  });

  it('shows nothing of a reboot, or of a guest that halts', async () => {
    const world = ec2World();
    const id = addInstance(world);
    const before = await describeOne(world, id);
    await clientOf(world).send(new RebootInstancesCommand({ InstanceIds: [id] }));
    haltGuest(world, id);
    expect(await describeOne(world, id)).toEqual(before);
    expect(announced(world, id)).toEqual([]);
    expect(instanceIn(world, id)).toMatchObject({ boot: 2, guest: 'down' });
  });

  it('answers with the state of a moment ago if reads are stale', async () => {
    const world = ec2World({ staleUpTo: 5_000 });
    const id = addInstance(world);
    stopOutOfBand(world, id, 'Server.ScheduledStop');
    world.advance(4_999);
    expect((await describeOne(world, id))?.State?.Name).toBe('running');
    world.advance(1);
    expect((await describeOne(world, id))?.State?.Name).toBe('stopping');
  });

  it('rejects what EC2 rejects, and then changes nothing', async () => {
    const world = ec2World();
    const [id, gone] = [addInstance(world), addInstance(world)];
    forget(world, gone);
    const refusals = [
      [new StopInstancesCommand({ InstanceIds: [id, gone] }), 'InvalidInstanceID.NotFound'],
      [new StopInstancesCommand({ InstanceIds: [id, 'i-xyz'] }), 'InvalidInstanceID.Malformed'],
      [new StopInstancesCommand({ InstanceIds: [id], Hibernate: true }), 'UnsupportedHibernationConfiguration'],
      [new StopInstancesCommand({ InstanceIds: [id], DryRun: true }), 'DryRunOperation'],
    ] as const;
    for (const [command, code] of refusals) {
      await expect(clientOf(world).send(command)).rejects.toSatisfy((caught) => errorCodeOf(caught) === code);
    }
    expect(instanceIn(world, id)?.state).toBe('running');
  });

  it('filters by tag, state, and name, and pages over reservations', async () => {
    const world = ec2World({ pageSize: 2 });
    const tagged = [1, 2, 3].map(() => addInstance(world, { tags: { role: 'db' }, reservation: 'r-1' }));
    addInstance(world);
    const Filters = [
      { Name: 'tag:role', Values: ['db'] },
      { Name: 'instance-state-name', Values: ['running'] },
    ];
    const first = await clientOf(world).send(new DescribeInstancesCommand({ Filters }));
    const second = await clientOf(world).send(
      new DescribeInstancesCommand({ Filters, ...(first.NextToken ? { NextToken: first.NextToken } : {}) }),
    );
    const seen = [first, second]
      .flatMap((page) => page.Reservations ?? [])
      .flatMap((reservation) => reservation.Instances ?? []);
    expect(seen.map((instance) => instance.InstanceId)).toEqual(tagged);
    expect(second.NextToken).toBeUndefined();
  });

  it('accepts up to two hundred filter values in one call', async () => {
    const world = ec2World();
    const id = addInstance(world);
    const asked = (values: number) => {
      const ids = { Name: 'instance-id', Values: Array.from({ length: values }, () => id) };
      const running = { Name: 'instance-state-name', Values: ['running'] };
      return clientOf(world).send(new DescribeInstancesCommand({ Filters: [ids, running] }));
    };
    expect((await asked(199)).Reservations).toHaveLength(1);
    await expect(asked(200)).rejects.toSatisfy((caught) => errorCodeOf(caught) === 'FilterLimitExceeded');
  });

  it('can be forked: what happens in one branch does not happen in the other', () => {
    const world = ec2World();
    const id = addInstance(world);
    const branch = world.fork();
    stopGuest(branch, id);
    branch.advance(MINUTE);
    expect([instanceIn(world, id)?.state, instanceIn(branch, id)?.state]).toEqual(['running', 'stopped']);
  });
});
