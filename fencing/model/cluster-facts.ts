import type { IdentitySource, MachineFacts, VolumeHandle } from './machine.ts';
import type { FenceRecord } from './record.ts';

/** What the cluster says of one Node and of what hangs on it, in fencing's words. */

/**
 * Somebody's word that a Node is not to be fenced: by a label, which no kubelet can write on a Node, or by an
 * annotation.
 */
export interface OptOut {
  readonly by: 'label' | 'annotation';
  readonly key: string;
  readonly says: string;
  /** How it is taken off. */
  readonly remedy: string;
}

export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly bootID: string;
  /** When the Node was made (epoch ms). */
  readonly created: number;
  readonly ready: 'True' | 'False' | 'Unknown';
  /** When `ready` last changed (epoch ms). */
  readonly readySince: number;
  readonly deleting: boolean;
  readonly zone: string | null;
  readonly controlPlane: boolean;
  /** Everything on the Node and its CSINode that may name the machine. */
  readonly identitySources: readonly IdentitySource[];
  /** `ours`: the out-of-service taint stands, and what no kubelet may write says that we put it there. */
  readonly taints: { readonly outOfService: boolean; readonly ours: boolean; readonly quarantine: boolean };
  /** The command with which a person takes the out-of-service taint off. */
  readonly untaint: string;
  /** Finalizers on the Node: somebody else wants a word before it goes. */
  readonly finalizers: readonly string[];
  /** Kinds of its owners, such as NodeClaim. */
  readonly owners: readonly string[];
  /** Everything on it by which somebody opts it out. */
  readonly optOuts: readonly OptOut[];
  /** The value of our label, which no kubelet may write, or null: a record without it is not ours. */
  readonly label: string | null;
  /**
   * The fence and the boot for which our out-of-service taint was put there, as a label beside it says, or null. We
   * remove both in one write.
   */
  readonly taintedFor: FenceInBoot | null;
  /** The fence that a person took away, as our label says it, or null. */
  readonly tombstone: Tombstone | null;
  /** What an earlier run noted of a machine that is `stopping`, in a label that no kubelet may write, or null. */
  readonly stopping: FirstStopping | null;
  /** The fence's annotation as it stands, or null; `record` is null too when it cannot be read. */
  readonly recordText: string | null;
  readonly record: FenceRecord | null;
}

/** A fence, and the boot of the machine that it is for. */
export interface FenceInBoot {
  readonly fence: string;
  /** The boot, in the form of `bootMark`. */
  readonly boot: string;
}

/** What is left of a fence that somebody else removed: it is not begun again in that boot. */
export type Tombstone = FenceInBoot;

/**
 * When a machine was first seen `stopping`, for runs that come later: of one machine and one boot of it, and of no
 * other.
 */
export interface FirstStopping {
  /** Epoch ms. */
  readonly at: number;
  /** Both, in a few characters. */
  readonly boot: string;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The uid of its controller, which makes another one when it goes; null for a pod that nothing replaces. */
  readonly owner: string | null;
  readonly priority: number;
  readonly kind: 'mirror' | 'daemon' | 'job' | 'other';
  /** Succeeded or Failed: it runs nothing and wants no volume. */
  readonly finished: boolean;
  readonly deleting: boolean;
  readonly finalizers: boolean;
  /** It tolerates the out-of-service taint. */
  readonly tolerates: boolean;
  readonly optOut: OptOut | null;
  /** Keys of the attachable volumes that it uses. */
  readonly volumes: readonly string[];
  /**
   * Claims (`namespace/name`) behind which no volume can be found, and volumes of an unknown kind: each may be any
   * volume of the Node that is not another claim's.
   */
  readonly unresolved: readonly string[];
}

export interface AttachmentFacts {
  readonly name: string;
  readonly uid: string;
  readonly attached: boolean;
  /** When it was made (epoch ms). */
  readonly created: number;
  /** When it was asked to go (epoch ms), or null. */
  readonly deletingSince: number | null;
  /** What the driver last said about the detach, or null. */
  readonly detachError: string | null;
  readonly attachError: string | null;
  readonly nudged: boolean;
  /** The machine's id as the attacher noted it, or null. */
  readonly source: IdentitySource | null;
}

