import type { IdentitySource, MachineFacts, VolumeHandle } from './machine.ts';
import type { FenceRecord } from './record.ts';

/** What the cluster says about one Node and everything that belongs to it, in fencing's terms. */

/** A request not to fence a Node. It is made by a label, which no kubelet can write on a Node, or by an annotation. */
export interface OptOut {
  readonly by: 'label' | 'annotation';
  readonly key: string;
  readonly says: string;
  /** How to remove the opt-out. */
  readonly remedy: string;
}

export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly bootID: string;
  /** When the Node was created (epoch ms). */
  readonly created: number;
  readonly ready: 'True' | 'False' | 'Unknown';
  /** When `ready` last changed (epoch ms). */
  readonly readySince: number;
  readonly deleting: boolean;
  readonly zone: string | null;
  readonly controlPlane: boolean;
  /** Everything on the Node and its CSINode that may name the machine. */
  readonly identitySources: readonly IdentitySource[];
  /** `ours`: the out-of-service taint is set, and something that no kubelet may write says that Cloudfence set it. */
  readonly taints: { readonly outOfService: boolean; readonly ours: boolean; readonly quarantine: boolean };
  /** The command with which a person removes the out-of-service taint. */
  readonly untaint: string;
  /** The command with which a person removes the fence's record. */
  readonly dropRecord: string;
  /** Finalizers on the Node: another party wants to act before the Node goes. */
  readonly finalizers: readonly string[];
  /** Kinds of the Node's owners, such as NodeClaim. */
  readonly owners: readonly string[];
  /** Every opt-out on the Node. */
  readonly optOuts: readonly OptOut[];
  /** The value of our label, which no kubelet may write, or null. */
  readonly label: string | null;
  /**
   * The fence and the boot for which Cloudfence set its out-of-service taint, as the taint itself or the label next to
   * it says, or null. Cloudfence removes the taint and the label in one write.
   */
  readonly taintedFor: FenceInBoot | null;
  /** The fence that a person removed, as our label says, or null. */
  readonly tombstone: Tombstone | null;
  /** What an earlier run noted about a machine that is `stopping`, in a label that no kubelet may write, or null. */
  readonly stopping: FirstStopping | null;
  /** The text of the fence's annotation, or null. A kubelet may write it. */
  readonly recordText: string | null;
  /** The fence's record. Null if it cannot be read, or if nothing else of ours is on the Node (`bearsFence`). */
  readonly record: FenceRecord | null;
  /**
   * The record of a Node that has nothing else of ours, or null. Someone removed the fence and left the record, or a
   * kubelet wrote it.
   */
  readonly strayRecord: FenceRecord | null;
}

/**
 * Returns whether the Node has our label or one of our taints, which no kubelet can write. One of them is enough,
 * because a person may remove the others.
 */
export const bearsFence = ({ label, taints }: Pick<NodeFacts, 'label' | 'taints'>): boolean =>
  label !== null || taints.ours || taints.quarantine;

/**
 * Returns the out-of-service taint of ours that stands on the Node, as a text that no other mark has, or null. Those
 * that do not say which fence they are of have one text.
 */
export const ownMark = ({ taints, taintedFor }: Pick<NodeFacts, 'taints' | 'taintedFor'>): string | null => {
  if (!taints.ours) return null;
  return taintedFor ? `${taintedFor.fence} in ${taintedFor.boot}` : 'of an unknown fence';
};

/**
 * Returns the name of the fence on the Node, or null without one. Each new fence has a name of its own. The taint comes
 * last, because a release removes it first.
 */
export const fenceNameOn = ({ taintedFor, tombstone, record, label, strayRecord }: NodeFacts): string | null =>
  record?.fence ?? tombstone?.fence ?? label ?? strayRecord?.fence ?? taintedFor?.fence ?? null;

/** A fence, and the boot of the machine that it is for. */
export interface FenceInBoot {
  readonly fence: string;
  /** The boot, in the form of `bootMark`. */
  readonly boot: string;
}

/** What is left of a fence that someone else removed. Cloudfence does not begin it again in that boot. */
export type Tombstone = FenceInBoot;

/** When a machine was first seen `stopping`, for later runs. It counts for one machine and one boot only. */
export interface FirstStopping {
  /** Epoch ms. */
  readonly at: number;
  /** The machine and its boot, in a few characters. */
  readonly boot: string;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * The uid of the pod's controller, which creates another pod when this one goes. Null for a pod that nothing
   * replaces.
   */
  readonly owner: string | null;
  readonly priority: number;
  readonly kind: 'mirror' | 'daemon' | 'job' | 'other';
  /** The pod is Succeeded or Failed: it runs nothing and wants no volume. */
  readonly finished: boolean;
  readonly deleting: boolean;
  readonly finalizers: boolean;
  /** The pod tolerates the out-of-service taint. */
  readonly tolerates: boolean;
  readonly optOut: OptOut | null;
  /** Keys of the attachable volumes that the pod uses. */
  readonly volumes: readonly string[];
  /**
   * Claims (`namespace/name`) behind which no volume can be found, and volumes of an unknown kind. Each may be any
   * volume of the Node that does not belong to another claim.
   */
  readonly unresolved: readonly string[];
}

