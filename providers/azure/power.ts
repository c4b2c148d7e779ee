import type { Disk } from '@azure/arm-compute';
import {
  type Evidence,
  type MachineFacts,
  type MachineId,
  nothingKnown,
  type Power,
} from '../../fencing/model/machine.ts';
import { attachedDisks } from './disks.ts';
import { clustersIn, likelyNodeNames } from './identity.ts';
import type { Vm } from './machines.ts';

/** What ARM's answer says of power, in lower case; null where it says nothing. */
interface Statuses {
  readonly power: string | null;
  readonly provisioning: string | null;
  readonly hibernation: string | null;
  /** When the provisioning last came to an end (epoch ms). */
  readonly provisionedAt: number | null;
}

/**
 * Statuses come as `<kind>/<value>`, in any letter case, several kinds in one list; two of one kind that differ say
 * nothing.
 */
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

/**
 * Model and view both tell how the last operation went, the view with an error's code behind; it has succeeded where
 * neither denies it.
 */
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
 * What the answer proves. `deallocated` and, seen twice, `stopped` prove something, and only while no operation is
 * under way: a start shows `stopped` for a moment too. Under an operation they are neither off nor on the way up:
 * waited for.
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
 * Whoever shows a sign of hibernation counts as hibernated. One that can hibernate has to show a plain deallocation:
 * the power state of both is the same, and only the OS disk tells them apart.
 * https://learn.microsoft.com/azure/virtual-machines/hibernate-resume
 */
const mayBeHibernated = ({ vm, osDiskState }: Seen, power: 'stopped' | 'deallocated'): boolean => {
  const disk = osDiskState?.toLowerCase() ?? null;
  if (statusesOf(vm).hibernation !== null || disk === 'frozen') return true;
  return vm.additionalCapabilities?.hibernationEnabled === true && !(power === 'deallocated' && disk === 'reserved');
};

/** A detach makes of a deallocated machine one that is being updated. */
const powerOf = (seen: Seen): Pick<MachineFacts, 'power' | 'offUnderOperation'> => {
  const power = classify(seen);
  const said = statusesOf(seen.vm).power;
  return power === 'stopping' && (said === 'deallocated' || said === 'stopped')
    ? { power, offUnderOperation: true }
    : { power };
};

interface Sighting {
  readonly machine: MachineId;
  readonly vm: Vm;
  readonly requestId: string;
  /** Null where the OS disk is none that could be read: unmanaged, or gone. */
  readonly osDisk: Disk | null;
  /** What the data disks say, by id; null when they were not asked. */
  readonly dataDisks: ReadonlyMap<string, Disk | null> | null;
}

const READ_FROM = 'Microsoft.Compute/virtualMachines/read';

export const seenFacts = ({ machine, vm, requestId, osDisk, dataDisks }: Sighting): MachineFacts => {
  const vmId = vm.vmId?.toLowerCase() ?? null;
  const said = statusesOf(vm);
  const owned = osDisk?.lastOwnershipUpdateTime ?? null;
  return {
    machine,
    incarnation: vmId === null ? null : { id: vmId, made: vm.timeCreated?.getTime() ?? null },
    ...(vmId === null ? { power: 'unknown' } : powerOf({ vm, osDiskState: osDisk?.diskState ?? null })),
    forGood: false,
    generation: generationOf(vmId, owned, said),
    ...(owned === null && { generationDrifts: true }),
    since: said.power === 'deallocated' || said.power === 'running' ? (owned?.getTime() ?? null) : null,
    nodeNames: nodeNamesOf(vm),
    clusters: clustersIn(vm.tags ?? {}),
    zone: vm.zones?.[0] !== undefined && vm.location !== undefined ? `${vm.location}-${vm.zones[0]}` : null,
    disks: dataDisks ? attachedDisks(machine, vm, dataDisks) : [],
    evidence: evidenceOf(said, osDisk, { vmId: vmId ?? 'none', requestId }),
  };
};

/**
 * The OS disk is handed over at each start and deallocation; that time tells boots apart. Where it cannot be read, the
 * time of the last operation does, which every detach moves as well, ours and the CSI driver's: such a generation
 * drifts. The two are never mistaken for each other, nor one machine's for that of the next of its name.
 */
const generationOf = (vmId: string | null, owned: Date | null, { provisionedAt }: Statuses): string | null => {
  if (vmId === null) return null;
  if (owned) return `${vmId} handed over ${owned.toISOString()}`;
  return provisionedAt === null ? null : `${vmId} provisioned ${new Date(provisionedAt).toISOString()}`;
};

/**
 * Nodes are named after the computer, or after the virtual machine.
 * https://github.com/kubernetes-sigs/cloud-provider-azure
 */
const nodeNamesOf = ({ osProfile, name }: Vm): readonly string[] =>
  [...new Set([osProfile?.computerName ?? '', name ?? ''].map((one) => one.toLowerCase()))].filter((one) => one !== '');

const evidenceOf = (said: Statuses, osDisk: Disk | null, rest: Evidence): Evidence => ({
  power: said.power ?? 'none',
  provisioning: said.provisioning ?? 'none',
  hibernation: said.hibernation ?? 'none',
  osDisk: osDisk?.diskState ?? 'none',
  handedOver: osDisk?.lastOwnershipUpdateTime?.toISOString() ?? 'none',
  ...rest,
  readFrom: READ_FROM,
});

/** ARM does not know the id, which proves nothing by itself: wrong credentials and another tenant look the same. */
export const missingFacts = (machine: MachineId, state: string): MachineFacts => ({
  ...nothingKnown(machine),
  power: 'missing',
  nodeNames: likelyNodeNames(machine),
  evidence: { state, readFrom: READ_FROM },
});

/** Nothing is to be proved about it from here. */
export const unknownFacts = (machine: MachineId, state: string): MachineFacts => ({
  ...nothingKnown(machine),
  power: 'unknown',
  evidence: { state, readFrom: READ_FROM },
});