export interface VolumeFacts extends VolumeHandle {
  /** `driver^handle`: the name under which pods and looks refer to it. */
  readonly key: string;
  /** The PersistentVolume that was read and carries this very handle, or null. */
  readonly persistentVolume: string | null;
  /** The claim that this PersistentVolume is bound to, `namespace/name`; null when there is none, or none is known. */
  readonly claim: string | null;
  /** The name that Kubernetes computes for this volume on this Node, whether or not the object exists. */
  readonly attachmentName: string;
  readonly attachment: AttachmentFacts | null;
  /** The status of the Node that stands reports it as attached. */
  readonly reported: boolean;
  /** The same volume's attachment to the Node of the pod that replaced the old one; null unless it was asked for. */
  readonly successor: AttachmentFacts | null;
}

export interface Surroundings {
  /** The reason for which all fencing is paused in this cluster, or null. */
  readonly paused: string | null;
}

/** Who else is out of reach, asked only before a running machine is powered off. */
export interface ConnectivitySurvey {
  /** Nodes whose Lease is stale, this one included; of those under a fence of ours none, here and below. */
  readonly unreachable: readonly string[];
  /** Nodes of this Node's zone, reachable or not, this one included. */
  readonly zone: readonly string[];
  /** Every Node of the cluster on which anything names the machine, this one included. */
  readonly claimants: readonly string[];
}

export interface ClusterFacts {
  /** The Node that bears the machine's identity; null when there is none (any more). */
  readonly node: NodeFacts | null;
  /** The Node's name, also when it is gone and only what it left behind still names it; null when nothing does. */
  readonly nodeName: string | null;
  /** A Node of the same name with another uid than the fenced one stands in the cluster. */
  readonly nameTaken: boolean;
  readonly pods: readonly PodFacts[];
  readonly volumes: readonly VolumeFacts[];
  /** The kubelet's Lease, as it stands: renewTime in RFC 3339 with microseconds, or null when there is none. */
  readonly lease: string | null;
  readonly surroundings: Surroundings;
  /** The cluster knows the out-of-service taint. */
  readonly taintSupported: boolean;
}

/** The little that is read again right before each destructive call. */
export interface Recheck {
  readonly uid: string | null;
  readonly recordText: string | null;
  readonly taints: Pick<NodeFacts['taints'], 'outOfService' | 'ours'>;
  readonly lease: string | null;
}

/**
 * FNV-1a, 32 bits, in 7 characters: it tells the boots of one machine apart, and leaves room for more in a label's
 * value.
 */
export const shortHash = (text: string): string => {
  let hash = 0x81_1c_9d_c5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  return (hash >>> 0).toString(36).padStart(7, '0');
};

/** One boot by both accounts: the kubelet's bootID and the cloud's generation. */
const bootMark = (bootID: string, generation: string | null): string =>
  `${shortHash(bootID)}${shortHash(generation ?? '')}`;

export const fenceInBoot = (
  fence: string,
  { bootID }: Pick<NodeFacts, 'bootID'>,
  { generation }: Pick<MachineFacts, 'generation'>,
): FenceInBoot => ({
  fence,
  boot: bootMark(bootID, generation),
});

/**
 * Whether it speaks of the boot that has ended. A machine that the cloud has forgotten has no boot left that could
 * be another; a cloud that knew no boot when the fence was removed said nothing of it; and where operations move the
 * generation as well, only the Node tells boots apart.
 */
export const isOfThisBoot = (
  { boot }: FenceInBoot,
  { bootID }: Pick<NodeFacts, 'bootID'>,
  { generation, generationDrifts }: Pick<MachineFacts, 'generation' | 'generationDrifts'>,
): boolean =>
  generation === null || generationDrifts === true || boot === bootMark(bootID, null)
    ? boot.startsWith(shortHash(bootID))
    : boot === bootMark(bootID, generation);
