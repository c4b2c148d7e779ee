import type { IdentitySource, MachineFacts, VolumeHandle } from './machine.ts';
import type { FenceRecord } from './record.ts';

/** Everything that the cluster says about one Node and the objects that belong to it. */

/** A request not to fence a Node. It is set by a label that no kubelet can write, or by an annotation. */
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
  /** `ours`: the out-of-service taint is set, and a value that no kubelet can write shows that Cloudfence set it. */
  readonly taints: { readonly outOfService: boolean; readonly ours: boolean; readonly quarantine: boolean };
  /** The command that removes the out-of-service taint by hand. */
  readonly untaint: string;
  /** The command that removes the fence's record by hand. */
  readonly dropRecord: string;
  /** Finalizers on the Node: another controller has to act before the Node is deleted. */
  readonly finalizers: readonly string[];
  /** Kinds of the Node's owners, such as NodeClaim. */
  readonly owners: readonly string[];
  /** Every opt-out on the Node. */
  readonly optOuts: readonly OptOut[];
  /** The value of our label, or null. No kubelet can write it. */
  readonly label: string | null;
  /**
   * The fence and the boot for which Cloudfence set its out-of-service taint, from the value of the taint or of the
   * label next to it, or null. Cloudfence always removes the taint and the label in one write.
   */
  readonly taintedFor: FenceInBoot | null;
  /** The fence that a person removed, from the value of our label, or null. */
  readonly tombstone: Tombstone | null;
  /** An earlier run's note about a machine that is `stopping`, or null. It is in a label that no kubelet can write. */
  readonly stopping: FirstStopping | null;
  /** The text of the fence's annotation, or null. A kubelet may write it. */
  readonly recordText: string | null;
  /**
   * The seal of a record that is not on the Node any more, because someone removed or changed it. Null if the seal is
   * that of the present record, and if there is none. No kubelet can write a seal.
   */
  readonly unmatchedSeal: string | null;
  /**
   * The fence's record. Null if it cannot be read, if it is forged, or if the Node has nothing else of Cloudfence
   * (`hasOwnLabelOrTaint`).
   */
  readonly record: FenceRecord | null;
  /**
   * The record of a Node that has nothing else of Cloudfence, or null. Either someone removed the rest of the fence, or
   * a kubelet wrote the record.
   */
  readonly strayRecord: FenceRecord | null;
}

/**
 * Returns whether the Node has our label or one of our taints, which no kubelet can write. One of them is sufficient,
 * because a person may have removed the others.
 */
export const hasOwnLabelOrTaint = ({ label, taints }: Pick<NodeFacts, 'label' | 'taints'>): boolean =>
  label !== null || taints.ours || taints.quarantine;

/** Returns whether someone else, such as a kubelet, has changed the record. The record then counts as removed. */
export const isForged = ({ recordText, unmatchedSeal }: Pick<NodeFacts, 'recordText' | 'unmatchedSeal'>): boolean =>
  recordText !== null && unmatchedSeal !== null;

/**
 * Returns a text that identifies our mark on the Node, or null. Each mark has a different text. If our taint of an
 * earlier fence is still set, the next mark keeps that taint, and only the label names the new fence. Taints that do
 * not name their fence share one text.
 */
export const ownMark = ({
  taints,
  taintedFor,
  label,
}: Pick<NodeFacts, 'taints' | 'taintedFor' | 'label'>): string | null => {
  if (!taints.ours) return null;
  if (!taintedFor) return 'of an unknown fence';
  const keptBy = label === null || label === taintedFor.fence ? '' : `, kept by ${label}`;
  return `${taintedFor.fence} in ${taintedFor.boot}${keptBy}`;
};

/**
 * Returns the id of the fence on the Node, or null if there is none. Each new fence has its own id. The taint is used
 * last, because a release removes it first.
 */
