import { announce } from './announce.ts';
import { write } from '../history.ts';
import { Ec2Refusal } from './refusal.ts';
import { settleAttachment } from './attachments.ts';
import type { Ec2World, Instance, StateReason, Volume } from './state.ts';
import { attachmentTo, instanceIn, volumesOf } from './state.ts';

/** The lifecycle of one instance: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-lifecycle.html */

export const SETTLE_INSTANCE = 'ec2.settle-instance';
export const FORGET_INSTANCE = 'ec2.forget-instance';

export interface StopOptions {
  readonly force: boolean;
  readonly hibernate: boolean;
  readonly skipOsShutdown: boolean;
}

export const defaultStop: StopOptions = { force: false, hibernate: false, skipOsShutdown: false };

export const change = (world: Ec2World, instance: Instance, changes: Partial<Instance>): Instance => {
  const changed = { ...instance, ...changes };
  write(world.parts.ec2.instances, instance.id, changed, world.now());
  if (changed.state !== instance.state) announce(world, instance.id, changed.state);
  return changed;
};

/** Returns the present time in the form of a transition reason. */
export const userInitiated = (world: Ec2World): string =>
  `User initiated (${new Date(world.now()).toISOString().slice(0, 19).replace('T', ' ')} GMT)`;

const shutdownByUser: StateReason = {
  code: 'Client.UserInitiatedShutdown',
  message: 'Client.UserInitiatedShutdown: User initiated shutdown',
};
const hibernateByUser: StateReason = {
  code: 'Client.UserInitiatedHibernate',
  message: 'Client.UserInitiatedHibernate: User initiated hibernate',
};

const wrongState = (id: string, verb: string): Ec2Refusal =>
  new Ec2Refusal('IncorrectInstanceState', `The instance '${id}' is not in a state from which it can be ${verb}.`);

/** @throws Ec2Refusal if the instance cannot be stopped now. In that case, nothing changes. */
export const mayStop = (instance: Instance, order: StopOptions): void => {
  if (instance.state === 'pending' || instance.state === 'shutting-down' || instance.state === 'terminated') {
    throw wrongState(instance.id, 'stopped');
  }
  if (order.hibernate && !instance.canHibernate) {
    throw new Ec2Refusal(
      'UnsupportedHibernationConfiguration',
      `The instance '${instance.id}' is not configured for hibernation.`,
    );
  }
};

export const stopByUser = (world: Ec2World, instance: Instance, order: StopOptions): Instance => {
  const reason = order.hibernate ? hibernateByUser : shutdownByUser;
  if (instance.state === 'running') beginStop(world, instance, reason, userInitiated(world), order.hibernate);
  const { forcedStopTakes } = world.parts.ec2.knobs;
  const stopping = instanceIn(world, instance.id) ?? instance;
  if (stopping.state === 'stopping' && (order.force || order.skipOsShutdown))
    world.schedule(SETTLE_INSTANCE, forcedStopTakes, instance.id);
  return stopping;
};

/** Shuts the machine down, at the speed of its operating system. */
export const beginStop = (
  world: Ec2World,
  instance: Instance,
  stateReason: StateReason,
  transitionReason: string,
  hibernating = false,
): void => {
  change(world, instance, { state: 'stopping', stateReason, transitionReason, hibernating });
  if (instance.shutdownTakes !== null) world.schedule(SETTLE_INSTANCE, instance.shutdownTakes, instance.id);
};

/** @throws Ec2Refusal if the instance cannot be started now. */
export const mayStart = (instance: Instance): void => {
  if (instance.state === 'stopping' || instance.state === 'shutting-down' || instance.state === 'terminated') {
    throw wrongState(instance.id, 'started');
  }
};

export const start = (world: Ec2World, instance: Instance): Instance => {
  if (instance.state !== 'stopped') return instance;
  world.schedule(SETTLE_INSTANCE, world.parts.ec2.knobs.bootTakes, instance.id);
  return change(world, instance, {
    state: 'pending',
    launchTime: world.now(),
    stateReason: null,
    transitionReason: '',
  });
};

export const terminate = (world: Ec2World, instance: Instance): Instance => {
  if (instance.state === 'terminated' || instance.state === 'shutting-down') return instance;
  world.schedule(SETTLE_INSTANCE, world.parts.ec2.knobs.terminateTakes, instance.id);
  return change(world, instance, {
    state: 'shutting-down',
    stateReason: shutdownByUser,
    transitionReason: userInitiated(world),
    hibernating: false,
  });
};

/** A reboot is not visible: no state change, no event, the same LaunchTime. */
export const reboot = (world: Ec2World, instance: Instance): void => {
  if (instance.state !== 'running') throw wrongState(instance.id, 'rebooted');
  change(world, instance, { guest: 'up', boot: instance.boot + 1, mounts: [] });
  releaseBusy(world, instance.id);
};

/** Completes the transition in progress. */
export const settleInstance = (world: Ec2World, id: string): void => {
  const instance = instanceIn(world, id);
  if (instance?.state === 'pending') endBoot(world, instance);
  if (instance?.state === 'stopping') endStop(world, instance);
  if (instance?.state === 'shutting-down') endTermination(world, instance);
};

const endBoot = (world: Ec2World, instance: Instance): void => {
  const boot = instance.guest === 'frozen' ? instance.boot : instance.boot + 1;
  change(world, instance, { state: 'running', guest: 'up', boot, hibernating: false });
};

const endStop = (world: Ec2World, instance: Instance): void => {
  const frozen = instance.hibernating && instance.guest === 'up';
  change(
    world,
    instance,
    frozen ? { state: 'stopped', guest: 'frozen' } : { state: 'stopped', guest: 'down', mounts: [] },
  );
  releaseBusy(world, instance.id);
};

const endTermination = (world: Ec2World, instance: Instance): void => {
  const { ec2 } = world.parts;
  change(world, instance, { state: 'terminated', guest: 'down', mounts: [], privateDnsName: '', privateIp: '' });
  for (const volume of volumesOf(world, instance.id)) {
    const doomed = attachmentTo(volume, instance.id)?.deleteOnTermination;
    write(ec2.volumes, volume.id, doomed ? null : detachedFrom(volume, instance.id), world.now());
  }
  world.schedule(FORGET_INSTANCE, ec2.knobs.forgetAfter, instance.id);
};

const detachedFrom = (volume: Volume, instance: string): Volume => ({
  ...volume,
  attachments: volume.attachments.filter((attachment) => attachment.instance !== instance),
});

/** Continues a detach that waited for the guest. */
export const releaseBusy = (world: Ec2World, instance: string): void => {
  for (const volume of volumesOf(world, instance)) {
    if (attachmentTo(volume, instance)?.state === 'busy') settleAttachment(world, volume.id, instance);
  }
};

/** Terminated machines disappear from responses after about an hour. */
export const forgetInstance = (world: Ec2World, id: string): void => {
  if (instanceIn(world, id)?.state === 'terminated') write(world.parts.ec2.instances, id, null, world.now());
};
