import { microTime, timestamp } from '../../sandbox/cluster/controllers/times.ts';
import { attachmentName } from '../../sandbox/cluster/controllers/volumes.ts';
import type { Draft, Store } from '../../sandbox/cluster/store.ts';
import { emptyCluster, storeOf, type ClusterState } from '../../sandbox/cluster/store.ts';
import type { KubeObject, Resource, Resources } from '../../sandbox/cluster/objects.ts';
import { EBS } from '../../sandbox/aws-sandbox.ts';
import { nodeOfCrowd } from './crowd-node.ts';

/**
 * Nodes that only exist, each with the objects of a Node in a busy cluster. They have no kubelet, and controllers
 * ignore them.
 */

export const VOLUMES_PER_NODE = 3;
const PODS_PER_NODE = 5;
const NAMESPACES = 40;

/** Keeps the uids of the crowd different from those of the living Nodes. */
const FIRST_UID = 0x1000_0000;

export interface CrowdNode {
  readonly ordinal: number;
  readonly name: string;
  readonly machine: string;
  readonly volumes: readonly string[];
}

const hex = (ordinal: number): string => ordinal.toString(16).padStart(16, '0');

const bystander = (ordinal: number): CrowdNode => ({
  ordinal,
  name: `ip-10-${100 + Math.floor(ordinal / 40_000)}-${Math.floor(ordinal / 200) % 200}-${(ordinal % 200) + 10}.eu-west-1.compute.internal`,
  machine: `i-c${hex(ordinal)}`,
  volumes: Array.from({ length: VOLUMES_PER_NODE }, (_, disk) => `vol-c${hex(ordinal * VOLUMES_PER_NODE + disk)}`),
});

const ownedBy = ({ metadata }: KubeObject) => ({
  ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: metadata.name, uid: metadata.uid }],
});

type Put = <R extends Resource>(resource: R, draft: Draft<Resources[R]>) => Resources[R] | undefined;

const putNode = (put: Put, { name, machine, ...rest }: CrowdNode, now: number): void => {
  const node = put('nodes', nodeOfCrowd({ name, machine, ...rest }, now));
  if (!node) throw new Error(`two nodes of the crowd are named ${name}`);
  const drivers = [{ name: EBS, nodeID: machine, topologyKeys: ['topology.ebs.csi.aws.com/zone'] }];
  put('csinodes', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name, ...ownedBy(node) },
    spec: { drivers },
  });
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime(now) };
  put('leases', {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-node-lease', ...ownedBy(node) },
    spec,
  });
};

const putVolumes = (put: Put, { name, machine, ordinal, volumes }: CrowdNode): void => {
  for (const handle of volumes) {
    const volume = `pvc-${handle}`;
    const claimRef = { namespace: `team-${ordinal % NAMESPACES}`, name: `data-${handle}` };
    const csi = { driver: EBS, volumeHandle: handle };
    put('persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volume },
      spec: { csi, claimRef },
      status: { phase: 'Bound' },
    });
    put('volumeattachments', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: {
        name: attachmentName({ driver: EBS, handle }, name),
        annotations: { 'csi.alpha.kubernetes.io/node-id': machine },
        finalizers: ['external-attacher/ebs-csi-aws-com'],
      },
      spec: { attacher: EBS, nodeName: name, source: { persistentVolumeName: volume } },
      status: { attached: true },
    });
  }
};

const putPods = (put: Put, { name, ordinal }: CrowdNode, now: number): void => {
  for (let pod = 0; pod < PODS_PER_NODE; pod += 1) {
    put('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `web-${ordinal}-${pod}`, namespace: `team-${ordinal % NAMESPACES}`, labels: { app: 'web' } },
      spec: { nodeName: name, containers: [{ name: 'main', image: 'example.org/web:1' }] },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(now) }] },
    });
  }
};

/**
 * Returns this many Nodes with their Leases, CSINodes, pods, volumes, and attachments, all of them healthy at this
 * moment.
 */
export const crowdOf = (nodes: number, now: number): ClusterState => {
  const state = emptyCluster();
  state.uids = FIRST_UID;
  const store = storeOf(state);
  const put: Put = (resource, draft) => store.create(resource, draft, { user: 'admin', at: now });
  for (let ordinal = 0; ordinal < nodes; ordinal += 1) {
    const one = bystander(ordinal);
    putNode(put, one, now);
    putVolumes(put, one);
    putPods(put, one, now);
  }
  return state;
};

const shelfOf = <R extends Resource>({ objects }: ClusterState, resource: R): Record<string, Resources[R]> =>
  objects[resource];

/** The crowd with kubelets: each read of its Leases shows that they have just been renewed. */
export const keptAlive = (crowd: ClusterState, now: () => number): ClusterState => ({
  ...crowd,
  objects: {
    ...crowd.objects,
    get leases() {
      const renewTime = microTime(now());
      for (const lease of Object.values(crowd.objects.leases)) lease.spec.renewTime = renewTime;
      return crowd.objects.leases;
    },
  },
});

/** Combines the living Nodes and the crowd. All writes go to the living Nodes, because nothing writes to the crowd. */
export const amid = (living: Store, crowd: ClusterState): Store => ({
  ...living,
  get: (resource, name, namespace = '') =>
    living.get(resource, name, namespace) ?? structuredClone(shelfOf(crowd, resource)[`${namespace}/${name}`]),
  list: (resource) => [...living.list(resource), ...Object.values(shelfOf(crowd, resource))],
});