export interface AttachmentFacts {
  readonly name: string;
  readonly uid: string;
  readonly attached: boolean;
  /** When the attachment was created (epoch ms). */
  readonly created: number;
  /** When its deletion was requested (epoch ms), or null. */
  readonly deletingSince: number | null;
  /** The driver's last error about the detach, or null. */
  readonly detachError: string | null;
  readonly attachError: string | null;
  readonly nudged: boolean;
  /** The machine's id as the attacher noted it, or null. */
  readonly source: IdentitySource | null;
}

export interface VolumeFacts extends VolumeHandle {
  /** `driver^handle`: the name under which pods and looks refer to the volume. */
  readonly key: string;
  /** The PersistentVolume that was read and has exactly this handle, or null. */
  readonly persistentVolume: string | null;
  /**
   * The claim to which this PersistentVolume is bound (`namespace/name`). Null if there is none, or if none is known.
   */
  readonly pvc: string | null;
  /**
   * The name that Kubernetes computes for the attachment of this volume to this Node, whether or not the object exists.
   */
  readonly attachmentName: string;
  readonly attachment: AttachmentFacts | null;
  /** The status of the existing Node reports the volume as attached. */
  readonly reported: boolean;
  /** The same volume's attachment to the Node of the pod that replaced the old one. Null unless it was asked for. */
  readonly successor: AttachmentFacts | null;
}

export interface Surroundings {
  /** The reason for which all fencing is paused in this cluster, or null. */
  readonly paused: string | null;
}

/** Which Nodes are unreachable. Cloudfence asks only before it powers off a running machine. */
export interface ConnectivitySurvey {
  /**
   * Nodes whose Lease is stale, including this one. Neither this list nor the ones below contain Nodes under a fence of
   * ours.
   */
  readonly unreachable: readonly string[];
  /** Nodes of this Node's zone, reachable or not, including this one. */
  readonly zone: readonly string[];
  /**
   * Every Node of the cluster on which anything names the machine, including this one, and every Node that does not say
   * yet which machine it is.
   */
  readonly nodesNamingMachine: readonly string[];
}

/** The survey of the machine's own cluster, and which Nodes of the other clusters name the machine. */
export interface SurveyOfClusters extends ConnectivitySurvey {
  /** Each with its cluster, in words for people. */
  readonly elsewhere: readonly string[];
  /** Clusters that gave no answer, and why. Any of them may hold a Node that names the machine. */
  readonly unanswered: readonly string[];
}

export interface ClusterFacts {
  /** The Node that carries the machine's identity. Null if there is none (any more). */
  readonly node: NodeFacts | null;
  /**
   * The Node's name, even if the Node is gone and only what it left behind still names it. Null if nothing names it.
   */
  readonly nodeName: string | null;
  /** The cluster has a Node of the same name with another uid than the fenced one. */
  readonly nameTaken: boolean;
  readonly pods: readonly PodFacts[];
  readonly volumes: readonly VolumeFacts[];
  /** The current renewTime of the kubelet's Lease, in RFC 3339 with microseconds. Null if there is no Lease. */
  readonly lease: string | null;
  readonly surroundings: Surroundings;
  /** The cluster knows the out-of-service taint. */
  readonly taintSupported: boolean;
  /**
   * Names that no object can have, so the look did not ask for them. Someone wrote them into a claim, or into the record
   * on the Node. Absent if there are none.
   */
  readonly impossibleNames?: readonly string[];
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names */
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Whether an object of Kubernetes can have this name. */
export const isName = (text: string): boolean => NAME.test(text);

/** The few facts that are read again right before each destructive call. */
export interface Recheck {
  readonly uid: string | null;
  readonly recordText: string | null;
  readonly taints: Pick<NodeFacts['taints'], 'outOfService' | 'ours'>;
  readonly lease: string | null;
}

/**
 * Returns the FNV-1a hash (32 bits) in 7 characters. It distinguishes the boots of one machine and leaves room for more
 * in a label's value.
 */
export const shortHash = (text: string): string => {
  let hash = 0x81_1c_9d_c5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  return (hash >>> 0).toString(36).padStart(7, '0');
};

/** Returns the boot as both sources name it: the kubelet's bootID and the cloud's generation. */
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

/** Returns whether a fence was for the boot that the Node shows, whatever the cloud says about that boot. */
export const isOfShownBoot = ({ boot }: FenceInBoot, { bootID }: Pick<NodeFacts, 'bootID'>): boolean =>
  boot.startsWith(shortHash(bootID));

/** Returns whether a fence was for the boot that the Node shows, and the cloud knew no boot at that time. */
export const isOfUnknownBoot = ({ boot }: FenceInBoot, { bootID }: Pick<NodeFacts, 'bootID'>): boolean =>
  boot === bootMark(bootID, null);

/**
 * Returns whether a fence was for the boot that has ended. The bootID alone decides in three cases. A machine that the
 * cloud has forgotten has no boot left that could be another one. A cloud that knew no boot when the fence was removed
 * said nothing about it. Where operations change the generation too, only the Node distinguishes boots.
 */
export const isOfThisBoot = (
  fence: FenceInBoot,
  node: Pick<NodeFacts, 'bootID'>,
  { generation, generationDrifts }: Pick<MachineFacts, 'generation' | 'generationDrifts'>,
): boolean =>
  generation === null || generationDrifts === true || isOfUnknownBoot(fence, node)
    ? isOfShownBoot(fence, node)
    : fence.boot === bootMark(node.bootID, generation);
