import type { DriverAnswer, UnderlyingCloud } from '../underlying-cloud.ts';
import { write } from '../history.ts';
import { attach, detach } from './attachments.ts';
import { change } from './instances.ts';
import { unfinishedOperations } from './operations.ts';
import { GceRefusal } from './refusal.ts';
import { addDisk } from './scenario.ts';
import { diskIn, instanceIn, type GceWorld, type Instance, type WithGce } from './state.ts';

/**
 * Compute Engine as kubelets, the Persistent Disk CSI driver, and the cloud controller see it. Its cloud controller
 * never reports an instance as shut down: a stopped instance exists, so its Node stays.
 */
export const underlyingGce: UnderlyingCloud<WithGce> = {
  driver: 'pd.csi.storage.gke.io',
  guestAlive: (world, machine) => instanceIn(world, machine)?.guest === 'up',
  guestStopping: (world, machine) => ['PENDING_STOP', 'STOPPING'].includes(instanceIn(world, machine)?.status ?? ''),
  bootOf: (world, machine) => {
    const instance = instanceIn(world, machine);
    return `${instance?.id ?? machine}/${instance?.boot ?? 0}`;
  },
  existence: (world, machine) => (instanceIn(world, machine) ? 'exists' : 'gone'),
  publish: (world, handle, machine) => driverCall(() => publish(world, handle, machine)),
  unpublish: (world, handle, machine) => driverCall(() => unpublish(world, handle, machine)),
  provision: (world) => addDisk(world),
  deprovision: (world, handle) => write(world.parts.gce.disks, handle, null, world.now()),
  mount: (world, handle, machine) => mount(world, handle, machine),
  unmount: (world, handle, machine) => {
    const instance = instanceIn(world, machine);
    if (instance?.guest === 'up')
      change(world, instance, { mounts: instance.mounts.filter((mounted) => mounted !== handle) });
  },
};

const driverCall = (call: () => DriverAnswer): DriverAnswer => {
  try {
    return call();
  } catch (refusal) {
    if (!(refusal instanceof GceRefusal)) throw refusal;
    return { error: `${refusal.reason}: ${refusal.message}` };
  }
};

const holds = ({ disks }: Instance, handle: string): boolean => disks.some(({ source }) => source === handle);

const underWay = (world: GceWorld, { id }: Instance, handle: string): boolean =>
  unfinishedOperations(world, id).some(({ disk }) => disk?.source === handle);

const publish = (world: GceWorld, handle: string, machine: string): DriverAnswer => {
  const disk = diskIn(world, handle);
  const instance = instanceIn(world, machine);
  if (!disk) return { error: `notFound: ${handle}` };
  if (!instance) return { error: `notFound: ${machine}` };
  if (underWay(world, instance, handle)) return 'pending';
  if (holds(instance, handle)) return 'done';
  const deviceName = `${handle.split('/').at(-1) ?? ''}${handle.includes('/regions/') ? '_regional' : ''}`;
  attach(
    world,
    instance,
    disk,
    { source: handle, deviceName, boot: false, mode: 'READ_WRITE', autoDelete: false },
    null,
  );
  return 'pending';
};

/** The driver treats an instance that is gone, and a disk that is not attached, as detached. */
const unpublish = (world: GceWorld, handle: string, machine: string): DriverAnswer => {
  const instance = instanceIn(world, machine);
  if (instance && underWay(world, instance, handle)) return 'pending';
  const deviceName = instance?.disks.find(({ source }) => source === handle)?.deviceName;
  if (!instance || deviceName === undefined) return 'done';
  detach(world, instance, deviceName, null);
  return 'pending';
};

const mount = (world: GceWorld, handle: string, machine: string): boolean => {
  const instance = instanceIn(world, machine);
  if (instance?.guest !== 'up' || !holds(instance, handle)) return false;
  if (!instance.mounts.includes(handle)) change(world, instance, { mounts: [...instance.mounts, handle] });
  return true;
};
