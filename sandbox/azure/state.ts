import { usualVersions, type KnownVersions } from './interface.ts';
import { current, type Versioned, type VersionedStore } from '../history.ts';
import type { InvariantViolation } from '../invariant-violation.ts';
import type { World } from '../world.ts';
import type { Fault } from './faults.ts';

export type PowerState = 'running' | 'starting' | 'stopping' | 'stopped' | 'deallocating' | 'deallocated' | 'unknown';
export type ProvisioningState = 'Succeeded' | 'Updating' | 'Deleting' | 'Failed';

/** A virtual machine, or an instance of a uniform scale set, under its ARM id in lower case. */
export interface Machine {
  readonly id: string;
  /** The id in the letter case that ARM uses. */
  readonly armId: string;
  readonly name: string;
  /** The uniform scale set that it is an instance of. */
  readonly set: { readonly name: string; readonly instance: string } | null;
  readonly vmId: string;
  readonly made: number;
  readonly computerName: string;
  readonly zone: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Null means that the response contains no power state. */
  readonly power: PowerState | null;
  readonly provisioning: ProvisioningState;
  /** When the last operation ended. */
  readonly provisionedAt: number;
  readonly canHibernate: boolean;
  /** Whether the present deallocation keeps the memory. */
  readonly hibernating: boolean;
  /** The operation in progress on the machine. */
  readonly operation: string | null;
  /** How long the operating system takes to shut down (ms), or null if it never does by itself. */
  readonly shutdownTakes: number | null;
  /** What ARM does not show: whether the guest executes instructions. A `frozen` guest continues where it stopped. */
  readonly guest: 'up' | 'down' | 'frozen';
  readonly boot: number;
  readonly mounts: readonly string[];
}

export interface Attachment {
  readonly machine: string;
  readonly lun: number;
  readonly state: 'attaching' | 'attached' | 'detaching';
  readonly forced: boolean;
}

export interface Disk {
  readonly id: string;
  readonly armId: string;
  readonly name: string;
  readonly os: boolean;
  readonly zone: string;
  readonly maxShares: number;
  /** Null if the response contains none. */
  readonly handedOverAt: number | null;
  readonly attachments: readonly Attachment[];
  /** Whether the disk is exported with a shared access signature. */
  readonly exported?: boolean;
}

/** A long-running operation. An actor performs its effect at its end. */
export interface Operation {
  readonly id: string;
  readonly status: 'InProgress' | 'Succeeded' | 'Failed';
  readonly code: string | null;
}

/** Durations in ms of virtual time. */
export interface SimulationSettings {
  /** The maximum age of the state that a read returns. */
  staleUpTo: number;
  bootTakes: number;
  /** How long a start from deallocated shows `stopped` before it shows `starting`. */
  startShowsStopped: number;
  shutdownTakes: number;
  forcedStopTakes: number;
  deallocateTakes: number;
  deleteTakes: number;
  /** Whether the scale sets have automatic repairs. */
  repairsInstances: boolean;
  /** How long the disks of a deleted machine still name it. */
  disksHeldFor: number;
  attachTakes: number;
  detachTakes: number;
  /** While set, detaches fail at their end with this code. */
  detachFailsWith: string | null;
  /** Whether disks can be detached by force from an instance of a uniform scale set, as from a standalone machine. */
  forceDetachOnSets: boolean;
  /** Versions of the interface that ARM knows. */
  apiVersions: KnownVersions;
  /** The URL form that reports the progress of an operation. */
  pollBy: 'async' | 'location' | 'both';
  pageSize: number;
  /** Actions that the caller's roles allow, as patterns; null if the caller may not read its own permissions. */
  allowedActions: readonly string[] | null;
  /**
   * How late (ms) the cloud controller of the cluster sets the out-of-service taint by itself; null if it never does.
   */
  outOfServiceAfter: number | null;
}

export interface AzureState {
  readonly subscription: string;
  readonly group: string;
  readonly location: string;
  readonly knobs: SimulationSettings;
  readonly machines: VersionedStore<Machine>;
  readonly disks: VersionedStore<Disk>;
  readonly operations: Record<string, Operation>;
  /** Uniform scale sets by name; they exist without machines, too. */
  readonly sets: string[];
  /** All events that Event Grid would deliver, oldest first. */
  readonly events: OperationEvent[];
  readonly violations: InvariantViolation[];
  readonly faults: Fault[];
  serial: number;
}

export interface WithAzure {
  readonly azure: AzureState;
}

export type AzureCloudWorld = World<WithAzure>;

export const emptyAzure = (
  scope: Pick<AzureState, 'subscription' | 'group' | 'location'>,
  knobs: Partial<SimulationSettings> = {},
): AzureState => ({
  ...scope,
  knobs: { ...usual, ...knobs },
  machines: {},
  disks: {},
  operations: {},
  sets: [],
  events: [],
  violations: [],
  faults: [],
  serial: 0,
});

const usual: SimulationSettings = {
  staleUpTo: 0,
  bootTakes: 20_000,
  startShowsStopped: 1_000,
  shutdownTakes: 20_000,
  forcedStopTakes: 5_000,
  deallocateTakes: 25_000,
  deleteTakes: 15_000,
  repairsInstances: false,
  disksHeldFor: 5_000,
  attachTakes: 4_000,
  detachTakes: 5_000,
  detachFailsWith: null,
  forceDetachOnSets: true,
  apiVersions: usualVersions,
  pollBy: 'both',
  outOfServiceAfter: null,
  allowedActions: ['*'],
  pageSize: 100,
};

export const nextSerial = (azure: AzureState): string => {
  azure.serial += 1;
  return azure.serial.toString(16);
};

const everything = <T>(shelf: VersionedStore<T>): readonly T[] =>
  Object.values<Versioned<T>>(shelf).flatMap(({ present }) => present ?? []);

export const machineIn = (world: AzureCloudWorld, id: string): Machine | undefined =>
  current(world.parts.azure.machines, id);
export const diskIn = (world: AzureCloudWorld, id: string): Disk | undefined => current(world.parts.azure.disks, id);
export const machinesIn = (world: AzureCloudWorld): readonly Machine[] => everything(world.parts.azure.machines);

export const attachmentTo = (disk: Disk, machine: string): Attachment | undefined =>
  disk.attachments.find((attachment) => attachment.machine === machine);

export const disksOf = (world: AzureCloudWorld, machine: string): readonly Disk[] =>
  everything(world.parts.azure.disks).filter((disk) => attachmentTo(disk, machine));

/**
 * The event that Event Grid delivers about an operation that was requested from ARM, in Event Grid's schema.
 * https://learn.microsoft.com/azure/event-grid/event-schema-subscriptions
 */
export interface OperationEvent {
  readonly id: string;
  readonly topic: string;
  readonly subject: string;
  readonly eventType: 'Microsoft.Resources.ResourceActionSuccess' | 'Microsoft.Resources.ResourceDeleteSuccess';
  readonly eventTime: string;
  readonly data: {
    readonly operationName: string;
    readonly resourceProvider: 'Microsoft.Compute';
    readonly resourceUri: string;
    readonly status: 'Succeeded';
    readonly subscriptionId: string;
  };
  readonly dataVersion: '2';
  readonly metadataVersion: '1';
}
