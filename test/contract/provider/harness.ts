import type { Cloud } from '../../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, Power, VolumeHandle } from '../../../fencing/model/machine.ts';

/** A state of the cloud that a machine can be brought to, and what a look at it may say. */
export interface ProofRow {
  readonly state: string;
  readonly power: Power;
  /** A new machine in that state. */
  readonly machine: () => Promise<MachineId>;
}

/** One cloud account with a provider on it, and access to that cloud from outside the provider. */
export interface ProviderHarness {
  readonly cloud: Cloud;
  /** Well-formed IDs that the cloud does not know. */
  readonly unknownMachine: MachineId;
  readonly unknownDisk: DiskId;
  /** A new machine, running. */
  readonly machine: () => Promise<MachineId>;
  /** Each method returns once the change is complete. */
  readonly stop: (machine: MachineId) => Promise<void>;
  readonly start: (machine: MachineId) => Promise<void>;
  readonly terminate: (machine: MachineId) => Promise<void>;
  /** How the machine looks after that, and after a hard power-off. Clouds differ. */
  readonly afterTermination: { readonly power: Power; readonly forGood: boolean };
  readonly afterPowerOff: Power;
  /** Every state that the harness can produce. */
  readonly proofTable: readonly ProofRow[];
  /** A new data disk, attached to that machine or to none. */
  readonly disk: (machine: MachineId | null) => Promise<DiskId>;
  readonly holderOf: (disk: DiskId) => Promise<MachineId | null>;
  /** Lets pending operations finish. */
  readonly settle: () => Promise<void>;
  readonly identitySourceOf: (machine: MachineId) => IdentitySource;
  /** What external-attacher notes on an existing attachment to that machine. */
  readonly attachedAs: (machine: MachineId) => IdentitySource;
  readonly volumeOf: (disk: DiskId) => VolumeHandle;
  readonly close: () => Promise<void>;
}
