import type { MachineId } from '../../fencing/model/machine.ts';

/** The causes for which a pod waits. docs/diagnose.md has the sign, the proof, and the remedy of each. */

export type CauseKind =
  // it is not the volume
  | 'not-waiting'
  | 'not-the-volume'
  // the pod has no Node yet
  | 'waits-for-consumer'
  | 'no-provisioner'
  | 'provisioning-refused'
  | 'no-volume'
  | 'claim-missing'
  | 'claim-lost'
  | 'claim-going'
  | 'volume-missing'
  | 'volume-going'
  | 'wrong-zone'
  | 'local-volume'
  | 'node-full'
  | 'read-write-once-pod'
  // something else holds the volume
  | 'machine-off'
  | 'machine-stopping'
  | 'machine-suspended'
  | 'machine-unreachable'
  | 'machine-unknown'
  | 'node-gone'
  | 'node-gone-machine-runs'
  | 'rollout-surge'
  | 'shared-claim'
  | 'pod-does-not-end'
  | 'unmount-stuck'
  | 'storage-server-gone'
  | 'driver-missing-on-holder'
  | 'moving-now'
  // the attachment and its attacher
  | 'stale-attachment'
  | 'driver-not-on-node'
  | 'attacher-down'
  | 'attacher-backs-off'
  | 'detach-first'
  // the cloud
  | 'attached-outside'
  | 'disk-busy'
  | 'disk-stuck-attaching'
  | 'disk-deleted'
  | 'attach-limit'
  | 'not-permitted'
  | 'throttled'
  | 'target-machine-gone'
  | 'key-unusable'
  | 'detach-pending'
  | 'incompatible'
  | 'lun-taken'
  | 'attach-failed'
  // the mount
  | 'driver-not-in-kubelet'
  | 'mount-hangs'
  | 'device-missing'
  | 'filesystem-damaged'
  | 'wrong-filesystem'
  | 'wrong-volume-mode'
  | 'slow-ownership'
  | 'slow-relabel'
  | 'rbd-watcher'
  | 'storage-not-ready'
  | 'network-storage'
  | 'read-only'
  | 'windows-mount'
  | 'mount-refused'
  | 'mount-failed'
  | 'kubelet-stuck'
  // the pod does not end
  | 'pod-finalizer'
  // nothing of the above
  | 'unknown';

/** How sure the answer is: shown by facts, the likeliest reading of them, or open. */
export type Confidence = 'proved' | 'likely' | 'cannot-tell';

/**
 * How the wait ends:
 * - `over`: nothing waits for a volume
 * - `by-itself`: Kubernetes or the cloud ends it
 * - `by-fence`: Cloudfence ends it
 * - `by-person`: a person has to act
 */
export type WaitEnd = 'over' | 'by-itself' | 'by-fence' | 'by-person';

export interface Cause {
  readonly kind: CauseKind;
  readonly confidence: Confidence;
  readonly ending: WaitEnd;
  /** One or two sentences. */
  readonly says: string;
  /** What shows it, one fact each. */
  readonly proof: readonly string[];
  /** The machine that a fence would be for. Null if no fence ends the wait. */
  readonly machine: MachineId | null;
  /** Who waits for what. */
  readonly waits: string;
  /** Commands and advice for a person, the first one first. Nothing of it has been done. */
  readonly next: readonly string[];
}
