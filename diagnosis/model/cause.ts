import type { MachineId } from '../../fencing/model/machine.ts';

/** The causes why a pod waits. docs/diagnose.md describes the sign, the proof, and the remedy of each. */

export type CauseKind =
  // the volume is not the cause
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
  // the pod does not exist
  | 'pod-refused'
  | 'predecessor-not-ready'
  // the volume has another holder
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
  | 'controller-down'
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
  // the pod is not deleted
  | 'pod-finalizer'
  // none of these
  | 'unknown';

/** How certain the answer is: proved by facts, the most likely explanation, or unknown. */
export type Confidence = 'proved' | 'likely' | 'cannot-tell';

/**
 * How the wait ends:
 * - `over`: nothing waits for a volume
 * - `by-itself`: Kubernetes or the cloud ends it
 * - `by-fence`: a fence by Cloudfence ends it
 * - `by-person`: a person has to act
 */
export type WaitEnd = 'over' | 'by-itself' | 'by-fence' | 'by-person';

export interface Cause {
  readonly kind: CauseKind;
  readonly confidence: Confidence;
  readonly ending: WaitEnd;
  /** One or two sentences. */
  readonly says: string;
  /** The facts that show the cause, one each. */
  readonly proof: readonly string[];
  /** The machine that a fence would fence. Null if a fence would not end the wait. */
  readonly machine: MachineId | null;
  /** Which component waits for what. */
  readonly waits: string;
  /** Commands and advice for a person, the most important first. Cloudfence has not run any of them. */
  readonly next: readonly string[];
}
