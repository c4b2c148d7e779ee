import type { Power } from '../../fencing/machine.ts';
import type { Vm } from './vm.ts';

/** What ARM's answer says of power, in lower case; null where it says nothing. */
export interface Statuses {
  readonly power: string | null;
  readonly provisioning: string | null;
  readonly hibernation: string | null;
  /** When the provisioning last came to an end (epoch ms). */
  readonly provisionedAt: number | null;
}

/** Statuses come as `<kind>/<value>`, in any letter case, several kinds in one list; two of one kind that differ say nothing. */
const statusOf = (vm: Vm, kind: string) => {
  const prefix = `${kind}/`;
  const told = (vm.instanceView?.statuses ?? []).filter(({ code }) => code?.toLowerCase().startsWith(prefix));
  const values = [...new Set(told.map(({ code }) => code?.toLowerCase().slice(prefix.length)))];
  return { value: values.length > 1 ? CONTRADICTORY : (values[0] ?? null), time: told[0]?.time?.getTime() ?? null };
};

const CONTRADICTORY = 'contradictory';

export const statusesOf = (vm: Vm): Statuses => ({
  power: statusOf(vm, 'powerstate').value,
  provisioning: provisioningOf(vm),
  hibernation: statusOf(vm, 'hibernationstate').value,
  provisionedAt: statusOf(vm, 'provisioningstate').time,
});

/** Model and view both tell how the last operation went, the view with an error's code behind; it has succeeded where neither denies it. */
const provisioningOf = (vm: Vm): string | null => {
  const model = vm.provisioningState?.toLowerCase() ?? null;
  const view = statusOf(vm, 'provisioningstate').value?.split('/')[0] ?? null;
  return model === 'succeeded' && view !== null ? view : model;
};

/** A machine and, where it could be read, the state of its OS disk, such as `Reserved`. */
export interface Seen {
  readonly vm: Vm;
  readonly osDiskState: string | null;
}

/**
 * What the answer proves. `deallocated` and, seen twice, `stopped` prove something, and only while no operation is under
 * way: a start shows `stopped` for a moment too. Under an operation they are neither off nor on the way up: waited for.
 * https://learn.microsoft.com/azure/virtual-machines/states-billing
 */
export const classify = (seen: Seen): Power => {
  const { power, provisioning } = statusesOf(seen.vm);
  switch (power) {
    case 'running':
    case 'starting':
      return power;
    case 'stopping':
    case 'deallocating':
      return 'stopping';
    case 'stopped':
    case 'deallocated':
      if (mayBeHibernated(seen, power)) return 'suspended';
      if (IN_BETWEEN.has(provisioning ?? '')) return 'stopping';
      if (provisioning !== 'succeeded') return 'unknown';
      return power === 'deallocated' ? 'off' : 'off-if-repeated';
    case null:
    default:
      return 'unknown';
  }
};

/** Provisioning states of an operation under way. */
const IN_BETWEEN: ReadonlySet<string> = new Set(['creating', 'updating', 'deleting', 'migrating']);

/**
 * Whoever shows a sign of hibernation counts as hibernated. One that can hibernate has to show a plain deallocation: the
 * power state of both is the same, and only the OS disk tells them apart.
 * https://learn.microsoft.com/azure/virtual-machines/hibernate-resume
 */
const mayBeHibernated = ({ vm, osDiskState }: Seen, power: 'stopped' | 'deallocated'): boolean => {
  const disk = osDiskState?.toLowerCase() ?? null;
  if (statusesOf(vm).hibernation !== null || disk === 'frozen') return true;
  return vm.additionalCapabilities?.hibernationEnabled === true && !(power === 'deallocated' && disk === 'reserved');
};
