import type { DriverAnswer, UnderlyingCloud } from '../underlying-cloud.ts';
import { write } from '../history.ts';
import { attach, detach } from './attachments.ts';
import { change, releaseBusy } from './instances.ts';
import { Ec2Refusal } from './refusal.ts';
import { addVolume } from './scenario.ts';
import type { Ec2World, Instance, Volume, WithEc2 } from './state.ts';
import { attachmentTo, instanceIn, volumeIn } from './state.ts';

/** EC2 for kubelets, the EBS CSI driver, and the cloud controller. */
export const underlyingEc2: UnderlyingCloud<WithEc2> = {
  driver: 'ebs.csi.aws.com',
  guestAlive: (world, machine) => instanceIn(world, machine)?.guest === 'up',
  guestStopping: (world, machine) => ['stopping', 'shutting-down'].includes(instanceIn(world, machine)?.state ?? ''),
  bootOf: (world, machine) => `${machine}/${instanceIn(world, machine)?.boot ?? 0}`,
  existence: (world, machine) => {
    const state = instanceIn(world, machine)?.state;
    if (state === undefined || state === 'terminated') return 'gone';
    return state === 'stopped' ? 'shut-down' : 'exists';
  },
  publish: (world, handle, machine) => driverCall(() => publish(world, handle, machine)),
  unpublish: (world, handle, machine) => driverCall(() => unpublish(world, handle, machine)),
  provision: (world, zone) => addVolume(world, { zone }),
  deprovision: (world, handle) => write(world.parts.ec2.volumes, handle, null, world.now()),
  mount: (world, handle, machine) => mount(world, handle, machine),
  unmount: (world, handle, machine) => unmount(world, handle, machine),
};

const driverCall = (call: () => DriverAnswer): DriverAnswer => {
  try {
    return call();
  } catch (refusal) {
    if (!(refusal instanceof Ec2Refusal)) throw refusal;
    return { error: `${refusal.code}: ${refusal.message}` };
  }
};

const publish = (world: Ec2World, handle: string, machine: string): DriverAnswer => {
  const volume = volumeIn(world, handle);
  const instance = instanceIn(world, machine);
  if (!volume) return { error: `InvalidVolume.NotFound: ${handle}` };
  if (!instance) return { error: `InvalidInstanceID.NotFound: ${machine}` };
  const attachment = attachmentTo(volume, machine);
  if (attachment) return attachment.state === 'attached' ? 'done' : 'pending';
  attach(world, volume, instance, freeDevice(volume));
  return 'pending';
};

const freeDevice = (volume: Volume): string =>
  `/dev/xvdc${String.fromCharCode(97 + (volume.id.charCodeAt(volume.id.length - 1) % 26))}`;

/** The driver treats not-found and wrong-state responses as already detached, and never forces. */
const unpublish = (world: Ec2World, handle: string, machine: string): DriverAnswer => {
  const volume = volumeIn(world, handle);
  const instance = instanceIn(world, machine);
  if (!volume || !instance || !attachmentTo(volume, machine)) return 'done';
  detach(world, volume, instance, false);
  return 'pending';
};

const mount = (world: Ec2World, handle: string, machine: string): boolean => {
  const instance = instanceIn(world, machine);
  const volume = volumeIn(world, handle);
  if (instance?.guest !== 'up' || !volume || attachmentTo(volume, machine)?.state !== 'attached') return false;
  if (!instance.mounts.includes(handle)) change(world, instance, { mounts: [...instance.mounts, handle] });
  return true;
};

const unmount = (world: Ec2World, handle: string, machine: string): void => {
  const instance: Instance | undefined = instanceIn(world, machine);
  if (instance?.guest !== 'up') return;
  change(world, instance, { mounts: instance.mounts.filter((mounted) => mounted !== handle) });
  releaseBusy(world, machine);
};
