import type { Ec2World, Instance } from './state.ts';
import { instancesIn } from './state.ts';

/** A frozen guest counts, because it writes within seconds after a resume. */
const mayWrite = (instance: Instance, volume: string): boolean =>
  instance.guest !== 'down' && instance.mounts.includes(volume);

const note = (world: Ec2World, what: string): void => {
  world.parts.ec2.violations.push({ at: world.now(), what });
};

export const recordUnsafeDetach = (world: Ec2World, volume: string, from: Instance): void => {
  if (mayWrite(from, volume))
    note(world, `${volume} was detached from ${from.id}, whose guest is ${from.guest} and has it mounted`);
};

export const recordUnsafeAttach = (world: Ec2World, volume: string, to: string): void => {
  for (const other of instancesIn(world)) {
    if (other.id !== to && mayWrite(other, volume)) {
      note(world, `${volume} was attached to ${to} while ${other.id}, whose guest is ${other.guest}, has it mounted`);
    }
  }
};
