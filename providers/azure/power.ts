import type { Disk } from '@azure/arm-compute';
import {
  type Evidence,
  type MachineFacts,
  type MachineId,
  emptyMachineFacts,
  type Power,
} from '../../fencing/model/machine.ts';
import { attachedDisks, type DataDiskReads } from './disks.ts';
import { clusterNamesFromTags, candidateNodeNames } from './identity.ts';
import type { Vm } from './machines.ts';

/** What ARM's answer proves about a machine: its power state, its boot generation, and the evidence. */

/** The parts of ARM's answer about power, in lower case. Null if the answer does not contain it. */
interface Statuses {
  readonly power: string | null;
  readonly provisioning: string | null;
  readonly hibernation: string | null;
  /** When the provisioning last ended (epoch ms). */
  readonly provisionedAt: number | null;
}

/**
 * Returns the status of one kind. Statuses have the form `<kind>/<value>`, in any letter case, and one list mixes
 * several kinds. If there are two different values of one kind, neither is used.
 */
const statusOf = (vm: Vm, kind: string) => {
  const prefix = `${kind}/`;
  const statuses = (vm.instanceView?.statuses ?? []).flatMap(({ code, time }) =>
    code?.toLowerCase().startsWith(prefix) ? [{ value: code.toLowerCase().slice(prefix.length), time }] : [],
  );
  const values = [...new Set(statuses.map(({ value }) => value))];
  return { value: values.length > 1 ? CONTRADICTORY : (values[0] ?? null), time: statuses[0]?.time?.getTime() ?? null };
};

const CONTRADICTORY = 'contradictory';

export const statusesOf = (vm: Vm): Statuses => ({
  power: statusOf(vm, 'powerstate').value,
  provisioning: provisioningOf(vm),
  hibernation: statusOf(vm, 'hibernationstate').value,
  provisionedAt: statusOf(vm, 'provisioningstate').time,
});

/**
 * Returns how the last operation ended. Both the model and the view report this, and the view appends an error code.
 * The operation has succeeded only if neither of them contradicts that.
 */
const provisioningOf = (vm: Vm): string | null => {
  const model = vm.provisioningState?.toLowerCase() ?? null;
  const view = statusOf(vm, 'provisioningstate').value?.split('/')[0] ?? null;
  return model === 'succeeded' && view !== null ? view : model;
};

/** A machine and, if it could be read, the state of its OS disk, such as `Reserved`. */
export interface VmWithDisk {
  readonly vm: Vm;
  readonly osDiskState: string | null;
}

/**
 * Returns what the answer proves. `deallocated`, and `stopped` in two reads, are proof only while no operation is
 * running, because a starting machine is also `stopped` for a moment. During an operation, these states mean neither
 * off nor starting, so Cloudfence waits. If the OS disk contradicts `deallocated`, that state takes two reads, too.
 * https://learn.microsoft.com/azure/virtual-machines/states-billing
 */
export const classifyPower = (seen: VmWithDisk): Power => {
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
      if (IN_BETWEEN.has(provisioning)) return 'stopping';
      if (provisioning !== 'succeeded') return 'unknown';
      return isDeallocated(seen) ? 'off' : 'off-if-repeated';
    case null:
    default:
      return 'unknown';
  }
};

/**
 * Returns whether the machine is deallocated, and its OS disk does not contradict that. The disk is read after the
 * machine. If it is `Attached`, the machine may have been started in between, or one of the two answers is stale. Then
 * the time of the handover is not that of the deallocation, either.
 * https://learn.microsoft.com/rest/api/compute/disks/get#diskstate
 */
const isDeallocated = ({ vm, osDiskState }: VmWithDisk): boolean =>
  statusesOf(vm).power === 'deallocated' && osDiskState?.toLowerCase() !== 'attached';

/** Provisioning states of a running operation. */
const IN_BETWEEN: ReadonlySet<string | null> = new Set(['creating', 'updating', 'deleting', 'migrating']);

/**
 * Returns whether the machine may be hibernated. Any sign of hibernation counts. A machine that can hibernate must show
 * a plain deallocation, because hibernation has the same power state and only the OS disk differs.
 * https://learn.microsoft.com/azure/virtual-machines/hibernate-resume
 */
const mayBeHibernated = ({ vm, osDiskState }: VmWithDisk, power: 'stopped' | 'deallocated'): boolean => {
  const disk = osDiskState?.toLowerCase() ?? null;
  if (statusesOf(vm).hibernation !== null || disk === 'frozen') return true;
  return vm.additionalCapabilities?.hibernationEnabled === true && !(power === 'deallocated' && disk === 'reserved');
};

