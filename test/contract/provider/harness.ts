import type { Cloud } from '../../../fencing/model/cloud.ts';
import type { DiskId, IdentitySource, MachineId, Power, VolumeHandle } from '../../../fencing/model/machine.ts';

/** A state of the cloud into which a machine can be brought, and what a look at it may return. */
export interface ProofRow {
  readonly state: string;
  readonly power: Power;
  /** Creates a machine in that state. */
  readonly machine: () => Promise<MachineId>;
}

/** One cloud account with a provider, and access to that cloud from outside the provider. */
export interface ProviderHarness {
  readonly cloud: Cloud;
  /** Well-formed IDs that the cloud does not know. */
  readonly unknownMachine: MachineId;
  readonly unknownDisk: DiskId;
  /** A new machine that runs. */
  readonly machine: () => Promise<MachineId>;
  /** Each method returns once the change is complete. */
  readonly stop: (machine: MachineId) => Promise<void>;
  readonly start: (machine: MachineId) => Promise<void>;
  readonly terminate: (machine: MachineId) => Promise<void>;
  /** How the machine looks afterwards, and after a hard power-off. Clouds differ. */
  readonly afterTermination: { readonly power: Power; readonly forGood: boolean };
  readonly afterPowerOff: Power;
  /** Every state that the harness can create. */
  readonly proofTable: readonly ProofRow[];
  /** A new data disk that is attached to that machine or to none. */
  readonly disk: (machine: MachineId | null) => Promise<DiskId>;
  readonly holderOf: (disk: DiskId) => Promise<MachineId | null>;
  /** Lets pending operations finish. */
  readonly settle: () => Promise<void>;
  readonly identitySourceOf: (machine: MachineId) => IdentitySource;
  /** What external-attacher writes into an existing attachment to that machine. */
  readonly attachedAs: (machine: MachineId) => IdentitySource;
  readonly volumeOf: (disk: DiskId) => VolumeHandle;
  readonly close: () => Promise<void>;
}
