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

/** Statuses come as `<kind>/<value>`, in any letter case, several kinds in one list. */
const statusOf = (vm: Vm, kind: string) => {
  const prefix = `${kind}/`;
  const status = vm.instanceView?.statuses?.find(({ code }) => code?.toLowerCase().startsWith(prefix));
  return { value: status?.code?.toLowerCase().slice(prefix.length) ?? null, time: status?.time?.getTime() ?? null };
};

export const statusesOf = (vm: Vm): Statuses => ({
  power: statusOf(vm, 'powerstate').value,
  provisioning: vm.provisioningState?.toLowerCase() ?? null,
  hibernation: statusOf(vm, 'hibernationstate').value,
  provisionedAt: statusOf(vm, 'provisioningstate').time,
});

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
