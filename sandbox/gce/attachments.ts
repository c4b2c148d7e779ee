import { write } from '../history.ts';
import { recordUnsafeAttach, recordUnsafeDetach } from './invariants.ts';
import { change, detachedFrom } from './instances.ts';
import { beginOperation, endOperation, unfinishedOperations, operationNamed } from './operations.ts';
import { GceRefusal, invalid, notReady } from './refusal.ts';
import {
  diskIn,
  instanceIn,
  type AttachedDisk,
  type Disk,
  type GceWorld,
  type Instance,
  type Operation,
} from './state.ts';

/** Attaches and detaches disks: https://cloud.google.com/compute/docs/disks/detach-reattach-boot-disk */

export const SETTLE_DISK_OPERATION = 'gce.settle-disk-operation';

/** @throws GceRefusal resourceInUseByAnotherResource, resourceNotReady, invalid */
export const attach = (
  world: GceWorld,
  instance: Instance,
  disk: Disk,
  wanted: AttachedDisk,
  requestId: string | null,
): Operation => {
  mayAttach(world, instance, disk, wanted);
  const operation = beginOperation(world, {
    type: 'attachDisk',
    target: instance.path,
    targetId: instance.id,
    requestId,
    disk: wanted,
  });
  world.schedule(SETTLE_DISK_OPERATION, world.parts.gce.knobs.attachTakes, operation.name);
  return operation;
};

const scopeOf = (path: string): string => path.split('/').slice(0, 4).join('/');

const reaches = (disk: Disk, instance: Instance): boolean =>
  disk.path.includes('/regions/')
    ? scopeOf(instance.path).startsWith(`${scopeOf(disk.path).replace('/regions/', '/zones/')}-`)
    : scopeOf(disk.path) === scopeOf(instance.path);

const mayAttach = (world: GceWorld, instance: Instance, disk: Disk, wanted: AttachedDisk): void => {
  if (!reaches(disk, instance))
    throw invalid('resource.disk', disk.path, 'Disk must be in the same zone or region as the instance.');
  if (disk.status !== 'READY') throw notReady(disk.path);
  if (instance.status !== 'RUNNING' && instance.status !== 'TERMINATED') throw notReady(instance.path);
  if (unfinishedOperations(world, instance.id).some((open) => open.disk?.source === disk.path))
    throw notReady(disk.path);
  if (disk.users.length > 0 && wanted.mode === 'READ_WRITE' && disk.accessMode !== 'READ_WRITE_MANY') {
    throw new GceRefusal(
      'resourceInUseByAnotherResource',
      `The disk resource '${disk.path}' is already being used by '${disk.users[0]}'`,
    );
  }
};

/** Detaches even if the guest uses the disk. @throws GceRefusal resourceNotReady, invalid */
export const detach = (
  world: GceWorld,
  instance: Instance,
  deviceName: string,
  requestId: string | null,
): Operation => {
  const attached = instance.disks.find((disk) => disk.deviceName === deviceName);
  if (!attached?.source) throw invalid('disk', deviceName, `No attached disk found with device name '${deviceName}'`);
  if (attached.boot && instance.status !== 'TERMINATED')
    throw invalid('disk', deviceName, 'The boot disk can be detached from a stopped instance only.');
  if (unfinishedOperations(world, instance.id).some((open) => open.disk?.source === attached.source))
    throw notReady(attached.source);
  const operation = beginOperation(world, {
    type: 'detachDisk',
    target: instance.path,
    targetId: instance.id,
    requestId,
    disk: attached,
  });
  world.schedule(SETTLE_DISK_OPERATION, world.parts.gce.knobs.detachTakes, operation.name);
  return operation;
};

/** The effect happens at the end. If the instance or disk no longer exists, the operation reports that. */
export const settleDiskOperation = (world: GceWorld, name: string): void => {
  const operation = operationNamed(world, name);
  if (!operation?.disk || operation.endedAt !== null) return;
  const instance = instanceIn(world, operation.target);
  const disk = diskIn(world, operation.disk.source ?? '');
  if (instance?.id !== operation.targetId || !disk)
    return endOperation(world, name, { code: 'RESOURCE_NOT_FOUND', status: 404 });
  if (operation.type === 'attachDisk') endAttach(world, instance, disk, operation.disk);
  else endDetach(world, instance, disk);
  endOperation(world, name);
};

const endAttach = (world: GceWorld, instance: Instance, disk: Disk, attached: AttachedDisk): void => {
  change(world, instance, { disks: [...instance.disks, attached] });
  write(
    world.parts.gce.disks,
    disk.path,
    { ...disk, users: [...disk.users, instance.path], attachedAt: world.now() },
    world.now(),
  );
  if (attached.mode === 'READ_WRITE' && disk.accessMode !== 'READ_WRITE_MANY')
    recordUnsafeAttach(world, disk.path, instance);
};

const endDetach = (world: GceWorld, instance: Instance, disk: Disk): void => {
  change(world, instance, { disks: instance.disks.filter(({ source }) => source !== disk.path) });
  write(world.parts.gce.disks, disk.path, detachedFrom(world, disk, instance.path), world.now());
  recordUnsafeDetach(world, disk.path, instance);
};