/**
 * Returns the power state, and whether the machine is off apart from a running operation. A detach gives a deallocated
 * machine the state "updating".
 */
const powerOf = (seen: VmWithDisk): Pick<MachineFacts, 'power' | 'offUnderOperation'> => {
  const power = classifyPower(seen);
  const powerState = statusesOf(seen.vm).power;
  return power === 'stopping' && (powerState === 'deallocated' || powerState === 'stopped')
    ? { power, offUnderOperation: true }
    : { power };
};

interface ReadResult {
  readonly machine: MachineId;
  readonly vm: Vm;
  readonly requestId: string;
  /** Null if the OS disk could not be read, because it is unmanaged or gone. */
  readonly osDisk: Disk | null;
  /** The answers of the data disks, by id. Null if they were not read. */
  readonly dataDisks: DataDiskReads | null;
}

const READ_FROM = 'Microsoft.Compute/virtualMachines/read';

export const knownMachineFacts = ({ machine, vm, requestId, osDisk, dataDisks }: ReadResult): MachineFacts => {
  const vmId = vm.vmId?.toLowerCase() ?? null;
  const statuses = statusesOf(vm);
  const owned = osDisk?.lastOwnershipUpdateTime ?? null;
  const seen = { vm, osDiskState: osDisk?.diskState ?? null };
  return {
    machine,
    incarnation: vmId === null ? null : { id: vmId, made: vm.timeCreated?.getTime() ?? null },
    ...(vmId === null ? { power: 'unknown' } : powerOf(seen)),
    forGood: false,
    generation: generationOf(vmId, owned, statuses),
    ...(owned === null && { generationDrifts: true }),
    since: isDeallocated(seen) || statuses.power === 'running' ? (owned?.getTime() ?? null) : null,
    nodeNames: nodeNamesOf(vm),
    clusters: clusterNamesFromTags(vm.tags ?? {}),
    zone: vm.zones?.[0] !== undefined && vm.location !== undefined ? `${vm.location}-${vm.zones[0]}` : null,
    disks: dataDisks ? attachedDisks(machine, vm, dataDisks) : [],
    evidence: evidenceOf(statuses, osDisk, { vmId: vmId ?? 'none', requestId }),
  };
};

/**
 * Returns the generation. Azure hands over the OS disk at each start and deallocation, and the time of the handover
 * distinguishes boots. If the disk cannot be read, the time of the last operation is used instead. Every detach by
 * Cloudfence or the CSI driver also changes that time, so such a generation drifts. The text distinguishes the two
 * kinds, and distinguishes the machine from the next one with its name.
 */
const generationOf = (vmId: string | null, owned: Date | null, { provisionedAt }: Statuses): string | null => {
  if (vmId === null) return null;
  if (owned) return `${vmId} handed over ${owned.toISOString()}`;
  return provisionedAt === null ? null : `${vmId} provisioned ${new Date(provisionedAt).toISOString()}`;
};

/**
 * Returns the names of the Node, which is named after the computer or after the virtual machine.
 * https://github.com/kubernetes-sigs/cloud-provider-azure
 */
export const nodeNamesOf = ({ osProfile, name }: Vm): readonly string[] =>
  [...new Set([osProfile?.computerName ?? '', name ?? ''].map((one) => one.toLowerCase()))].filter((one) => one !== '');

const evidenceOf = (statuses: Statuses, osDisk: Disk | null, rest: Evidence): Evidence => ({
  power: statuses.power ?? 'none',
  provisioning: statuses.provisioning ?? 'none',
  hibernation: statuses.hibernation ?? 'none',
  osDisk: osDisk?.diskState ?? 'none',
  handedOver: osDisk?.lastOwnershipUpdateTime?.toISOString() ?? 'none',
  ...rest,
  readFrom: READ_FROM,
});

/**
 * Returns the facts for an id that ARM does not know. That alone proves nothing: with wrong credentials or in another
 * tenant, the answer is the same.
 */
export const missingMachineFacts = (machine: MachineId, state: string): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'missing',
  nodeNames: candidateNodeNames(machine),
  evidence: { state, readFrom: READ_FROM },
});

/** Returns the facts if nothing can be proved about the machine from here. */
export const unknownMachineFacts = (machine: MachineId, state: string): MachineFacts => ({
  ...emptyMachineFacts(machine),
  power: 'unknown',
  evidence: { state, readFrom: READ_FROM },
});
