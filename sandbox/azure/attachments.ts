import { change, changeDisk } from './change.ts';
import { recordUnsafeAttach, recordUnsafeDetach } from './invariants.ts';
import { beginOperation, endOperation, finishedOperation, atRest } from './operations.ts';
import { ArmRefusal, busy, notAllowed } from './refusal.ts';
import type { Attachment, AzureCloudWorld, Disk, Machine, Operation } from './state.ts';
import { attachmentTo, diskIn, disksOf, machineIn } from './state.ts';

/**
 * Attaches data disks to machines and detaches them.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/attach-detach-data-disks
 */

export const SETTLE_DISK = 'azure.settle-disk';

export const settleAppointed = (world: AzureCloudWorld, about: string): void => {
  const [disk = '', machine = ''] = about.split(' ');
  settleDisk(world, disk, machine);
};

const appoint = (world: AzureCloudWorld, ms: number, disk: Disk, machine: Machine): void =>
  world.schedule(SETTLE_DISK, ms, `${disk.id} ${machine.id}`);

const replace = (world: AzureCloudWorld, disk: Disk, attachment: Attachment): void =>
  changeDisk(world, disk, {
    attachments: disk.attachments.map((other) => (other.machine === attachment.machine ? attachment : other)),
  });

const hold = (world: AzureCloudWorld, machine: Machine): Operation => {
  const operation = beginOperation(world);
  change(world, machine, { operation: operation.id, provisioning: 'Updating' });
  return operation;
};

const freeLun = (world: AzureCloudWorld, machine: string): number => {
  const taken = new Set(disksOf(world, machine).map((disk) => attachmentTo(disk, machine)?.lun));
  for (let lun = 0; ; lun += 1) if (!taken.has(lun)) return lun;
};

/** @throws ArmRefusal Conflict, OperationNotAllowed, AttachDiskWhileBeingDetached */
export const attach = (world: AzureCloudWorld, disk: Disk, machine: Machine): Operation => {
  if (machine.operation !== null) throw busy(machine.name);
  const known = attachmentTo(disk, machine.id);
  if (known?.state === 'detaching')
    throw new ArmRefusal('AttachDiskWhileBeingDetached', `Disk '${disk.name}' is being detached.`, 409);
  if (known) return finishedOperation(world);
  if (disk.attachments.length >= disk.maxShares) throw notAllowed(`Disk '${disk.name}' is attached to another VM.`);
  if (disk.zone !== machine.zone)
    throw new ArmRefusal('BadRequest', `Disk '${disk.name}' is in another zone than '${machine.name}'.`);
  const attachment: Attachment = {
    machine: machine.id,
    lun: freeLun(world, machine.id),
    state: 'attaching',
    forced: false,
  };
  changeDisk(world, disk, { attachments: [...disk.attachments, attachment], handedOverAt: world.now() });
  if (disk.maxShares === 1) recordUnsafeAttach(world, disk.id, machine.id);
  appoint(world, world.parts.azure.knobs.attachTakes, disk, machine);
  return hold(world, machine);
};

/** Detaches several disks in one operation, or none. @throws what `detach` throws */
export const detachAll = (
  world: AzureCloudWorld,
  disks: readonly Disk[],
  machine: Machine,
  forced: boolean,
): Operation => {
  const attached = disks.map((disk) => attachmentToDetach(world, disk, machine, forced));
  endOperation(world, machine.operation, 'OperationPreempted');
  disks.forEach((disk, nth) => {
    const attachment = attached[nth];
    if (attachment) replace(world, disk, { ...attachment, state: 'detaching', forced: attachment.forced || forced });
    appoint(world, world.parts.azure.knobs.detachTakes, disk, machine);
  });
  return hold(world, machine);
};

/** Detaches one disk. @throws ArmRefusal Conflict, OperationNotAllowed, InvalidParameter */
export const detach = (world: AzureCloudWorld, disk: Disk, machine: Machine, forced: boolean): Operation =>
  detachAll(world, [disk], machine, forced);

/**
 * A forced detach replaces a plain detach of the same disk. @throws ArmRefusal Conflict, OperationNotAllowed,
 * InvalidParameter
 */
const attachmentToDetach = (world: AzureCloudWorld, disk: Disk, machine: Machine, forced: boolean): Attachment => {
  const attachment = attachmentTo(disk, machine.id);
  if (!attachment || disk.os)
    throw new ArmRefusal('InvalidParameter', `'${disk.name}' is no data disk of '${machine.name}'.`);
  if (forced && machine.set !== null && !world.parts.azure.knobs.forceDetachOnSets)
    throw notAllowed(`'${machine.name}' is an instance of a scale set, from which no disk is detached by force.`);
  const overtakes = forced && attachment.state === 'detaching';
  if (machine.operation !== null && !overtakes) throw busy(machine.name);
  if (machine.guest === 'frozen') throw notAllowed(`'${machine.name}' is hibernated.`);
  return attachment;
};

/** Completes an attach, or a detach if the guest has released the disk. */
const settleDisk = (world: AzureCloudWorld, diskId: string, machineId: string): void => {
  const disk = diskIn(world, diskId);
  const machine = machineIn(world, machineId);
  const attachment = disk && attachmentTo(disk, machineId);
  if (!disk || !machine || !attachment || attachment.state === 'attached') return;
  if (attachment.state === 'attaching') replace(world, disk, { ...attachment, state: 'attached' });
  else if (!endDetach(world, disk, machine, attachment)) return;
  atRest(world, machine);
};

/** Returns false while the guest uses the disk. */
const endDetach = (world: AzureCloudWorld, disk: Disk, machine: Machine, attachment: Attachment): boolean => {
  const { detachFailsWith } = world.parts.azure.knobs;
  if (detachFailsWith !== null) {
    endOperation(world, machine.operation, detachFailsWith);
    replace(world, disk, { ...attachment, state: 'attached', forced: false });
    return true;
  }
  if (machine.guest === 'up' && machine.mounts.includes(disk.id) && !attachment.forced) return false;
  changeDisk(world, disk, {
    attachments: disk.attachments.filter((other) => other.machine !== machine.id),
    handedOverAt: world.now(),
  });
  recordUnsafeDetach(world, disk.id, machine);
  return true;
};

/** Continues the detaches that waited for the guest. */
export const settleDisks = (world: AzureCloudWorld, machine: string): void => {
  for (const disk of disksOf(world, machine))
    if (attachmentTo(disk, machine)?.state === 'detaching') settleDisk(world, disk.id, machine);
};
