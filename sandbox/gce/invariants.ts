import { instancesIn, type GceWorld, type Instance } from './state.ts';

/** A suspended guest counts, because it writes within seconds after a resume. */
const mayWrite = (instance: Instance, disk: string): boolean =>
  instance.guest !== 'down' && instance.mounts.includes(disk);

const called = ({ path, id, guest }: Instance): string => `${path} (${id}), whose guest is ${guest}`;

export const recordUnsafeDetach = (world: GceWorld, disk: string, from: Instance): void => {
  if (mayWrite(from, disk))
    world.parts.gce.violations.push({
      at: world.now(),
      what: `${disk} was detached from ${called(from)} and has it mounted`,
    });
};

export const recordUnsafeAttach = (world: GceWorld, disk: string, to: Instance): void => {
  for (const other of instancesIn(world)) {
    if (other.id === to.id || !mayWrite(other, disk)) continue;
    world.parts.gce.violations.push({
      at: world.now(),
      what: `${disk} was attached to ${to.path} (${to.id}) while ${called(other)}, has it mounted`,
    });
  }
};

export const noteDiscarded = (world: GceWorld, instance: Instance): void =>
  void world.parts.gce.violations.push({
    at: world.now(),
    what: `what was on the local SSDs of ${called(instance)}, was discarded`,
  });
