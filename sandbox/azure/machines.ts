import { write } from '../history.ts';
import { settleDisks } from './attachments.ts';
import { change, changeDisk, handOver } from './change.ts';
import { announce } from './notices.ts';
import { beginOperation, endOperation, finishedOperation, atRest } from './operations.ts';
import { busy, notAllowed } from './refusal.ts';
import type { AzureCloudWorld, Machine, Operation } from './state.ts';
import { diskIn, disksOf, machineIn } from './state.ts';

/** The lifecycle of one machine: https://learn.microsoft.com/azure/virtual-machines/states-billing */

export const SETTLE_MACHINE = 'azure.settle-machine';
export const SHOW_STARTING = 'azure.show-starting';
export const LET_DISKS_GO = 'azure.let-disks-go';

/**
 * A machine accepts only one operation at a time. Another operation is rejected, except that a power-off or
 * deallocation replaces a softer one.
 */
const free = (machine: Machine): void => {
  if (machine.operation !== null) throw busy(machine.name);
};

const hold = (world: AzureCloudWorld, machine: Machine, changes: Partial<Machine>): Operation => {
  const operation = beginOperation(world);
  change(world, machine, { provisioning: 'Updating', ...changes, operation: operation.id });
  return operation;
};

export interface StopOptions {
  readonly skipShutdown: boolean;
}

const shutdownOf = (world: AzureCloudWorld, { shutdownTakes }: Machine, skip: boolean): number | null =>
  skip ? world.parts.azure.knobs.forcedStopTakes : shutdownTakes;

const settleIn = (world: AzureCloudWorld, id: string, ms: number | null): void => {
  if (ms !== null) world.schedule(SETTLE_MACHINE, ms, id);
};

/** @throws ArmRefusal Conflict */
export const powerOff = (world: AzureCloudWorld, machine: Machine, { skipShutdown }: StopOptions): Operation => {
  if (machine.power === 'deallocated' || machine.power === 'stopped') return finishedOperation(world);
  const overtakes = skipShutdown && (machine.power === 'stopping' || machine.power === 'deallocating');
  if (!overtakes) free(machine);
  endOperation(world, machine.operation, 'OperationPreempted');
  announce(world, machine, 'powerOff/action');
  const operation = hold(world, machine, { power: 'stopping', hibernating: false });
  settleIn(world, machine.id, shutdownOf(world, machine, skipShutdown));
  return operation;
};

/** @throws ArmRefusal Conflict, OperationNotAllowed */
export const deallocate = (world: AzureCloudWorld, machine: Machine, hibernate = false): Operation => {
  if (machine.power === 'deallocated') return finishedOperation(world);
  free(machine);
  if (hibernate && !machine.canHibernate) throw notAllowed(`'${machine.name}' is not enabled for hibernation.`);
  announce(world, machine, 'deallocate/action');
  const operation = hold(world, machine, { power: 'deallocating', hibernating: hibernate });
  settleIn(world, machine.id, machine.shutdownTakes === null ? null : world.parts.azure.knobs.deallocateTakes);
  return operation;
};

/** @throws ArmRefusal Conflict */
export const start = (world: AzureCloudWorld, machine: Machine): Operation => {
  if (machine.power === 'running') return finishedOperation(world);
  free(machine);
  announce(world, machine, 'start/action');
  const { bootTakes, startShowsStopped } = world.parts.azure.knobs;
  handOver(world, machine.id);
  const operation = hold(world, machine, { power: 'stopped' });
  world.schedule(SHOW_STARTING, startShowsStopped, machine.id);
  settleIn(world, machine.id, Math.max(bootTakes, startShowsStopped + 1));
  return operation;
};

export const showStarting = (world: AzureCloudWorld, id: string): void => {
  const machine = machineIn(world, id);
  if (machine?.power === 'stopped' && machine.operation !== null) change(world, machine, { power: 'starting' });
};

/**
 * Restarts the machine within the same allocation. ARM does not show the restart afterwards. @throws ArmRefusal
 * Conflict, OperationNotAllowed
 */
export const restart = (world: AzureCloudWorld, machine: Machine): Operation => {
  free(machine);
  if (machine.power !== 'running') throw notAllowed(`'${machine.name}' is not running.`);
  announce(world, machine, 'restart/action');
  change(world, machine, { guest: 'up', boot: machine.boot + 1, mounts: [] });
  return finishedOperation(world);
};

export const remove = (world: AzureCloudWorld, machine: Machine): Operation => {
  if (machine.provisioning === 'Deleting') return finishedOperation(world);
  endOperation(world, machine.operation, 'OperationPreempted');
  announce(world, machine, 'delete');
  const operation = hold(world, machine, { provisioning: 'Deleting' });
  world.schedule(SETTLE_MACHINE, world.parts.azure.knobs.deleteTakes, machine.id);
  return operation;
};

/** Completes the transition in progress. */
export const settleMachine = (world: AzureCloudWorld, id: string): void => {
  const machine = machineIn(world, id);
  if (!machine) return;
  if (machine.provisioning === 'Deleting') return endRemoval(world, machine);
  if (machine.power === 'starting') endBoot(world, machine);
  if (machine.power === 'stopping') endStop(world, machine);
  if (machine.power === 'deallocating') endDeallocation(world, machine);
};

const endBoot = (world: AzureCloudWorld, machine: Machine): void => {
  const boot = machine.guest === 'frozen' ? machine.boot : machine.boot + 1;
  atRest(world, change(world, machine, { power: 'running', guest: 'up', boot, hibernating: false }));
};

const endStop = (world: AzureCloudWorld, machine: Machine): void => {
  const stopped = change(world, machine, { power: 'stopped', guest: 'down', mounts: [] });
  if (machine.operation !== null) atRest(world, stopped);
  settleDisks(world, machine.id);
};

const endDeallocation = (world: AzureCloudWorld, machine: Machine): void => {
  const frozen = machine.hibernating && machine.guest === 'up';
  handOver(world, machine.id);
  atRest(
    world,
    change(
      world,
      machine,
      frozen ? { power: 'deallocated', guest: 'frozen' } : { power: 'deallocated', guest: 'down', mounts: [] },
    ),
  );
  if (!frozen) settleDisks(world, machine.id);
};

/** Deletes the OS disk with the machine. The other disks still name the machine for some time. */
const endRemoval = (world: AzureCloudWorld, machine: Machine): void => {
  endOperation(world, machine.operation, null);
  write(world.parts.azure.machines, machine.id, null, world.now());
  for (const disk of disksOf(world, machine.id))
    if (disk.os) write(world.parts.azure.disks, disk.id, null, world.now());
  const others = disksOf(world, machine.id).map((disk) => disk.id);
  for (const disk of others)
    world.schedule(LET_DISKS_GO, world.parts.azure.knobs.disksHeldFor, `${disk} ${machine.id}`);
};

export const letDiskGo = (world: AzureCloudWorld, about: string): void => {
  const [id = '', machine = ''] = about.split(' ');
  const disk = diskIn(world, id);
  if (disk)
    changeDisk(world, disk, {
      attachments: disk.attachments.filter((other) => other.machine !== machine),
      handedOverAt: world.now(),
    });
};
