/**
 * What the cloud says about one machine, in fencing's terms. Providers translate the cloud's answers into these types.
 * This module contains nothing about a specific cloud.
 */

/**
 * The id with which Cloudfence asks a cloud about a machine. It is immutable. In clouds that reuse names, it is the
 * full path of the name. In those clouds, the `Incarnation` identifies the machine among all machines of that name.
 */
export type MachineId = string;

/** One of several machines that had the same name one after the other. */
export interface Incarnation {
  /** The cloud's immutable id of the incarnation. */
  readonly id: string;
  /** When it was created (epoch ms), or null if the cloud does not say. */
  readonly made: number | null;
}

/** The machine on which a call acts. A call for one incarnation never affects a later one. */
export interface MachineTarget {
  readonly machine: MachineId;
  /** Id of the incarnation. Null if machine ids are never reused, or if no machine of that name exists. */
  readonly incarnation: string | null;
}

/** The id of a disk that the cloud's detach call accepts. */
export type DiskId = string;

/**
 * The power state of a machine:
 * - `off`: proof that the guest can no longer write
 * - `off-if-repeated`: proof if a second, later read says the same
 * - `stopping`: the machine is shutting down, and the guest may still write
 * - `suspended`: the memory is kept, and the guest writes again within seconds of a resume
 * - `missing`: the cloud does not know the id; proof only with a witness
 * - `unknown`: the cloud answers, but the answer contains no known power state
 */
export type Power =
  | 'off'
  | 'off-if-repeated'
  | 'stopping'
  | 'starting'
  | 'running'
  | 'suspended'
  | 'missing'
  | 'unknown';

/** Power states that are proof, either alone or together with a second read or a witness. */
export const offStates: ReadonlySet<string> = new Set<Power>(['off', 'off-if-repeated', 'missing']);

/** Returns whether the cloud knows the machine and says that it is off. One look is no proof. */
export const isPoweredOff = (facts: Pick<MachineFacts, 'power'> | null): boolean =>
  facts?.power === 'off' || facts?.power === 'off-if-repeated';

/** The power state as a word for people, after "is". They need not know how often a look must say it. */
export const powerInWords = (power: string): string => (power === 'off-if-repeated' ? 'off' : power);

export interface DiskAttachment {
  readonly disk: DiskId;
  readonly state: 'attaching' | 'attached' | 'detaching' | 'busy';
  /** Why Cloudfence must never detach this disk itself (root, shared, managed by the cloud), or null. */
  readonly keep: string | null;
}

/**
 * What the cloud said, in its own words. Cloudfence stores it in the record and shows it to people, but never uses it
 * for decisions.
 */
export type Evidence = Readonly<Record<string, string>>;

export interface MachineFacts {
  readonly machine: MachineId;
  /** Null if the machine's id is never reused, and for a machine that is `missing`. */
  readonly incarnation: Incarnation | null;
  readonly power: Power;
  /**
   * The machine is `stopping` only because an operation on it is in progress, such as the detach of a disk. Its power
   * state is off. That is no proof, because a start looks the same at first. But it is also no sign that the guest may
   * write.
   */
  readonly offUnderOperation?: boolean;
  /** The machine is terminated: it will never start again. */
  readonly forGood: boolean;
  /** A value that changes with every boot. Null if the cloud does not report one. */
  readonly generation: string | null;
  /** Whether operations on the machine, such as the detach of a disk, also change the generation. */
  readonly generationDrifts?: boolean;
  /** When the present power state was requested or began (epoch ms), if the cloud says. */
  readonly since: number | null;
  /** Names under which the machine's Node may be registered, likeliest first. They are hints, never proof. */
  readonly nodeNames: readonly string[];
  /** The cluster names in the machine's tags. Empty if there are none. */
  readonly clusters: readonly string[];
  readonly zone: string | null;
  /**
   * Only the disks that the cloud reports as attached to exactly this machine. Empty if the look did not ask for disks.
   */
  readonly disks: readonly DiskAttachment[];
  readonly evidence: Evidence;
}

/**
 * Returns whether a machine looks off, which is no proof. If an operation is in progress on a machine that is off, it
 * is usually the awaited detach.
 */
export const seemsOff = ({ power, offUnderOperation = false }: MachineFacts): boolean =>
  offStates.has(power) || offUnderOperation;

/** Returns the facts about a machine for which the cloud has no entry. */
export const emptyMachineFacts = (machine: MachineId): Omit<MachineFacts, 'power' | 'evidence'> => ({
  machine,
  incarnation: null,
  forGood: false,
  generation: null,
  since: null,
  nodeNames: [],
  clusters: [],
  zone: null,
  disks: [],
});

/** What a disk itself says about the machines that hold it. A free disk has no holders. */
export interface DiskHolders {
  readonly disk: DiskId;
  readonly by: readonly MachineId[];
}

/**
 * What the disks that were attached to a machine show after the cloud no longer knows the machine:
 * - `released`: all disks are found at the location of the machine, and none names the machine
 * - `held`: at least one disk still names it
 * - `none`: a disk is not found or cannot answer, so nothing is known
 */
export type Witness = 'released' | 'held' | 'none';

/** A field in the cluster that may contain a machine's id. */
export interface IdentitySource {
  readonly source:
    | 'providerID'
    | 'csiNode'
    | 'nodeIdAnnotation'
    | 'volumeAttachment'
    | 'systemUUID'
    | 'instanceIdAnnotation';
  /** The CSI driver that wrote it. Null if no driver wrote it. */
  readonly driver: string | null;
  readonly value: string;
}

/** A CSI volume as Kubernetes names it. */
export interface VolumeHandle {
  readonly driver: string;
  readonly handle: string;
}

/**
 * Returns the machine that a Node's providerID names, or null if the Node has no providerID or its providerID names no
 * such machine. A providerID cannot change once it is set.
 */
export const machineOfProviderID = (
  identitySources: readonly IdentitySource[],
  machineOf: (source: IdentitySource) => MachineId | null,
): MachineId | null =>
  identitySources
    .filter(({ source }) => source === 'providerID')
    .map(machineOf)
    .find((machine) => machine !== null) ?? null;

/**
 * Reports whether the Node's own providerID names another machine. A providerID cannot change once it is set. If a
 * CSINode or an annotation of such a Node names this machine, the kubelet of another machine wrote it.
 */
export const isImposter = (
  identitySources: readonly IdentitySource[],
  {
    machine,
    machineOf,
  }: { readonly machine: MachineId; readonly machineOf: (source: IdentitySource) => MachineId | null },
): boolean => ![machine, null].includes(machineOfProviderID(identitySources, machineOf));
