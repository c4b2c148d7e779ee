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

/**
 * A location in a cloud (such as a region or project) that a machine's identity names, but to which Cloudfence has no
 * access.
 */
export interface UnservedScope {
  readonly scope: string;
  /** The setting that gives Cloudfence access to the location. */
  readonly remedy: string;
}

/**
 * The interface of a cloud that fencing needs: reads, and two destructive calls.
 *
 * Every method throws a `CloudfenceError`: `Unavailable` or `PermissionDenied` if there is no usable answer, `Refused`
 * if the cloud rejects the call. A provider never invents an answer: a machine is `missing` only if the cloud said so.
 */
export interface Cloud {
  readonly name: string;

  /**
   * Returns the identity rules of the cloud to which the machine belongs, if this object combines several clouds. What
   * the other clouds read from its Node is not evidence. Absent on a single cloud. Pure.
   */
  readonly identityRulesFor?: (machine: MachineId) => CloudIdentityRules;

  /**
   * Reads the machines live, never from a cache. Returns one entry for each requested machine, including `missing`
   * ones. Omits a machine only if the cloud gave no answer about this one of several machines. A separate call for that
   * machine shows the reason. Reads the disks only if `disks` is set, both through the disks and through the machine.
   */
  readonly look: (
    machines: readonly MachineId[],
    scope: { readonly disks: boolean },
    signal: AbortSignal,
  ) => Promise<readonly MachineFacts[]>;

  /**
   * Returns the scope, such as a region, within which one call can read several machines. The loop combines the looks
   * of machines in the same scope. Returns null if the scope is not known yet. Absent on a cloud that needs a separate
   * call for each machine. Pure.
   */
  readonly sharedLookScope?: (machine: MachineId) => string | null;

  /**
   * Asks the disks themselves, by id, about a machine that the cloud reports as `missing`. All of the disks must be
   * found.
   */
  readonly witness: (machine: MachineId, disks: readonly DiskId[], signal: AbortSignal) => Promise<Witness>;

  /**
   * Asks which machines hold the disks of these volumes. Returns one entry for each disk that exists and shows its
   * holders. Only for clouds whose attachments name a Node but no machine: after the Node is gone, only the disks show
   * the machine.
   */
  readonly holders?: (volumes: readonly VolumeHandle[], signal: AbortSignal) => Promise<readonly DiskHolders[]>;

  /**
   * Returns the machines that may have had a Node of this name, at the location of the volume's disk, the likeliest
   * first. They are only hints, never proof. Pure.
   */
  readonly machinesNamed?: (node: string, volume: VolumeHandle) => readonly MachineId[];

  /**
   * Begins to detach one data disk from exactly this machine. Returns when the cloud has accepted the call, or says
   * that the disk does not exist or is no longer attached to the machine. The next look shows whether the disk is
   * detached. This method does not check for the boot disk; the cloud itself refuses to detach it.
   */
  readonly detach: (
    from: MachineTarget,
    disk: DiskId,
    mode: 'plain' | 'forced',
    permit: Permit,
    signal: AbortSignal,
  ) => Promise<void>;

  /**
   * Requests an immediate power-off without a shutdown of the guest. It is no proof: a later look must show that the
   * machine is off.
   */
  readonly powerOff: (target: MachineTarget, permit: Permit, signal: AbortSignal) => Promise<void>;

  /**
   * Returns the machine that an identity source names, or null if it names no machine of this cloud. As a `providerID`,
   * the id of a machine alone is also accepted, because a person may type it. Pure.
   */
  readonly machineOf: (source: IdentitySource) => MachineId | null;

  /**
   * Returns the ids of the incarnations that an identity source may name. Returns several ids if the source is
   * ambiguous, and none if it names none. Pure.
   */
  readonly immutableIdsOf: (source: IdentitySource) => readonly string[];

  /**
   * Returns the region, zone, account, subscription, or project that an identity source names, if Cloudfence has no
   * access to it. "Not found" proves nothing about such a machine. Returns null if Cloudfence has access, or if the
   * source names no location. Pure.
   */
  readonly unservedScope: (source: IdentitySource) => UnservedScope | null;

  /** Returns the cloud's disk behind a CSI volume, or null if this cloud cannot detach it. Pure. */
  readonly diskOf: (volume: VolumeHandle) => DiskId | null;
}

/** How a cloud reads machine names and disk names in a cluster. */
export type CloudIdentityRules = Pick<Cloud, 'name' | 'machineOf' | 'immutableIdsOf' | 'unservedScope' | 'diskOf'>;

/** A reason to look at one machine now. It is never proof. */
export interface Hint {
  readonly machine: MachineId;
  /** What happened, in a kebab-case word or two, such as `state-change-stopped` or `spot-interruption`. */
  readonly because: string;
  readonly eventId: string | null;
  /**
   * When it happened (epoch ms, accurate to the second). Do not use it to order events. Null if the event does not
   * contain a time.
   */
  readonly time: number | null;
  /**
   * The account and region of the machine, if the event names them. The caller must reject other accounts and regions.
   */
  readonly account: string | null;
  readonly region: string | null;
  /** The name of the archive replay that brought the event, or null. */
  readonly replay: string | null;
  /** The message that contained the hint requests a dry run. */
  readonly dryRun?: true;
}

/** A part of a message that cannot be read, described for the sender. */
export interface Fault {
  readonly what: string;
  /** A JSON path that starts at `$`. */
  readonly where: string;
  readonly remedy: string;
}

/** An event that the reader understands but that names no machine, such as a test notification. */
export interface IgnoredEvent {
  readonly what: string;
  readonly where: string;
}

/**
 * The result of a provider's event reader. For every input, the reader returns at least one hint, fault, or ignored
 * event.
 */
export interface ParsedEvent {
  readonly hints: readonly Hint[];
  readonly faults: readonly Fault[];
  readonly ignored: readonly IgnoredEvent[];
  /**
   * Whether any part of the message requests a dry run. Callers use it for parts of the message that no provider can
   * read.
   */
  readonly dryRun?: 'wanted' | 'unclear';
}
