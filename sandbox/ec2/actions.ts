import { attach, detach } from './attachments.ts';
import { describeInstances, describeInstanceTypes, describeVolumes } from './describe.ts';
import type { StopOptions } from './instances.ts';
import { mayStart, mayStop, reboot, start, stopByUser, terminate } from './instances.ts';
import { flag, namedInstance, namedInstances, requireVolume, noSuchInstances } from './params.ts';
import { Ec2Refusal } from './refusal.ts';
import type { Tree } from './render.ts';
import { attachmentTree, changeTree, xmlList } from './render.ts';
import type { Ec2World, Instance, Volume } from './state.ts';
import { attachmentTo, instanceIn } from './state.ts';

/** One API action: its effect on the world, and the body of its response. */
export type Action = (world: Ec2World, params: URLSearchParams) => Tree;

const stopInstances: Action = (world, params) => {
  const order: StopOptions = {
    force: flag(params, 'Force'),
    hibernate: flag(params, 'Hibernate'),
    skipOsShutdown: flag(params, 'SkipOsShutdown'),
  };
  const instances = namedInstances(world, params);
  for (const instance of instances) mayStop(instance, order);
  return changes(instances, (instance) => stopByUser(world, instance, order));
};

const startInstances: Action = (world, params) => {
  const instances = namedInstances(world, params);
  for (const instance of instances) mayStart(instance);
  return changes(instances, (instance) => start(world, instance));
};

const terminateInstances: Action = (world, params) =>
  changes(namedInstances(world, params), (instance) => terminate(world, instance));

const changes = (instances: readonly Instance[], apply: (instance: Instance) => Instance): Tree => ({
  instancesSet: xmlList(instances.map((instance) => changeTree(instance, apply(instance)))),
});

const rebootInstances: Action = (world, params) => {
  for (const instance of namedInstances(world, params)) reboot(world, instance);
  return { return: true };
};

const attachVolume: Action = (world, params) => {
  const volume = requireVolume(world, params);
  const device = params.get('Device');
  if (device === null) throw new Ec2Refusal('MissingParameter', 'The request must contain the parameter device');
  return attachmentTree(volume.id, attach(world, volume, namedInstance(world, params), device));
};

const detachVolume: Action = (world, params) => {
  const volume = requireVolume(world, params);
  if (volume.attachments.length === 0)
    throw new Ec2Refusal('IncorrectState', `Volume '${volume.id}' is in the 'available' state.`);
  return attachmentTree(volume.id, detach(world, volume, holderOf(world, volume, params), flag(params, 'Force')));
};

/** Without an InstanceId, EC2 uses the instance that has the volume, if there is only one. */
const holderOf = (world: Ec2World, volume: Volume, params: URLSearchParams): Instance => {
  const id =
    params.get('InstanceId') ?? (volume.attachments.length === 1 ? volume.attachments[0]?.instance : undefined);
  if (id === undefined)
    throw new Ec2Refusal('InvalidParameterCombination', `${volume.id} has several attachments: InstanceId is required`);
  const instance = instanceIn(world, id);
  if (instance) return instance;
  throw attachmentTo(volume, id) ? new Ec2Refusal('InternalError', `${id} is gone`, 500) : noSuchInstances([id]);
};

export const actions: Readonly<Record<string, Action>> = {
  DescribeInstances: describeInstances,
  DescribeInstanceTypes: describeInstanceTypes,
  DescribeVolumes: describeVolumes,
  StopInstances: stopInstances,
  StartInstances: startInstances,
  TerminateInstances: terminateInstances,
  RebootInstances: rebootInstances,
  AttachVolume: attachVolume,
  DetachVolume: detachVolume,
};
