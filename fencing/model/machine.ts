/** What the cloud says about one machine, in fencing's terms. A provider translates. Nothing here knows a cloud. */

/**
 * The id by which Cloudfence asks a cloud for a machine. It is immutable, or, in clouds that reuse names, the full path
 * of the name. There, the `Incarnation` tells which machine of that name is meant.
 */
export type MachineId = string;

/** One of several machines that had the same name one after the other. */
export interface Incarnation {
  /** The cloud's immutable id of the incarnation. */
  readonly id: string;
  /** When it was created (epoch ms), or null if the cloud does not say. */
  readonly made: number | null;
}

/** One machine to act on. A call meant for one incarnation never reaches the next. */
export interface MachineTarget {
  readonly machine: MachineId;
  /** Id of the incarnation. Null if the machine's id is never reused, or if no machine of that name is left. */
  readonly incarnation: string | null;
}

/** A disk of the cloud, by the id that its detach call takes. */
export type DiskId = string;

/**
 * The power state of a machine:
 * - `off`: proof that the guest can no longer write
 * - `off-if-repeated`: proof once a second, later read says the same
 * - `stopping`: the machine is on its way down, and the guest may still write
 * - `suspended`: memory is kept, and it writes again within seconds of a resume
 * - `missing`: the cloud does not know the id; proof only with a witness
 * - `unknown`: the cloud answers, but not with a power state
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

export interface DiskAttachment {
  readonly disk: DiskId;
  readonly state: 'attaching' | 'attached' | 'detaching' | 'busy';
  /** Why Cloudfence must never detach this disk itself (root, shared, managed by the cloud), or null. */
  readonly keep: string | null;
}

/**
 * What the cloud said, in its own words. Cloudfence keeps it in the record and shows it to people, but never decides on
 * it.
 */
export type Evidence = Readonly<Record<string, string>>;

export interface MachineFacts {
  readonly machine: MachineId;
  /** Null if the machine's id is never reused, and for a machine that is `missing`. */
  readonly incarnation: Incarnation | null;
  readonly power: Power;
  /**
   * The machine is `stopping` only because an operation on it is in progress, such as the detach of a disk. By its
   * power state, it is off. That proves nothing, because a start begins in the same way. But it is no sign that the
   * guest may write, either.
   */
  readonly offUnderOperation?: boolean;
  /** The machine is terminated: it will never start again. */
  readonly forGood: boolean;
  /** Changes with every boot. Null if the cloud does not say. */
  readonly generation: string | null;
  /** The generation also changes with operations on the machine, such as the detach of one of its disks. */
  readonly generationDrifts?: boolean;
  /** When the present power state was requested or began (epoch ms), if the cloud says. */
  readonly since: number | null;
  /** Names under which the machine's Node may be registered, likeliest first. They are hints, never proof. */
  readonly nodeNames: readonly string[];
  /** Names of the clusters that the machine's tags name. Empty if they name none. */
  readonly clusters: readonly string[];
  readonly zone: string | null;
  /** Only the disks that the cloud shows attached to exactly this machine. Empty if they were not asked for. */
  readonly disks: readonly DiskAttachment[];
  readonly evidence: Evidence;
}

/** Returns the facts from which a provider starts if the cloud shows no machine. */
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

/** What a disk itself says about the machines that hold it. No machine holds a free disk. */
export interface DiskHolders {
  readonly disk: DiskId;
  readonly by: readonly MachineId[];
}

/**
 * What the disks that were attached to a machine tell about it once its cloud no longer knows it:
 * - `released`: all of them are found at the location of the machine, and none names it
 * - `held`: one still names it
 * - `none`: one is not found, or cannot tell, so nothing is known
 */
export type Witness = 'released' | 'held' | 'none';

/** A place in the cluster where a machine's id may be written. */
export interface IdentitySource {
  readonly source:
    | 'providerID'
    | 'csiNode'
    | 'nodeIdAnnotation'
    | 'volumeAttachment'
    | 'systemUUID'
    | 'instanceIdAnnotation';
  /** The CSI driver that wrote it. Null if no driver did. */
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
 * CSINode or an annotation of such a Node names this machine, a kubelet of another machine wrote it.
 */
export const isImposter = (
  identitySources: readonly IdentitySource[],
  {
    machine,
    machineOf,
  }: { readonly machine: MachineId; readonly machineOf: (source: IdentitySource) => MachineId | null },
): boolean => ![machine, null].includes(machineOfProviderID(identitySources, machineOf));
