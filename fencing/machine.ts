/** What the cloud says of one machine, in fencing's words. A provider translates; nothing here knows a cloud. */

/** The immutable id by which a cloud tells machines apart: never a name, names are reused. */
export type MachineId = string;

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
export type Power = 'off' | 'off-if-repeated' | 'stopping' | 'starting' | 'running' | 'suspended' | 'missing' | 'unknown';

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
  readonly power: Power;
  /** The machine is terminated: it will never start again. */
  readonly forGood: boolean;
  /** Changes with every boot; null when the cloud does not say. */
  readonly generation: string | null;
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

/**
 * What a disk tells of a machine that its cloud no longer knows:
 * - `released`: a disk of the same account and region exists and does not name the machine
 * - `held`: a disk still names it
 * - `none`: none of the disks could be found, so nothing is known
 */
export type Witness = 'released' | 'held' | 'none';

/** A place in the cluster where a machine's id may be written. */
export interface IdentityCarrier {
  readonly carrier: 'providerID' | 'csiNode' | 'nodeIdAnnotation' | 'volumeAttachment';
  /** The CSI driver that wrote it; null for a providerID. */
  readonly driver: string | null;
  readonly value: string;
}

/** A CSI volume as Kubernetes names it. */
export interface VolumeHandle {
  readonly driver: string;
  readonly handle: string;
}
