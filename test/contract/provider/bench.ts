import type { Cloud } from '../../../fencing/cloud.ts';
import type { DiskId, IdentityCarrier, MachineId, VolumeHandle } from '../../../fencing/machine.ts';

/** One cloud account with a provider on it, and a hand in that cloud from outside the provider. */
export interface Bench {
  readonly cloud: Cloud;
  /** Well-formed ids that the cloud does not know. */
  readonly unknownMachine: MachineId;
  readonly unknownDisk: DiskId;
  /** A new machine, running. */
  readonly machine: () => Promise<MachineId>;
  /** Each returns once the change is complete. */
  readonly stop: (machine: MachineId) => Promise<void>;
  readonly start: (machine: MachineId) => Promise<void>;
  readonly terminate: (machine: MachineId) => Promise<void>;
  /** A new data disk, attached to that machine or to none. */
  readonly disk: (machine: MachineId | null) => Promise<DiskId>;
  readonly holderOf: (disk: DiskId) => Promise<MachineId | null>;
  /** Lets what was ordered come to its end. */
  readonly settle: () => Promise<void>;
  readonly carrierOf: (machine: MachineId) => IdentityCarrier;
  readonly volumeOf: (disk: DiskId) => VolumeHandle;
  readonly close: () => Promise<void>;
}
