import type { AzureCloudWorld, Machine } from './state.ts';
import { machinesIn } from './state.ts';

/** A frozen guest counts, because it writes within seconds after a resume. */
const mayWrite = ({ guest, mounts }: Machine, disk: string): boolean => guest !== 'down' && mounts.includes(disk);

const note = (world: AzureCloudWorld, what: string): void => {
  world.parts.azure.violations.push({ at: world.now(), what });
};

export const recordUnsafeDetach = (world: AzureCloudWorld, disk: string, from: Machine): void => {
  if (mayWrite(from, disk))
    note(world, `${disk} was detached from ${from.id}, whose guest is ${from.guest} and has it mounted`);
};

export const recordUnsafeAttach = (world: AzureCloudWorld, disk: string, to: string): void => {
  for (const other of machinesIn(world)) {
    if (other.id !== to && mayWrite(other, disk))
      note(world, `${disk} was attached to ${to} while ${other.id}, whose guest is ${other.guest}, has it mounted`);
  }
};
