/** What the cloud says of one machine, in fencing's words. A provider translates; nothing here knows a cloud. */

/**
 * What a cloud is asked for a machine by: an immutable id, or, in clouds that hand a name on from one machine to the
 * next, the full path of the name. There the `Incarnation` tells which of them it is.
 */
export type MachineId = string;

/** One of the machines that bore a name one after the other. */
export interface Incarnation {
  /** The cloud's immutable id of it. */
  readonly id: string;
  /** When it was made (epoch ms), or null when the cloud does not say. */
  readonly made: number | null;
}

/** One machine, to act on: a call meant for one incarnation never reaches the next. */
export interface MachineTarget {
  readonly machine: MachineId;
  /** Id of the incarnation; null where the machine's id is never reused, or nobody of that name is left. */
  readonly incarnation: string | null;
}

/** A disk of the cloud, by the id that its detach call takes. */
export type DiskId = string;

/**
 * - `off`: proof that the guest can write no more
 * - `off-if-repeated`: proof once a second, later read says the same
 * - `stopping`: on its way down, the guest may still write
 * - `suspended`: memory is kept and writes again within seconds of a resume
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
  /** Why this disk must never be detached by hand (root, shared, managed by the cloud), or null. */
  readonly keep: string | null;
}

/** What the cloud said, in its own words: kept in the record and shown to people, never decided on. */
export type Evidence = Readonly<Record<string, string>>;

export interface MachineFacts {
  readonly machine: MachineId;
  /** Null where the machine's id is never reused, and for a machine that is `missing`. */
  readonly incarnation: Incarnation | null;
  readonly power: Power;
  /**
   * It is `stopping` only because an operation on it is under way, such as the detach of a disk; by its power state it
   * is off. That proves nothing, for a start begins like this too, but it is no sign that the guest may write, either.
   */
  readonly offUnderOperation?: boolean;
  /** The machine is terminated: it will never start again. */
  readonly forGood: boolean;
  /** Changes with every boot; null when the cloud does not say. */
  readonly generation: string | null;
  /** The generation changes with operations on the machine as well, such as a detach of one of its disks. */
  readonly generationDrifts?: boolean;
  /** When the present power state was asked for or began, if the cloud says (epoch ms). */
  readonly since: number | null;
  /** Names under which its Node may be registered, likeliest first. Clues, never proof. */
  readonly nodeNames: readonly string[];
  /** Names of the clusters that claim it; empty when nobody does. */
  readonly clusters: readonly string[];
  readonly zone: string | null;
  /** Only the disks that the cloud shows attached to this very machine; empty when they were not asked for. */
  readonly disks: readonly DiskAttachment[];
  readonly evidence: Evidence;
}

/** What a provider starts from where the cloud shows no machine. */
export const nothingKnown = (machine: MachineId): Omit<MachineFacts, 'power' | 'evidence'> => ({
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

/** A disk's own word on the machines that hold it: none hold a free one. */
export interface Holding {
  readonly disk: DiskId;
  readonly by: readonly MachineId[];
}

/**
 * What the disks that were attached to a machine tell of it once its cloud no longer knows it:
 * - `released`: all of them are found, in the place of the machine, and none names it
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
  /** The CSI driver that wrote it; null where none did. */
  readonly driver: string | null;
  readonly value: string;
}

/** A CSI volume as Kubernetes names it. */
export interface VolumeHandle {
  readonly driver: string;
  readonly handle: string;
}

/**
 * The machine that a Node's providerID names, which nobody can change once it is set; null where there is none, or of
 * no such machine.
 */
export const ownMachine = (
  identitySources: readonly IdentitySource[],
  machineOf: (source: IdentitySource) => MachineId | null,
): MachineId | null =>
  identitySources
    .filter(({ source }) => source === 'providerID')
    .map(machineOf)
    .find((machine) => machine !== null) ?? null;
