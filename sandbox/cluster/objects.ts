/** Kubernetes objects as JSON: the fields that the sandbox reads. It keeps other fields unchanged. */

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

export interface Taint {
  key: string;
  value?: string;
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  timeAdded?: string;
}

export interface Toleration {
  key?: string;
  operator?: 'Exists' | 'Equal';
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface NodeObject extends KubeObject {
  spec: { providerID?: string; taints?: Taint[]; unschedulable?: boolean };
  status: {
    conditions?: Condition[];
    nodeInfo?: { bootID: string; systemUUID?: string; kubeletVersion?: string };
    volumesAttached?: { name: string; devicePath: string }[];
    volumesInUse?: string[];
  };
}

export interface PodVolume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  ephemeral?: object;
  emptyDir?: object;
}

export interface PodSpec {
  nodeName?: string;
  priority?: number;
  tolerations?: Toleration[];
  nodeSelector?: Record<string, string>;
  volumes?: PodVolume[];
  affinity?: {
    nodeAffinity?: {
      preferredDuringSchedulingIgnoredDuringExecution?: {
        weight: number;
        preference: { matchExpressions?: { key: string; operator: string; values?: string[] }[] };
      }[];
    };
  };
  containers: { name: string; image?: string }[];
  terminationGracePeriodSeconds?: number;
}

export interface PodObject extends KubeObject {
  spec: PodSpec;
  status: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
    conditions?: Condition[];
    containerStatuses?: {
      name: string;
      ready?: boolean;
      state?: { running?: object; waiting?: object; terminated?: object };
    }[];
  };
}

export interface PersistentVolumeObject extends KubeObject {
  spec: {
    csi?: { driver: string; volumeHandle: string };
    claimRef?: { namespace: string; name: string; uid?: string };
    accessModes?: string[];
    nodeAffinity?: {
      required?: { nodeSelectorTerms: { matchExpressions?: { key: string; operator: string; values?: string[] }[] }[] };
    };
  };
  status?: { phase?: string };
}

export interface PersistentVolumeClaimObject extends KubeObject {
  spec: { volumeName?: string; accessModes?: string[]; storageClassName?: string };
  status?: { phase?: string };
}

export interface VolumeAttachmentObject extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } };
  status: {
    attached: boolean;
    attachError?: { time: string; message: string };
    detachError?: { time: string; message: string };
  };
}

export interface CsiNodeObject extends KubeObject {
  spec: { drivers: { name: string; nodeID: string; topologyKeys?: string[] }[] };
}

export interface CsiDriverObject extends KubeObject {
  spec: { attachRequired?: boolean };
}

export interface LeaseObject extends KubeObject {
  spec: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
}

export interface WorkloadObject extends KubeObject {
  spec: {
    replicas: number;
    serviceName?: string;
    strategy?: { type: 'Recreate' | 'RollingUpdate' };
    template: { metadata: { labels?: Record<string, string>; annotations?: Record<string, string> }; spec: PodSpec };
    /** The fixtures create the claims of a template without a spec. */
    volumeClaimTemplates?: {
      metadata: Pick<ObjectMeta, 'name' | 'labels'>;
      spec?: PersistentVolumeClaimObject['spec'];
    }[];
  };
  status?: { replicas?: number; readyReplicas?: number; active?: number; conditions?: Condition[] };
}

export interface EventObject extends KubeObject {
  eventTime?: string;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  type?: string;
  note?: string;
  regarding?: { kind: string; name: string; uid?: string; namespace?: string };
}

export interface StorageClassObject extends KubeObject {
  provisioner: string;
  reclaimPolicy?: 'Delete' | 'Retain';
}

export interface ConfigMapObject extends KubeObject {
  data?: Record<string, string>;
}

/** Every kind that the simulated API server serves, by its plural. */
export interface Resources {
  nodes: NodeObject;
  pods: PodObject;
  persistentvolumes: PersistentVolumeObject;
  persistentvolumeclaims: PersistentVolumeClaimObject;
  volumeattachments: VolumeAttachmentObject;
  csinodes: CsiNodeObject;
  csidrivers: CsiDriverObject;
  leases: LeaseObject;
  statefulsets: WorkloadObject;
  deployments: WorkloadObject;
  replicasets: WorkloadObject;
  daemonsets: WorkloadObject;
  jobs: WorkloadObject;
  events: EventObject;
  storageclasses: StorageClassObject;
  configmaps: ConfigMapObject;
}

export type Resource = keyof Resources;
