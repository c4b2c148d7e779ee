import {
  AttachVolumeCommand,
  DescribeInstancesCommand,
  DetachVolumeCommand,
  type Instance,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorCodeOf } from '../../../providers/aws/errors.ts';
import type { MotoControl } from './moto-harness.ts';
import { motoControl } from './moto-harness.ts';
import { startMoto } from './moto-server.ts';
import { openStrictProxy } from './strict-proxy.ts';

/**
 * Where moto answers differently from EC2, with both answers. If moto fixes an entry, remove it, and its rule in the
 * proxy.
 */
interface Difference {
  readonly behaviour: string;
  readonly try: (hand: MotoControl) => Promise<unknown>;
  readonly moto: string;
  readonly ec2: string;
}

const described = async ({ client }: MotoControl, id: string): Promise<Instance> => {
  const answer = await client.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
  return answer.Reservations?.[0]?.Instances?.[0] ?? {};
};

const launchTime = async (hand: MotoControl, id: string): Promise<number | undefined> =>
  (await described(hand, id)).LaunchTime?.getTime();

const restart = async (hand: MotoControl): Promise<string> => {
  const id = await hand.machine();
  const before = await launchTime(hand, id);
  await hand.client.send(new StopInstancesCommand({ InstanceIds: [id] }));
  await hand.client.send(new StartInstancesCommand({ InstanceIds: [id] }));
  return (await launchTime(hand, id)) === before ? 'unchanged' : 'changed';
};

const hibernate = async (hand: MotoControl): Promise<string> => {
  const id = await hand.machine({ HibernationOptions: { Configured: true } });
  await hand.client.send(new StopInstancesCommand({ InstanceIds: [id], Hibernate: true }));
  const { HibernationOptions, StateReason } = await described(hand, id);
  return `${HibernationOptions?.Configured} ${StateReason?.Code}`;
};

const differences: readonly Difference[] = [
  {
    behaviour: 'a detach that names another instance, which has a disk at the same device',
    try: async (hand) => {
      const [disk, other] = [await hand.disk(await hand.machine()), await hand.machine()];
      await hand.disk(other);
      await hand.client.send(new DetachVolumeCommand({ VolumeId: disk, InstanceId: other }));
    },
    moto: 'accepted',
    ec2: 'InvalidAttachment.NotFound',
  },
  {
    behaviour: 'an attach of a volume in use',
    try: async (hand) => {
      const [disk, other] = [await hand.disk(await hand.machine()), await hand.machine()];
      await hand.client.send(new AttachVolumeCommand({ VolumeId: disk, InstanceId: other, Device: '/dev/sdg' }));
    },
    moto: 'accepted',
    ec2: 'VolumeInUse',
  },
  {
    behaviour: 'an attach to an instance of another zone',
    try: async (hand) => {
      const other = await hand.machine({ Placement: { AvailabilityZone: 'us-east-1b' } });
      await hand.disk(other);
    },
    moto: 'accepted',
    ec2: 'InvalidVolume.ZoneMismatch',
  },
  {
    behaviour: 'an attach to a terminated instance',
    try: async (hand) => {
      const gone = await hand.machine();
      await hand.client.send(new TerminateInstancesCommand({ InstanceIds: [gone] }));
      await hand.disk(gone);
    },
    moto: 'accepted',
    ec2: 'IncorrectState',
  },
  {
    behaviour: 'a detach of an available volume',
    try: async (hand) =>
      hand.client.send(new DetachVolumeCommand({ VolumeId: await hand.disk(null), InstanceId: await hand.machine() })),
    moto: 'InvalidAttachment.NotFound',
    ec2: 'IncorrectState',
  },
  {
    behaviour: 'a detach of the root volume of a running instance',
    try: async (hand) => {
      const id = await hand.machine();
      const root = (await described(hand, id)).BlockDeviceMappings?.[0]?.Ebs?.VolumeId;
      await hand.client.send(new DetachVolumeCommand({ VolumeId: root, InstanceId: id }));
    },
    moto: 'accepted',
    ec2: 'OperationNotPermitted',
  },
  {
    behaviour: 'a malformed instance id',
    try: (hand) => hand.client.send(new DescribeInstancesCommand({ InstanceIds: ['i-nonsense'] })),
    moto: 'InvalidInstanceID.NotFound',
    ec2: 'InvalidInstanceID.Malformed',
  },
  { behaviour: 'the launch time after a stop and a start', try: restart, moto: 'unchanged', ec2: 'changed' },
  {
    behaviour: 'the reason of a hibernation',
    try: hibernate,
    moto: 'true Client.UserInitiatedShutdown',
    ec2: 'true Client.UserInitiatedHibernate',
  },
];

const outcomeOf = async (difference: Difference, hand: MotoControl): Promise<unknown> => {
  try {
    const outcome = await difference.try(hand);
    return typeof outcome === 'string' ? outcome : 'accepted';
  } catch (caught) {
    return errorCodeOf(caught);
  }
};

describe('moto, where it differs from EC2', () => {
  let bare: MotoControl;
  let strict: MotoControl;
  beforeAll(async () => {
    const moto = await startMoto();
    const proxy = await openStrictProxy(moto.url, 'us-east-1');
    bare = await motoControl(moto.url);
    strict = await motoControl(proxy.url);
    return async () => {
      await proxy.close();
      await moto.close();
    };
  }, 60_000);

  it.each(differences)('answers $moto to $behaviour', async (difference) => {
    expect(await outcomeOf(difference, bare)).toBe(difference.moto);
  });

  it('lets a stopped instance attach a volume, as EC2 does', async () => {
    const stopped = await strict.machine();
    await strict.client.send(new StopInstancesCommand({ InstanceIds: [stopped] }));
    expect(await strict.holderOf(await strict.disk(stopped))).toBe(stopped);
  });

  it.each(differences)('answers $ec2 through the strict proxy to $behaviour', async (difference) => {
    expect(await outcomeOf(difference, strict)).toBe(difference.ec2);
  });

  // What the scenarios of the control plane rely on, and no more. If the proxy grows further, make it an emulator of
  // its own.
  it('differs in at most nine ways', () => {
    expect(differences.length).toBeLessThanOrEqual(9);
  });
});
