import type { MachineId, VolumeHandle } from '../../fencing/machine.ts';
import { diskOf } from './disk-of.ts';
import { diskPath, instanceBeside, machineBeside, machinePath, type MachinePath } from './ids.ts';

/**
 * How the cloud provider names Nodes: after the computer, in lower case. That of a virtual machine mostly bears its name,
 * that of an instance of a uniform scale set the set's name and the number of the instance, in six digits of base 36.
 * https://github.com/kubernetes-sigs/cloud-provider-azure
 */
const DIGITS = 6;
const COMPUTER = new RegExp(`^(.+)([0-9a-z]{${DIGITS}})$`);

const nodeNameOf = (path: MachinePath): string =>
  path.kind === 'vm' ? path.name : `${path.set}${Number(path.instance).toString(36).padStart(DIGITS, '0')}`;

/** The likeliest name of a machine that ARM knows no more. */
export const likelyNodeNames = (machine: MachineId): readonly string[] => {
  const path = machinePath(machine);
  return path ? [nodeNameOf(path)] : [];
};

/** Volumes are made in the group of their machines, unless their storage class says otherwise. */
export const machinesNamed = (node: string, volume: VolumeHandle): readonly MachineId[] => {
  const beside = diskPath(diskOf(volume) ?? '');
  if (!beside) return [];
  const [, set, digits] = COMPUTER.exec(node) ?? [];
  const instance = set === undefined || digits === undefined ? [] : [instanceBeside(beside, set, Number.parseInt(digits, 36))];
  return [...instance, machineBeside(beside, node)];
};
