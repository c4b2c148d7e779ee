import type {
  DiskId,
  Holding,
  IdentitySource,
  MachineFacts,
  MachineId,
  MachineTarget,
  VolumeHandle,
  Witness,
} from './machine.ts';
import type { Permit } from './permit.ts';

/** A place of a cloud that a machine is said to stand in, and that nobody here has access to. */
export interface UnservedPlace {
  readonly place: string;
  /** What a person has to set so that it is served. */
  readonly remedy: string;
}

/**
 * The cloud, as far as fencing needs it: three questions and two verbs.
 *
 * Every method throws a `CloudfenceError`: `Unavailable` and `Denied` when the cloud gave no answer, `Refused` when it
 * declined the call. An answer is never made up: a machine is `missing` only when the cloud said so.
 */
export interface Cloud {
  readonly name: string;

  /**
   * The readings of the cloud that a machine is of, where several act as one: what the others would make of its Node is
   * not evidence. Left out by a cloud by itself. Pure.
   */
  readonly readingFor?: (machine: MachineId) => CloudReading;

  /**
   * A live look, never from a cache: one entry for each machine asked for, `missing` ones included.
   * Disks are read from the disk side and from the machine side, and only when `disks` is set.
   */
  readonly look: (
    machines: readonly MachineId[],
    scope: { readonly disks: boolean },
    signal: AbortSignal,
  ) => Promise<readonly MachineFacts[]>;

  /**
   * Asks the disks themselves, by id, what they know of a machine that the cloud says is `missing`. All of them have to
   * be found.
   */
  readonly witness: (machine: MachineId, disks: readonly DiskId[], signal: AbortSignal) => Promise<Witness>;

  /**
   * Who holds the disks below these volumes, asked of the disks themselves: one entry for each disk that exists and can
   * tell. For clouds whose attachments name a Node and no machine: once that Node is gone, only the disks know whose
   * they were.
   */
  readonly holders?: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly Holding[]>;

  /**
   * Machines that a Node of this name may have been, likeliest first, in the place of that volume's disk. Clues, never
   * proof. Pure.
   */
  readonly machinesNamed?: (node: string, volume: VolumeHandle) => readonly MachineId[];

  /**
   * Starts a detach of one data disk from this very machine. Returns once the cloud has accepted it or says that the
   * disk is not attached to the machine any more; whether it is gone, the next look shows.
   */
  readonly detach: (
    from: MachineTarget,
    disk: DiskId,
    manner: 'plain' | 'forced',
    permit: Permit,
    signal: AbortSignal,
  ) => Promise<void>;

  /** Orders a hard power-off. The proof still has to be seen by a later look. */
  readonly powerOff: (target: MachineTarget, permit: Permit, signal: AbortSignal) => Promise<void>;

  /**
   * The machine that an identity source names, or null when the source does not speak of this cloud's machines. Pure.
   */
  readonly machineOf: (source: IdentitySource) => MachineId | null;

  /**
   * Ids of the incarnations that an identity source may mean, more than one where it can be read in several ways; none
   * where it speaks of none. Pure.
   */
  readonly incarnationsOf: (source: IdentitySource) => readonly string[];

  /**
   * The region, zone, account, subscription or project in which an identity source says that its machine stands, where
   * this cloud is not asked there: "not found" says nothing about it. Null where it is asked there, or the source names
   * no place. Pure.
   */
  readonly unservedPlace: (source: IdentitySource) => UnservedPlace | null;

  /** The cloud's own disk behind a CSI volume, or null when it is no disk that this cloud can detach. Pure. */
  readonly diskOf: (volume: VolumeHandle) => DiskId | null;
}

/** What a cloud makes of the names that a cluster knows. */
export type CloudReading = Pick<Cloud, 'name' | 'machineOf' | 'incarnationsOf' | 'unservedPlace' | 'diskOf'>;
