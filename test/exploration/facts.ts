import type { V1Node, V1Taint } from '@kubernetes/client-node/dist/gen/index.js';
import type {
  AttachmentFacts,
  ClusterFacts,
  PodFacts,
  Recheck,
  VolumeFacts,
} from '../../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { nodeIdentitySources } from '../../kubernetes/node.ts';
import { hasOwnTaint, hasTaint, nodeFacts, fenceAnnotation } from '../../kubernetes/node-facts.ts';
import { OUT_OF_SERVICE, QUARANTINE, UNINITIALIZED } from '../../kubernetes/names.ts';
import type { ExploredCloud } from './clouds.ts';
import { LONG_AGO, NOW, TICK_MS } from './time.ts';
import { isAskedOfEarlierNode, isGone, type NodeState, shownBy, type World } from './world.ts';

/** The answers of the cloud and the cluster about a world. */

export const NODE = 'node-a';
/** The pod of the Node. Each pod of the database has the same name. */
export const podIn = ({ podNumber }: World) => ({ namespace: 'default', name: 'db-0', uid: `pod-${podNumber}` });

export const NEIGHBOR = { namespace: 'default', name: 'web-0', uid: 'neighbor' };

/** The VolumeAttachment. Its name depends on the volume and the Node, so the next one has the same name. */
export const attachmentIn = ({ attachmentNumber }: World) => ({ name: 'csi-1', uid: `attachment-${attachmentNumber}` });

const keyOf = ({ driver, disk }: ExploredCloud): string => `${driver}^${disk}`;

const ago = (age: number): number => NOW.wall - age * TICK_MS;

/** Returns the answer of the cloud. A stale answer still says off about a machine that began to start a moment ago. */
export const machineFacts = (world: World, stale: boolean, cloud: ExploredCloud): MachineFacts => {
  const shown = shownBy(world);
  const facts = cloud.facts(stale && world.shownOff ? world.shownOff : shown, shown);
  if (isAskedOfEarlierNode(world)) return { ...facts, evidence: {} };
  const { power, offFor } = world.machine;
  if (offFor === null) return { ...facts, since: facts.since && LONG_AGO.wall, evidence: {} };
  const isOff = stale || power === 'off' || isGone(world);
  return { ...facts, since: facts.since !== null && isOff ? ago(offFor) : null, evidence: {} };
};

/**
 * Returns the Node as the API server has it. `now` is its resourceVersion until the next write. Only the deletion of a
 * Node depends on it, and Cloudfence deletes only the Node of a machine that is gone.
 */
export const nodeObject = (
  { uid, boot, incarnation, ready, labels, annotations, taints }: NodeState,
  cloud: Pick<ExploredCloud, 'providerID' | 'systemUUIDs'>,
  version = 'any',
): V1Node => ({
  metadata: {
    name: NODE,
    uid,
    resourceVersion: version,
    creationTimestamp: new Date(LONG_AGO.wall),
    labels: { ...labels },
    annotations: { ...annotations },
  },
  spec: { providerID: cloud.providerID, taints: taints.map((taint) => ({ ...taint })) },
  status: {
    nodeInfo: infoOf(boot, cloud.systemUUIDs[incarnation - 1] ?? ''),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown', lastTransitionTime: new Date(LONG_AGO.wall) }],
  },
});

const otherNode = (name: string, providerID: string, taints: readonly V1Taint[] = []): V1Node => ({
  metadata: { name },
  spec: { ...(providerID !== '' && { providerID }), taints: [...taints] },
});

/** The cloud controller has not initialized the Node yet. */
const NAMELESS: readonly V1Taint[] = [{ key: UNINITIALIZED, effect: 'NoSchedule', value: 'true' }];

/** Returns all Nodes of the cluster. There is always one of another machine. */
export const nodesIn = ({ node, rival }: World, cloud: ExploredCloud): ReadonlyMap<string, V1Node> =>
  new Map([
    ...(node ? [[NODE, nodeObject(node, cloud)] as const] : []),
    ...(rival ? [['node-b', otherNode('node-b', ...claimOf(rival, cloud))] as const] : []),
    ['node-c', otherNode('node-c', cloud.providerIDOfAnother)],
  ]);