export const fenceIdOn = ({ taintedFor, tombstone, record, label, strayRecord }: NodeFacts): string | null =>
  record?.fence ?? tombstone?.fence ?? label ?? strayRecord?.fence ?? taintedFor?.fence ?? null;

/** A fence, and the boot of the machine for which it was begun. */
export interface FenceInBoot {
  readonly fence: string;
  /** The boot, in the form of `bootMark`. */
  readonly boot: string;
}

/** The trace of a fence that someone else removed. Cloudfence does not fence the Node again in that boot. */
export type Tombstone = FenceInBoot;

/** When a machine was first seen `stopping`, for later runs. It applies to only one machine and one boot. */
export interface FirstStopping {
  /** Epoch ms. */
  readonly at: number;
  /** A short hash of the machine and its boot. */
  readonly boot: string;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * The uid of the pod's controller, which creates another pod after this one is deleted. Null for a pod that no
   * controller replaces.
   */
  readonly owner: string | null;
  readonly priority: number;
  readonly kind: 'mirror' | 'daemon' | 'job' | 'other';
  /** The pod is Succeeded or Failed: it runs no container and uses no volume. */
  readonly finished: boolean;
  readonly deleting: boolean;
  readonly finalizers: boolean;
  /** The pod tolerates the out-of-service taint. */
  readonly tolerates: boolean;
  readonly optOut: OptOut | null;
  /** Keys of the attachable volumes that the pod uses. */
  readonly volumes: readonly string[];
  /**
   * Claims (`namespace/name`) that cannot be resolved to a volume, and volumes of an unknown kind. Each of them may be
   * any volume of the Node that does not belong to another claim.
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
  /** The machine's id that the attacher wrote on the attachment, or null. */
  readonly source: IdentitySource | null;
}

export interface VolumeFacts extends VolumeHandle {
  /** `driver^handle`: the key of the volume in pods and looks. */
  readonly key: string;
  /** The PersistentVolume that was read and has exactly this handle, or null. */
  readonly persistentVolume: string | null;
  /**
   * The claim to which this PersistentVolume is bound (`namespace/name`). Null if there is none, or if it is not known.
   */
  readonly pvc: string | null;
  /**
   * The name that Kubernetes computes for the attachment of this volume to this Node, whether or not the object exists.
   */
  readonly attachmentName: string;
  readonly attachment: AttachmentFacts | null;
  /** The name of the Node to which the volume is attached, or was attached. */
  readonly node: string;
  /** Another machine uses the name of the volume's Node now. See `nameTaken` in `ClusterFacts`. */
  readonly nameTaken: boolean;
  /** The status of the existing Node reports the volume as attached. */
  readonly reported: boolean;
  /**
   * The attachment of the same volume to the Node of the replacement pod. Null unless the look was asked to read it.
   */
  readonly successor: AttachmentFacts | null;
}

/** A volume that a look has found without a Node. */
export type VolumeLeft = Pick<VolumeFacts, 'driver' | 'handle' | 'persistentVolume' | 'attachmentName' | 'node'>;

export interface Surroundings {
  /** The reason why fencing is paused in this cluster, or null. */
  readonly paused: string | null;
}

/** Which Nodes are unreachable. Cloudfence surveys the Nodes only before it powers off a running machine. */
export interface ConnectivitySurvey {
  /**
   * Nodes whose Lease is stale, including this one. This list and the ones below leave out Nodes that Cloudfence has
   * fenced.
   */
  readonly unreachable: readonly string[];
  /** Nodes of this Node's zone, reachable or not, including this one. */
  readonly zone: readonly string[];
  /**
   * Every Node of the cluster that names the machine, including this one, and every Node that does not name a machine
   * yet.
   */
  readonly nodesNamingMachine: readonly string[];
}

/** The survey of the machine's own cluster, and the Nodes of other clusters that name the machine. */
export interface SurveyOfClusters extends ConnectivitySurvey {
  /** Each Node with its cluster, as a text for people. */
  readonly elsewhere: readonly string[];
  /** Clusters that did not answer, with the reason. Each of them may contain a Node that names the machine. */
  readonly unanswered: readonly string[];
}

