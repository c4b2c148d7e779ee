import type {
  DiskId,
  DiskHolders,
  IdentitySource,
  MachineFacts,
  MachineId,
  MachineTarget,
  VolumeHandle,
  Witness,
} from './machine.ts';
import type { Permit } from './permit.ts';

/** A place of a cloud where a machine is said to be, and to which Cloudfence has no access. */
export interface UnservedScope {
  readonly scope: string;
  /** The setting that a person has to change so that Cloudfence serves the place. */
  readonly remedy: string;
}

/**
 * The part of a cloud that fencing needs: reads, and two destructive calls.
 *
 * Every method throws a `CloudfenceError`: `Unavailable` or `PermissionDenied` if the cloud gave no answer, `Refused` if it
 * declined the call. A provider never makes up an answer: a machine is `missing` only if the cloud said so.
 */
export interface Cloud {
  readonly name: string;

  /**
   * Returns the reading of the cloud that the machine belongs to, if several clouds act as one. How the other clouds
   * read its Node is not evidence. A single cloud leaves this method out. Pure.
   */
  readonly identityRulesFor?: (machine: MachineId) => CloudIdentityRules;

  /**
   * Looks at the machines live, never from a cache. Returns one entry for each machine asked for, including `missing`
   * ones. Leaves out one of several machines only if it alone got no answer: asked for by itself, it says why. Reads
   * disks from the disk side and from the machine side, and only if `disks` is set.
   */
  readonly look: (
    machines: readonly MachineId[],
    scope: { readonly disks: boolean },
    signal: AbortSignal,
  ) => Promise<readonly MachineFacts[]>;

  /**
   * Returns the scope whose machines one call can read together, such as a region. The loop then joins the looks at
   * machines of one scope. Returns null if the scope is not known yet. Absent on a cloud that reads each machine in a
   * call of its own. Pure.
   */
  readonly sharedLookScope?: (machine: MachineId) => string | null;

  /**
   * Asks the disks themselves, by id, what they know of a machine that the cloud reports as `missing`. All of them have
   * to be found.
   */
  readonly witness: (machine: MachineId, disks: readonly DiskId[], signal: AbortSignal) => Promise<Witness>;

  /**
   * Asks the disks of these volumes which machines hold them. Returns one entry for each disk that exists and shows its
   * holders. This method is for clouds whose attachments name a Node and no machine: once that Node is gone, only the
   * disks know the owner.
   */
  readonly holders?: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskHolders[]>;

  /**
   * Returns machines that a Node of this name may have been, likeliest first, at the location of that volume's disk.
   * They are hints, never proof. Pure.
   */
  readonly machinesNamed?: (node: string, volume: VolumeHandle) => readonly MachineId[];

  /**
   * Starts to detach one data disk from exactly this machine. Returns once the cloud has accepted the call, or says
   * that the disk is no longer attached to the machine, or that it does not exist. The next look shows whether the disk
   * is detached. The cloud itself, and not this method, refuses the disk from which the machine boots.
   */
  readonly detach: (
    from: MachineTarget,
    disk: DiskId,
    mode: 'plain' | 'forced',
    permit: Permit,
    signal: AbortSignal,
  ) => Promise<void>;

  /** Requests a hard power-off. A later look still has to see the proof. */
  readonly powerOff: (target: MachineTarget, permit: Permit, signal: AbortSignal) => Promise<void>;

  /**
   * Returns the machine that an identity source names, or null if the source names no machine of this cloud. As a
   * `providerID`, the bare id of a machine names it too, because a person may type it. Pure.
   */
  readonly machineOf: (source: IdentitySource) => MachineId | null;

  /**
   * Returns the ids of the incarnations that an identity source may mean. Returns more than one if the source can be
   * read in several ways, and none if it names none. Pure.
   */
  readonly immutableIdsOf: (source: IdentitySource) => readonly string[];

  /**
   * Returns the region, zone, account, subscription, or project in which an identity source places its machine, if
   * Cloudfence does not ask this cloud there. "Not found" says nothing about such a machine. Returns null if Cloudfence
   * asks there, or if the source names no place. Pure.
   */
  readonly unservedScope: (source: IdentitySource) => UnservedScope | null;

  /** Returns the cloud's own disk behind a CSI volume, or null if it is no disk that this cloud can detach. Pure. */
  readonly diskOf: (volume: VolumeHandle) => DiskId | null;
}

/** How a cloud reads the names that a cluster knows. */
export type CloudIdentityRules = Pick<Cloud, 'name' | 'machineOf' | 'immutableIdsOf' | 'unservedScope' | 'diskOf'>;
