import type { DiskId, IdentitySource, MachineFacts, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/** What the cluster and the cloud say about a waiting pod: pod, claim, volume, attachment, Node, machine, disk. */
/** A fact that could not be read, because a permission is missing or there was no answer. */
export type NotRead = 'unread';

/** Null if the API said that the object does not exist. */
export type ReadResult<T> = T | null | NotRead;

/** Returns the object if it was read and exists. */
export const ifFound = <T extends object>(read: ReadResult<T>): T | null => (read === 'unread' ? null : read);

/** An object in a namespace. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export interface EventView {
  readonly reason: string;
  readonly says: string;
  /** When it was last seen (epoch ms). */
  readonly at: number;
}

export interface OwnerView {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface PodView extends ObjectName {
  readonly uid: string;
  /** Epoch ms. */
  readonly created: number;
  readonly node: string | null;
  /** Succeeded or Failed: the pod uses no volume any more. */
  readonly finished: boolean;
  readonly ready: boolean;
  /** Whether a container runs, according to the latest status from the kubelet. */
  readonly runs: boolean;
  /** The reason why a container waits, such as ImagePullBackOff. Null if it waits only for its volumes. */
  readonly waitsFor: string | null;
  /** The message of the scheduler if it finds no Node. */
  readonly unscheduled: string | null;
  /** When the grace period ends or ended (epoch ms), if the pod is being deleted. */
  readonly deletionEnds: number | null;
  readonly finalizers: readonly string[];
  readonly owner: OwnerView | null;
  /** The claims that the pod names, in its own namespace. */
  readonly claims: readonly string[];
  /** Those of the claims that belong to the pod (generic ephemeral volumes): Kubernetes creates and deletes them. */
  readonly ephemeralClaims: readonly string[];
  /** Its volumes that name no claim, such as a Secret. */
  readonly ownVolumes: readonly string[];
  /** Whether the kubelet ended the pod because the machine shut down. */
  readonly endedByShutdown: boolean;
  /** Its kubelet rejected it because its Node has no free slot for a volume. */
  readonly rejectedByLimit: boolean;
  /** The claims that the pod mounts read-only. */
  readonly readOnlyClaims: readonly string[];
  /**
   * Whether the pod sets an fsGroup without fsGroupChangePolicy, so that the kubelet changes the owner of every file.
   */
  readonly changesOwnership: boolean;
}

export interface PvcView extends ObjectName {
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** The time of the deletion request, or else of the creation (epoch ms). */
  readonly since: number;
  readonly finalizers: readonly string[];
  /** The objects with which Kubernetes deletes the claim, such as a pod or a StatefulSet. */
  readonly owners: readonly OwnerView[];
  readonly accessModes: readonly string[];
  readonly className: string | null;
  /** Empty if it is not bound. */
  readonly volumeName: string;
  /** The Node for which the scheduler requested the volume. */
  readonly selectedNode: string | null;
  /** The provisioner that should create the volume. */
  readonly provisioner: string | null;
  /** Read only while the claim is not bound. */
  readonly events: readonly EventView[];
}

export interface VolumeView {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** The time of the deletion request, or else of the creation (epoch ms). */
  readonly since: number;
  readonly finalizers: readonly string[];
  /** Null for a volume that no CSI driver attaches. */
  readonly handle: VolumeHandle | null;
  /** The field of the specification that contains the volume source: csi, local, nfs, and so on. */
  readonly kind: string;
  /** The claim to which the volume is bound. */
  readonly claim: (ObjectName & { readonly uid: string }) | null;
  /** The zones and the Nodes that the node affinity allows. Empty if it contains none. */
  readonly zones: readonly string[];
  readonly hosts: readonly string[];
  readonly accessModes: readonly string[];
  readonly mode: string;
  /** Whether writing is impossible, because the driver or the access modes make the volume read-only. */
  readonly readOnly: boolean;
}

export interface DriverView {
  readonly name: string;
  readonly attachRequired: boolean;
}

/** A message of a CSI driver or of a cloud, with the meaning of its error code. */
export interface ErrorView {
  readonly says: string;
  /** Epoch ms. */
  readonly at: number;
  readonly fault: DriverFault | null;
}

/** The meaning of a cloud's error code in a message of a CSI driver. */
export type DriverFault =
  | 'attach-limit'
  | 'attached-elsewhere'
  | 'not-permitted'
  | 'throttled'
  | 'disk-not-found'
  | 'machine-not-found'
  | 'wrong-zone'
  | 'key-unusable'
  | 'detach-pending'
  | 'disk-not-ready'
  | 'driver-backs-off'
  | 'incompatible'
  | 'lun-taken';

export interface AttachmentView {
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly driver: string;
  /** The PersistentVolume, or null for a volume that a pod names itself. */
  readonly volumeName: string | null;
  readonly attached: boolean;
  /** Epoch ms. */
  readonly created: number;
  readonly deletingSince: number | null;
  readonly attachError: ErrorView | null;
  readonly detachError: ErrorView | null;
  readonly finalizers: readonly string[];
  /** The machine's id that the attacher wrote on the attachment. */
  readonly source: IdentitySource | null;
}

export interface NodeView {
  readonly name: string;
  readonly ready: 'True' | 'False' | 'Unknown';
  /** The time of the last change of `ready` (epoch ms). */
  readonly readySince: number;
  readonly zone: string | null;
  /** The time of the last Lease renewal by the kubelet (epoch ms). Null without a Lease. */
  readonly leaseRenewed: number | null;
  /** The registered CSI drivers, and how many volumes each may attach; null if the driver does not report a number. */
  readonly drivers: readonly { readonly name: string; readonly limit: number | null }[] | NotRead;
  /** The volumes that the kubelet reported as mounted, and those that Kubernetes lists as attached. */
  readonly inUse: readonly VolumeHandle[];
  readonly attached: readonly VolumeHandle[];
  readonly identitySources: readonly IdentitySource[];
  /** Whether Cloudfence has fenced the Node. */
  readonly fenced: boolean;
  /**
   * Who set the out-of-service taint, which tells Kubernetes that the machine is off. Cloudfence never removes the
   * taint of someone else.
   */
  readonly outOfService: 'ours' | 'foreign' | null;
}

/** What controls a pod, up to the Deployment behind its ReplicaSet. */
export interface WorkloadView extends OwnerView {
  readonly revision: string | null;
  readonly replicas: number | null;
  /** Whether it starts new pods before it stops the old ones. */
  readonly surges: boolean;
}

/** The Lease with which the attacher of a driver elects its leader. */
export interface AttacherView {
  readonly lease: string;
  /** Epoch ms. */
  readonly renewed: number | null;
  /** The pod that holds the Lease. */
  readonly holder: string | null;
  /** The Node of that pod, or null if the pod does not exist. */
  readonly node: string | null;
}

/** What a disk says about itself. */
export interface DiskView {
  readonly disk: DiskId;
  readonly exists: boolean;
  /** In the cloud's own words. */
  readonly state: string;
  readonly zone: string | null;
  /** Whether several machines may hold the disk. */
  readonly shared: boolean;
  /** The machines that the disk names as holders. Holders that cannot be read are left out. */
  readonly holders: readonly DiskHolderView[];
  /** Whether the disk exists and names no holder at all. */
  readonly free: boolean;
}

export interface DiskHolderView {
  readonly machine: MachineId;
  /** In the cloud's own words, such as `detaching`. */
  readonly state: string;
  /** Epoch ms. Null if the cloud does not say. */
  readonly since: number | null;
}

/** A location where the volume is or should be: a Node, its machine, and the volume's attachment there. */
export interface NodeLocation {
  readonly nodeName: string;
  readonly node: ReadResult<NodeView>;
  readonly attachment: ReadResult<AttachmentView>;
  /** Null if nothing names a machine of a supported cloud. */
  readonly machine: MachineId | null;
  /** The machine that the attachment names. It is another one if the Node's name was given to a new machine since. */
  readonly attachedMachine: MachineId | null;
  /** Null if no machine is known. */
  readonly power: ReadResult<MachineFacts>;
}

/** A PersistentVolume with the same disk as the volume of the claim. */
export interface TwinVolume {
  readonly name: string;
  /** Whether the same pod uses it, through another claim, or the pod's Node has the disk for it. */
  readonly isInPod: boolean;
  readonly isOnNode: boolean;
  readonly read: ReadResult<VolumeView>;
}

/** How many volumes of one driver a Node can attach, and how many are attached. */
export interface AttachSlots {
  readonly node: string;
  /** The number that the driver reported to the scheduler. Null if the driver did not report one. */
  readonly promised: number | null;
  /** The driver's VolumeAttachments to the Node, without those that still wait for their attach. */
  readonly taken: number;
}

/** Everything about one pod and one of its claims. */
export interface PodVolumeFacts {
  readonly cluster: string;
  readonly pod: PodView;
  readonly events: readonly EventView[];
  readonly workload: ReadResult<WorkloadView>;
  /** Null for a pod without claims. */
  readonly claimName: string | null;
  readonly claim: ReadResult<PvcView>;
  readonly volume: ReadResult<VolumeView>;
  readonly driver: ReadResult<DriverView>;
  /** The other unfinished pods that name the claim. */
  readonly others: readonly PodView[];
  /** Pods with this claim that ended because of a graceful shutdown of their machine. */
  readonly shutDown: readonly PodView[];
  /** What controls the first of the other pods. */
  readonly otherWorkload: ReadResult<WorkloadView>;
  /** The Node of the pod. Null while the pod has no Node. */
  readonly target: NodeLocation | null;
  /** Other locations that have the volume. */
  readonly holders: readonly NodeLocation[];
  /**
   * The only locations that can have the volume, if its node affinity names hosts. Read only while the pod has no Node.
   */
  readonly homes: readonly NodeLocation[];
  readonly disk: ReadResult<DiskView>;
  readonly diskId: DiskId | null;
  /** Machines that hold the disk according to the cloud, but that are not Nodes of the cluster. */
  readonly strangers: readonly MachineFacts[];
  /** Whether the Nodes of the cluster could be searched for the strangers. If not, a stranger may be a Node. */
  readonly nodesSearched: boolean;
  /** Another PersistentVolume for which the disk is attached, or which the pod uses, too. Null if there is none. */
  readonly twin: TwinVolume | null;
  readonly attacher: ReadResult<AttacherView>;
  /** The Node of the attacher's leader. Null if it is not known. */
  readonly attacherLocation: NodeLocation | null;
  /** The attach slots of the Nodes that may be full. Empty unless the scheduler or the driver reports full Nodes. */
  readonly slots: readonly AttachSlots[];
  /** The NetworkFences of the storage system in the cluster. */
  readonly networkFences: readonly string[];
}

/** The facts at a given time (epoch ms). */
export interface Situation extends PodVolumeFacts {
  readonly now: number;
}
