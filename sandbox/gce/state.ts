import { current, type Versioned, type VersionedStore } from '../history.ts';
import type { InvariantViolation } from '../invariant-violation.ts';
import type { World } from '../world.ts';
import type { Fault, OperationError } from './faults.ts';

export type InstanceStatus =
  | 'PROVISIONING'
  | 'STAGING'
  | 'RUNNING'
  | 'PENDING_STOP'
  | 'STOPPING'
  | 'TERMINATED'
  | 'SUSPENDING'
  | 'SUSPENDED'
  | 'REPAIRING'
  | 'DEPROVISIONING';

export interface AttachedDisk {
  readonly deviceName: string;
  /** The path of the disk, or null for a local SSD, which is not a separate resource. */
  readonly source: string | null;
  readonly boot: boolean;
  readonly mode: 'READ_WRITE' | 'READ_ONLY';
  readonly autoDelete: boolean;
}

export interface Instance {
  /** The path with its name, which the next instance can reuse. */
  readonly path: string;
  /** Never reused, and larger than a JavaScript number can hold exactly. */
  readonly id: string;
  readonly status: InstanceStatus;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly stoppedAt: number | null;
  readonly suspendedAt: number | null;
  /** When the present stop was requested. */
  readonly stopAskedAt: number | null;
  readonly disks: readonly AttachedDisk[];
  readonly labels: Readonly<Record<string, string>>;
  readonly hostname: string | null;
  readonly spot: boolean;
  /** The path of the managed instance group that made it, or null. */
  readonly createdBy: string | null;
  /** How long a graceful shutdown can keep it in PENDING_STOP (ms), or null if not configured. */
  readonly gracefulTakes: number | null;
  /** How long the operating system takes to shut down (ms), or null if it never does by itself. */
  readonly shutdownTakes: number | null;
  readonly toBeDeleted: boolean;
  /** Hidden from the API: whether the guest executes instructions. A `frozen` guest continues where it stopped. */
  readonly guest: 'up' | 'down' | 'frozen';
  readonly boot: number;
  /** Paths of mounted disks. */
  readonly mounts: readonly string[];
}

export interface Disk {
  readonly path: string;
  readonly id: string;
  readonly status: 'CREATING' | 'READY' | 'DELETING' | 'FAILED' | 'RESTORING' | 'UNAVAILABLE';
  readonly accessMode: 'READ_WRITE_SINGLE' | 'READ_WRITE_MANY' | 'READ_ONLY_MANY' | null;
  readonly createdAt: number;
  readonly attachedAt: number | null;
  readonly detachedAt: number | null;
  /** Paths of instances. */
  readonly users: readonly string[];
}

/** Durations in ms of virtual time, unless they say otherwise. */
export interface SimulationSettings {
  /** The maximum age of the state that a get returns. */
  staleUpTo: number;
  staleness: 'oldest' | 'seeded';
  provisioningTakes: number;
  stagingTakes: number;
  shutdownTakes: number;
  /** The time after which Compute Engine cuts the power, whatever the guest does. */
  shutdownLimit: number;
  suspendTakes: number;
  repairTakes: number;
  deprovisioningTakes: number;
  operationStarts: number;
  attachTakes: number;
  detachTakes: number;
  /** Whether the machine can keep the data of local SSDs during a stop. */
  keepsLocalSsds: boolean;
  /** Permissions that the API reports as missing. */
  missingPermissions: readonly string[];
  /** The maximum time of one wait for an operation. */
  waitLasts: number;
}

export interface GceState {
  readonly project: string;
  readonly projectNumber: string;
  readonly region: string;
  readonly knobs: SimulationSettings;
  readonly instances: VersionedStore<Instance>;
  readonly disks: VersionedStore<Disk>;
  readonly operations: Operation[];
  /** All entries that the log router would deliver, oldest first. */
  readonly events: LogEntry[];
  readonly violations: InvariantViolation[];
  readonly faults: Fault[];
  serial: number;
}

export interface Operation {
  readonly name: string;
  readonly id: string;
  readonly type: 'stop' | 'start' | 'suspend' | 'resume' | 'reset' | 'delete' | 'attachDisk' | 'detachDisk';
  /** Path and numeric id of the instance. */
  readonly target: string;
  readonly targetId: string;
  readonly requestId: string | null;
  /** Set for an attach or a detach. */
  readonly disk: AttachedDisk | null;
  readonly insertedAt: number;
  readonly endedAt: number | null;
  readonly error: OperationError | null;
}

export interface WithGce {
  readonly gce: GceState;
}

export type GceWorld = World<WithGce>;

export const emptyGce = (
  resource: { readonly project: string; readonly projectNumber: string; readonly region: string },
  knobs: Partial<SimulationSettings> = {},
): GceState => ({
  ...resource,
  knobs: { ...usual, ...knobs },
  instances: {},
  disks: {},
  operations: [],
  events: [],
  violations: [],
  faults: [],
  serial: 0,
});

const usual: SimulationSettings = {
  staleUpTo: 0,
  staleness: 'oldest',
  provisioningTakes: 2_000,
  stagingTakes: 10_000,
  shutdownTakes: 20_000,
  shutdownLimit: 90_000,
  suspendTakes: 15_000,
  repairTakes: 180_000,
  deprovisioningTakes: 5_000,
  operationStarts: 200,
  attachTakes: 2_000,
  detachTakes: 2_500,
  keepsLocalSsds: true,
  missingPermissions: [],
  waitLasts: 120_000,
};

const FIRST_ID = 4_611_686_018_427_387_905n;

/** The next numeric id. */
export const nextId = (gce: GceState): string => {
  gce.serial += 1;
  return String(FIRST_ID + BigInt(gce.serial));
};

const everything = <T>(shelf: VersionedStore<T>): readonly T[] =>
  Object.values<Versioned<T>>(shelf).flatMap((kept) => (kept.present ? [kept.present] : []));

export const instanceIn = (world: GceWorld, path: string): Instance | undefined =>
  current(world.parts.gce.instances, path);
export const diskIn = (world: GceWorld, path: string): Disk | undefined => current(world.parts.gce.disks, path);
export const instancesIn = (world: GceWorld): readonly Instance[] => everything(world.parts.gce.instances);
export const disksOf = (world: GceWorld, instance: string): readonly Disk[] =>
  everything(world.parts.gce.disks).filter(({ users }) => users.includes(instance));

/** The entries of Cloud Audit Logs about instances. https://cloud.google.com/compute/docs/logging/audit-logging */
export interface LogEntry {
  readonly protoPayload: {
    readonly '@type': 'type.googleapis.com/google.cloud.audit.AuditLog';
    readonly authenticationInfo: { readonly principalEmail: string };
    readonly serviceName: 'compute.googleapis.com';
    readonly methodName: string;
    readonly resourceName: string;
    readonly status?: { readonly code?: number };
  };
  readonly insertId: string;
  readonly resource: {
    readonly type: 'gce_instance';
    readonly labels: { readonly instance_id: string; readonly project_id: string; readonly zone: string };
  };
  readonly timestamp: string;
  readonly severity: 'NOTICE' | 'INFO' | 'ERROR';
  readonly logName: string;
  readonly operation: { readonly id: string; readonly producer: string; readonly first?: true; readonly last?: true };
}
