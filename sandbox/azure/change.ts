import { write } from '../history.ts';
import type { AzureCloudWorld, Disk, Machine } from './state.ts';
import { disksOf } from './state.ts';

export const change = (world: AzureCloudWorld, machine: Machine, changes: Partial<Machine>): Machine => {
  const changed = { ...machine, ...changes };
  write(world.parts.azure.machines, machine.id, changed, world.now());
  return changed;
};

export const changeDisk = (world: AzureCloudWorld, disk: Disk, changes: Partial<Disk>): void => {
  write(world.parts.azure.disks, disk.id, { ...disk, ...changes }, world.now());
};

/** Disks change their owner at each start and deallocation, and record that time. */
export const handOver = (world: AzureCloudWorld, machine: string): void => {
  for (const disk of disksOf(world, machine))
    if (disk.handedOverAt !== null) changeDisk(world, disk, { handedOverAt: world.now() });
};
