import type { DiskId, IdentitySource, MachineFacts, MachineId, VolumeHandle } from '../../fencing/model/machine.ts';

/** What the cluster and the cloud say about a pod that waits: pod, claim, volume, attachment, Node, machine, disk. */

/** The facts could not be read: the credentials do not allow it, or there was no answer. */
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
  /** Succeeded or Failed: it uses no volume. */
  readonly finished: boolean;
  readonly ready: boolean;
  /** A container runs, by the status that its kubelet wrote last. */
  readonly runs: boolean;
  /** What a container waits for, such as ImagePullBackOff. Null if it waits only for its volumes. */
  readonly waitsFor: string | null;
  /** The scheduler's words, if it finds no Node. */
  readonly unscheduled: string | null;
  /** When its grace period ends or ended (epoch ms), if it is being deleted. */
  readonly deletionEnds: number | null;
  readonly finalizers: readonly string[];
  readonly owner: OwnerView | null;
  /** The claims that it names, in its own namespace. */
  readonly claims: readonly string[];
  /** Its volumes that name no claim, such as a Secret. */
  readonly ownVolumes: readonly string[];
  /** Its kubelet ended it because its machine shut down. */
  readonly endedByShutdown: boolean;
  /** Its kubelet rejected it because its Node has no free slot for a volume. */
  readonly rejectedByLimit: boolean;
  /** The claims that it mounts read-only. */
  readonly readOnlyClaims: readonly string[];
  /** It sets an fsGroup without fsGroupChangePolicy, so that the kubelet changes the owner of every file. */
  readonly changesOwnership: boolean;
}

export interface PvcView extends ObjectName {
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** When its deletion was requested, or else when it was created (epoch ms). */
  readonly since: number;
  readonly finalizers: readonly string[];
  readonly accessModes: readonly string[];
  readonly className: string | null;
  /** Empty if it is not bound. */
  readonly volumeName: string;
  /** The Node for which the scheduler asked for the volume. */
  readonly selectedNode: string | null;
  /** The provisioner that was asked for the volume. */
  readonly provisioner: string | null;
  /** Only read while it is not bound. */
  readonly events: readonly EventView[];
}

export interface VolumeView {
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  readonly deleting: boolean;
  /** When its deletion was requested, or else when it was created (epoch ms). */
  readonly since: number;
  readonly finalizers: readonly string[];
  /** Null for a volume that no CSI driver attaches. */
  readonly handle: VolumeHandle | null;
  /** The field of its specification that says what it is: csi, local, nfs and so on. */
  readonly kind: string;
  /** The claim to which it is bound. */
  readonly claim: (ObjectName & { readonly uid: string }) | null;
  /** The zones and host names that its node affinity allows. Empty if it names none. */
  readonly zones: readonly string[];
  readonly hosts: readonly string[];
  readonly accessModes: readonly string[];
  readonly mode: string;
  /** Nobody can write to it: it is read-only for its driver, or by its access modes. */
  readonly readOnly: boolean;
}

export interface DriverView {
  readonly name: string;
  readonly attachRequired: boolean;
}

/** A sentence of a CSI driver or of a cloud, with what its error code means. */
export interface ErrorView {
  readonly says: string;
  /** Epoch ms. */
  readonly at: number;
  readonly fault: DriverFault | null;
}

/** What a cloud's error code in the words of a CSI driver means. */
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
  /** The machine's id as the attacher noted it. */
  readonly source: IdentitySource | null;
}

export interface NodeView {
  readonly name: string;
  readonly ready: 'True' | 'False' | 'Unknown';
  /** When `ready` last changed (epoch ms). */
  readonly readySince: number;
  readonly zone: string | null;
  /** When its kubelet last renewed its Lease (epoch ms). Null without a Lease. */
  readonly leaseRenewed: number | null;
  /** The registered CSI drivers, and how many volumes each may attach; null if the driver does not say. */
  readonly drivers: readonly { readonly name: string; readonly limit: number | null }[] | NotRead;
  /** The volumes that the kubelet listed as mounted, and those that Kubernetes lists as attached. */
  readonly inUse: readonly VolumeHandle[];
  readonly attached: readonly VolumeHandle[];
  readonly identitySources: readonly IdentitySource[];
  /** Cloudfence has fenced it. */
  readonly fenced: boolean;
  /** Who set the taint by which Kubernetes believes that its machine is off. Cloudfence never removes a foreign one. */
  readonly outOfService: 'ours' | 'foreign' | null;
}

