import type { Disk } from '@azure/arm-compute';
import { nothingKnown, type Evidence, type MachineFacts, type MachineId } from '../../fencing/machine.ts';
import { attachedDisks } from './attached-disks.ts';
import { classify, statusesOf, type Statuses } from './classify.ts';
import { clustersIn } from './cluster-tags.ts';
import { likelyNodeNames } from './node-names.ts';
import type { Vm } from './vm.ts';

export interface Sighting {
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
    power: vmId === null ? 'unknown' : classify({ vm, osDiskState: osDisk?.diskState ?? null }),
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
 * time of the last operation does, which every detach moves as well, ours and the CSI driver's: such a generation drifts. The two are never mistaken for each other, nor one machine's
 * for that of the next of its name.
 */
const generationOf = (vmId: string | null, owned: Date | null, { provisionedAt }: Statuses): string | null => {
  if (vmId === null) return null;
  if (owned) return `${vmId} handed over ${owned.toISOString()}`;
  return provisionedAt === null ? null : `${vmId} provisioned ${new Date(provisionedAt).toISOString()}`;
};

/** Nodes are named after the computer, or after the virtual machine. https://github.com/kubernetes-sigs/cloud-provider-azure */
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
export const missingFacts = (machine: MachineId, state: string): MachineFacts => ({ ...nothingKnown(machine), power: 'missing', nodeNames: likelyNodeNames(machine), evidence: { state, readFrom: READ_FROM } });

/** Nothing is to be proved about it from here. */
export const unknownFacts = (machine: MachineId, state: string): MachineFacts => ({ ...nothingKnown(machine), power: 'unknown', evidence: { state, readFrom: READ_FROM } });