const claimOf = (
  { says }: NonNullable<World['rival']>,
  { providerID }: ExploredCloud,
): readonly [string, readonly V1Taint[]] => (says === 'this machine' ? [providerID, []] : ['', NAMELESS]);

/** Returns the boot that the kubelet has posted. */
export const bootIdOf = ({ boot }: Pick<NodeState, 'boot'>): string => `boot-id-${boot}`;

const infoOf = (boot: number, systemUUID: string): NonNullable<NonNullable<V1Node['status']>['nodeInfo']> => ({
  architecture: '',
  bootID: bootIdOf({ boot }),
  containerRuntimeVersion: '',
  kernelVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  machineID: '',
  operatingSystem: '',
  osImage: '',
  systemUUID,
});

/** Each renewal has its own microseconds, so that two old renewals differ. */
const leaseText = ({ lease }: World): string =>
  `${new Date(ago(lease.age)).toISOString().slice(0, -1)}${String(lease.renewal).padStart(3, '0')}Z`;

const usualPod: Omit<PodFacts, 'namespace' | 'name' | 'uid' | 'deleting' | 'volumes'> = {
  owner: 'set-uid',
  priority: 0,
  kind: 'other',
  finished: false,
  finalizers: false,
  tolerates: false,
  optOut: null,
  unresolved: [],
};

/** Without a Node, a pod that uses no volume of the machine belongs to no machine. */
const podFacts = (world: World, cloud: ExploredCloud): readonly PodFacts[] => [
  ...(world.pod === 'gone'
    ? []
    : [{ ...usualPod, ...podIn(world), deleting: world.pod === 'deleting', volumes: [keyOf(cloud)] }]),
  ...(world.neighbor === 'gone' || world.node === null
    ? []
    : [{ ...usualPod, ...NEIGHBOR, deleting: world.neighbor === 'deleting', volumes: [] }]),
];

export const attachmentFacts = (
  world: World,
  { attachedTo, attachedToAnother }: ExploredCloud,
): AttachmentFacts | null =>
  world.attachment === 'gone'
    ? null
    : {
        ...attachmentIn(world),
        attached: true,
        created: LONG_AGO.wall,
        deletingSince: world.attachment === 'deleting' ? LONG_AGO.wall : null,
        detachError: null,
        attachError: null,
        nudged: false,
        source: isAskedOfEarlierNode(world) ? attachedToAnother : attachedTo,
      };

const volumeFacts = (world: World, cloud: ExploredCloud): readonly VolumeFacts[] => {
  const attachment = attachmentFacts(world, cloud);
  if (world.pod === 'gone' && attachment === null) return [];
  return [
    {
      driver: cloud.driver,
      handle: cloud.disk,
      key: keyOf(cloud),
      persistentVolume: 'pv-1',
      pvc: 'default/data',
      attachmentName: attachmentIn(world).name,
      attachment,
      reported: attachment !== null && world.node !== null,
      node: NODE,
      nameTaken: false,
      successor: null,
    },
  ];
};

const factsOfNode = (node: NodeState, version: string, cloud: ExploredCloud): ClusterFacts['node'] => {
  const object = nodeObject(node, cloud, version);
  return nodeFacts(object, nodeIdentitySources(object));
};

export const clusterFacts = (world: World, cloud: ExploredCloud): ClusterFacts => ({
  node: world.node && factsOfNode(world.node, isGone(world) || isAskedOfEarlierNode(world) ? 'now' : 'any', cloud),
  nodeName: world.node || world.pod !== 'gone' || world.attachment !== 'gone' ? NODE : null,
  nameTaken: false,
  pods: podFacts(world, cloud),
  volumes: volumeFacts(world, cloud),
  attachmentsOfOthers: [],
  lease: world.node ? leaseText(world) : null,
  surroundings: { paused: world.paused === null ? null : 'a person paused Cloudfence' },
  taintSupported: true,
});

export const recheckOf = (world: World, cloud: ExploredCloud): Recheck => {
  const node = world.node && nodeObject(world.node, cloud);
  return {
    uid: world.node?.uid ?? null,
    recordText: node && fenceAnnotation(node),
    taints: {
      outOfService: node !== null && hasTaint(node, OUT_OF_SERVICE.key),
      ours: node !== null && hasOwnTaint(node),
      quarantine: node !== null && hasTaint(node, QUARANTINE.key),
    },
    lease: world.node ? leaseText(world) : null,
  };
};
