import {
  DescribeInstancesCommand,
  DescribeVolumesCommand,
  DetachVolumeCommand,
  EC2Client,
  type Instance,
  StopInstancesCommand,
  type Volume,
} from '@aws-sdk/client-ec2';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import type { PermittedPath } from '../../../transport/under-permit.ts';
import { isGone } from '../machines.ts';
import { rootVolumeIdOf } from '../names.ts';
import { type CloudSide, holderOf, secondAt, seenById, type ObservedMachine } from './side.ts';

/** EC2 behind the client of the SDK. All of providers/aws runs on it. */

export const EC2_REGION = 'eu-west-1';

const STATES = {
  running: 'running',
  stopping: 'stopping',
  off: 'stopped',
  suspended: 'stopped',
  starting: 'pending',
  gone: 'terminated',
} as const;

const errorOf = (name: string, status: number): Error =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status } });

const reasonOf = ({ byGuest, hibernated }: ObservedMachine['shown']): string => {
  if (hibernated) return 'Client.UserInitiatedHibernate';
  return byGuest ? 'Client.InstanceInitiatedShutdown' : 'Client.UserInitiatedShutdown';
};

const instanceOf = ({ machine, shown }: ObservedMachine): Instance => {
  const power = shown.power === 'forgotten' ? 'gone' : shown.power;
  const isDown = power !== 'running' && power !== 'starting';
  const stopped = secondAt(shown.stoppedAt).toISOString().slice(0, 19).replace('T', ' ');
  return {
    InstanceId: machine.id,
    State: { Name: STATES[power] },
    ...(isDown && { StateReason: { Code: reasonOf(shown) } }),
    StateTransitionReason: isDown && !shown.byGuest ? `User initiated (${stopped} GMT)` : '',
    HibernationOptions: { Configured: machine.mayHibernate },
    LaunchTime: secondAt(shown.launchedAt),
    PrivateDnsName: machine.node,
    RootDeviceName: ROOT_DEVICE,
    Placement: { AvailabilityZone: machine.zone },
    Tags: [],
  };
};

const ROOT_DEVICE = '/dev/xvda';

const volumeOf = (id: string, holder: string | null, device = `/dev/${id}`): Volume => ({
  VolumeId: id,
  State: holder === null ? 'available' : 'in-use',
  MultiAttachEnabled: false,
  Attachments: holder === null ? [] : [{ VolumeId: id, InstanceId: holder, Device: device, State: 'attached' }],
});

const filtered = (command: DescribeVolumesCommand, name: string): readonly string[] =>
  command.input.Filters?.find(({ Name }) => Name === name)?.Values ?? [];

const described = (side: CloudSide, ids: readonly string[], age: number, hides: boolean) => {
  const instances = ids.map((id) => {
    const sight = hides ? null : seenById(side, id, age);
    if (!sight || sight.shown.power === 'forgotten') throw errorOf('InvalidInstanceID.NotFound', 400);
    return instanceOf(sight);
  });
  return { Reservations: [{ Instances: instances }], $metadata: { requestId: 'r' } };
};

const volumes = (side: CloudSide, command: DescribeVolumesCommand, age: number) => {
  const holders = filtered(command, 'attachment.instance-id');
  const ids = [...filtered(command, 'volume-id'), ...(command.input.VolumeIds ?? [])];
  const all = [...side.fleet.disks.values()]
    .filter(({ cloud }) => cloud === 'aws')
    .map(({ id }) => ({ id, holder: holderOf(side, id, age)?.id ?? null }));
  const found = all.filter(({ id, holder }) => ids.includes(id) || (holder !== null && holders.includes(holder)));
  const roots = side.fleet.machines
    .filter((machine) => machine.cloud === 'aws' && holders.includes(machine.id) && !isGone(machine))
    .map((machine) => volumeOf(rootVolumeIdOf(machine), machine.id, ROOT_DEVICE));
  const data = found.map(({ id, holder }) => volumeOf(id, holder));
  return { Volumes: [...roots, ...data], $metadata: { requestId: 'r' } };
};

const detach = (side: CloudSide, { input }: DetachVolumeCommand) => {
  side.watchDetach(seenById(side, input.InstanceId ?? '', 0)?.machine ?? null, input.VolumeId ?? '');
  const disk = side.fleet.disks.get(input.VolumeId ?? '');
  if (!disk) throw errorOf('InvalidVolume.NotFound', 400);
  if (disk.holder === null || disk.holder.id !== input.InstanceId) throw errorOf('IncorrectState', 400);
  side.watch({ verb: 'detach', machine: disk.holder, disk });
  side.detach(disk.holder, disk, input.Force === true);
  return {};
};

const stopAll = (side: CloudSide, { input }: StopInstancesCommand) => {
  for (const id of input.InstanceIds ?? []) {
    const sight = seenById(side, id, 0);
    if (!sight || sight.shown.power === 'forgotten') throw errorOf('InvalidInstanceID.NotFound', 400);
    if (sight.shown.power === 'gone') throw errorOf('IncorrectInstanceState', 400);
    side.watch({ verb: 'power-off', machine: sight.machine, disk: null });
    side.powerOff(sight.machine);
  }
  return {};
};

const answerTo = (side: CloudSide, command: unknown, age: number, hides: boolean): object => {
  if (command instanceof DescribeInstancesCommand) return described(side, command.input.InstanceIds ?? [], age, hides);
  if (command instanceof DescribeVolumesCommand) return volumes(side, command, age);
  if (command instanceof DetachVolumeCommand) return detach(side, command);
  if (command instanceof StopInstancesCommand) return stopAll(side, command);
  throw new Error('the simulated EC2 does not know this command');
};

const isWrite = (command: unknown): boolean =>
  command instanceof DetachVolumeCommand || command instanceof StopInstancesCommand;

const clientOf = (side: CloudSide, passage: PermittedPath | null): EC2Client => {
  const client: EC2Client = Object.create(EC2Client.prototype);
  const send = async (command: object, options: { readonly abortSignal?: AbortSignal } = {}) => {
    passage?.check();
    return side.network.call(side.process, {
      service: 'cloud',
      name: command.constructor.name,
      signal: options.abortSignal,
      isWrite: isWrite(command),
      throttled: () => errorOf('RequestLimitExceeded', 503),
      failed: () => errorOf('InternalError', 500),
      denied: () => errorOf('UnauthorizedOperation', 403),
      arrives: (age, hides) => answerTo(side, command, age, hides),
    });
  };
  return Object.assign(client, { send, middlewareStack: { add: () => undefined } });
};

export const simulatedEc2 = (side: CloudSide): Cloud =>
  awsCloud({
    region: EC2_REGION,
    clients: { reads: clientOf(side, null), writes: (passage) => clientOf(side, passage) },
  });