/** What controls a pod, up to the Deployment behind its ReplicaSet. */
export interface WorkloadView extends OwnerView {
  readonly revision: string | null;
  readonly replicas: number | null;
  /** It starts new pods before it stops the old ones. */
  readonly surges: boolean;
}

/** The Lease by which the attacher of a driver elects its leader. */
export interface AttacherView {
  readonly lease: string;
  /** Epoch ms. */
  readonly renewed: number | null;
  /** The pod that holds it. */
  readonly holder: string | null;
  /** The Node of that pod, or null if there is no such pod. */
  readonly node: string | null;
}

/** What a disk says about itself. */
export interface DiskView {
  readonly disk: DiskId;
  readonly exists: boolean;
  /** In the cloud's own words. */
  readonly state: string;
  readonly zone: string | null;
  /** More than one machine may hold it. */
  readonly shared: boolean;
  /** The machines that it names. Those that cannot be read are missing. */
  readonly holders: readonly DiskHolderView[];
  /** It exists and names nothing at all as its holder. */
  readonly free: boolean;
}

export interface DiskHolderView {
  readonly machine: MachineId;
  /** In the cloud's own words, such as `detaching`. */
  readonly state: string;
  /** Epoch ms. Null if the cloud does not say. */
  readonly since: number | null;
}

/** A place where the volume is, or should be: a Node and its machine, with the volume's attachment there. */
export interface NodeLocation {
  readonly nodeName: string;
  readonly node: ReadResult<NodeView>;
  readonly attachment: ReadResult<AttachmentView>;
  /** Null if nothing names a machine of a supported cloud. */
  readonly machine: MachineId | null;
  /** The machine that the attachment names. It is another one if the Node's name was given to a new machine since. */
  readonly attachedMachine: MachineId | null;
  /** Null if there is no machine to ask for. */
  readonly power: ReadResult<MachineFacts>;
}

/** How many volumes of one driver a Node takes, and how many it has. */
export interface AttachSlots {
  readonly node: string;
  /** What the driver promised the scheduler. Null if it did not say. */
  readonly promised: number | null;
  /** VolumeAttachments of the driver to the Node, without those that only wait. */
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
  /** The other pods that name the claim and are not finished. */
  readonly others: readonly PodView[];
  /** Pods with the claim that a graceful shutdown of their machine ended. */
  readonly shutDown: readonly PodView[];
  /** What controls the first of the other pods. */
  readonly otherWorkload: ReadResult<WorkloadView>;
  /** The Node of the pod. Null while it has none. */
  readonly target: NodeLocation | null;
  /** Other places that have the volume. */
  readonly holders: readonly NodeLocation[];
  /** The only places that can have the volume, if its node affinity names hosts. Read while the pod has no Node. */
  readonly homes: readonly NodeLocation[];
  readonly disk: ReadResult<DiskView>;
  readonly diskId: DiskId | null;
  /** Machines that the cloud names as holders of the disk and that are no Node of the cluster. */
  readonly strangers: readonly MachineFacts[];
  readonly attacher: ReadResult<AttacherView>;
  /** The Node of the attacher's leader. Null if it is not known. */
  readonly attacherLocation: NodeLocation | null;
  /** The slots of the Nodes that may be full. Empty unless the scheduler or the driver says so. */
  readonly slots: readonly AttachSlots[];
  /** NetworkFences of the storage system that the cluster has. */
  readonly networkFences: readonly string[];
}

/** A claim or a PersistentVolume that no pod uses. */
export interface StorageFacts {
  /** Null if only the volume is there. */
  readonly claim: PvcView | null;
  /** Null if the claim is not bound, or if its volume is missing. */
  readonly volume: VolumeView | null;
  readonly volumeEvents: readonly EventView[];
  /** Pods that name the claim and have ended. They keep it nevertheless. */
  readonly ended: readonly PodView[];
  /** Where the volume is attached. */
  readonly attachments: readonly AttachmentView[];
  /** Epoch ms. */
  readonly now: number;
}

/** The facts at a moment (epoch ms). */
export interface Situation extends PodVolumeFacts {
  readonly now: number;
}