export interface ClusterFacts {
  /** The Node that names the machine. Null if there is none, or if it is gone. */
  readonly node: NodeFacts | null;
  /** The Node's name. It may come from objects that a deleted Node left behind. Null if no object names the Node. */
  readonly nodeName: string | null;
  /** Another machine uses `nodeName` now, or the Node of this name has another uid than the fenced one. */
  readonly nameTaken: boolean;
  readonly pods: readonly PodFacts[];
  readonly volumes: readonly VolumeFacts[];
  /**
   * Names of other machines' attachments to Nodes that had the machine's names. They show that these names are in use.
   */
  readonly attachmentsOfOthers: readonly string[];
  /** The current renewTime of the kubelet's Lease, in RFC 3339 with microseconds. Null if there is no Lease. */
  readonly lease: string | null;
  readonly surroundings: Surroundings;
  /** The cluster knows the out-of-service taint. */
  readonly taintSupported: boolean;
  /**
   * Impossible object names, for which the look did not ask. Someone wrote them into a claim, or into the record on the
   * Node. Absent if there are none.
   */
  readonly impossibleNames?: readonly string[];
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names */
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Whether this can be the name of a Kubernetes object. */
export const isObjectName = (text: string): boolean => NAME.test(text);

/** The facts that are read again right before each destructive call. */
export interface Recheck {
  readonly uid: string | null;
  readonly recordText: string | null;
  readonly taints: NodeFacts['taints'];
  readonly lease: string | null;
}

/**
 * Returns the FNV-1a hash (32 bits) in 7 characters. It distinguishes the boots of one machine, and is short enough for
 * a label's value.
 */
export const shortHash = (text: string): string => {
  let hash = 0x81_1c_9d_c5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  return (hash >>> 0).toString(36).padStart(7, '0');
};

/** Returns a hash of both names of the boot: the kubelet's bootID and the cloud's generation. */
const bootMark = (bootID: string, generation: string | null): string =>
  `${shortHash(bootID)}${shortHash(generation ?? '')}`;

/**
 * Returns the fence with its boot. A generation that drifts is omitted: the cloud may name the same boot differently
 * next time, for example when it shows a disk that it did not show before.
 */
export const fenceInBoot = (
  fence: string,
  { bootID }: Pick<NodeFacts, 'bootID'>,
  {
    generation,
    generationDrifts,
  }: Pick<MachineFacts, 'generation'> & { readonly generationDrifts?: boolean | undefined },
): FenceInBoot => ({
  fence,
  boot: bootMark(bootID, generationDrifts === true ? null : generation),
});

/** Returns whether a fence was for the boot that the Node shows, regardless of the cloud's generation. */
export const isOfShownBoot = ({ boot }: FenceInBoot, { bootID }: Pick<NodeFacts, 'bootID'>): boolean =>
  boot.startsWith(shortHash(bootID));

/** Returns whether a fence was for the boot that the Node shows, and the cloud did not know its generation then. */
export const isOfUnknownBoot = ({ boot }: FenceInBoot, { bootID }: Pick<NodeFacts, 'bootID'>): boolean =>
  boot === bootMark(bootID, null);

/**
 * Returns whether a fence was for the boot that has ended. In three cases, only the bootID is compared: The cloud no
 * longer knows the machine, so the machine cannot have another boot. The cloud did not know the boot when the fence was
 * removed. Operations also change the generation, so only the Node distinguishes boots.
 */
export const isOfThisBoot = (
  fence: FenceInBoot,
  node: Pick<NodeFacts, 'bootID'>,
  { generation, generationDrifts }: Pick<MachineFacts, 'generation' | 'generationDrifts'>,
): boolean =>
  generation === null || generationDrifts === true || isOfUnknownBoot(fence, node)
    ? isOfShownBoot(fence, node)
    : fence.boot === bootMark(node.bootID, generation);
