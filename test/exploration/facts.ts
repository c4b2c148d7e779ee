import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import type {
  AttachmentFacts,
  ClusterFacts,
  PodFacts,
  Recheck,
  VolumeFacts,
} from '../../fencing/model/cluster-facts.ts';
import type { CloudIdentityRules } from '../../fencing/model/cloud.ts';
import { type MachineFacts, emptyMachineFacts, type IdentitySource, type Power } from '../../fencing/model/machine.ts';
import { hasOwnTaint, hasTaint, nodeFacts, fenceAnnotation } from '../../kubernetes/node-facts.ts';
import { OUT_OF_SERVICE } from '../../kubernetes/names.ts';
import { LONG_AGO, NOW, TICK_MS } from './time.ts';
import type { MachinePower, NodeState, World } from './world.ts';

/** What the cloud and the cluster answer about a world. */

export const MACHINE = 'm-1';
const DISK = 'disk-1';
const DRIVER = 'a-driver';
export const KEY = `${DRIVER}^${DISK}`;
export const NODE = 'node-a';
export const POD = { namespace: 'default', name: 'db-0', uid: 'pod-uid' };
export const ATTACHMENT = { name: 'csi-1', uid: 'attachment-uid' };

const providerID: IdentitySource = { source: 'providerID', driver: null, value: MACHINE };

export const identityRules: CloudIdentityRules = {
  name: 'a-cloud',
  machineOf: ({ value }) => (value === MACHINE ? value : null),
  immutableIdsOf: () => [],
  diskOf: ({ handle }) => handle,
  unservedScope: () => null,
};

const ago = (age: number): number => NOW.wall - age * TICK_MS;

const saidAs: Readonly<Record<MachinePower, Power>> = {
  running: 'running',
  stopping: 'stopping',
  starting: 'starting',
  off: 'off',
  gone: 'off',
};

/** Returns what the cloud says. A stale answer still says off of a machine whose start began a moment ago. */
export const machineFacts = ({ machine, disk }: World, stale: boolean): MachineFacts => ({
  ...emptyMachineFacts(MACHINE),
  power: stale ? 'off' : saidAs[machine.power],
  forGood: machine.power === 'gone',
  generation: `boot-${machine.boot - (stale ? 1 : 0)}`,
  // Without a time, a fence waits for a silent kubelet, and less is explored.
  since: stale || saidAs[machine.power] === 'off' ? NOW.wall : null,
  nodeNames: [NODE],
  disks: disk === 'here' ? [{ disk: DISK, state: 'attached', keep: null }] : [],
  evidence: {},
});

/**
 * Returns the Node as the API server has it. `now` is its resourceVersion until the next write. Only the deletion of a
 * Node depends on it, and only a Node whose machine is gone is deleted.
 */
export const nodeObject = ({ uid, boot, ready, labels, annotations, taints }: NodeState, version = 'any'): V1Node => ({
  metadata: {
    name: NODE,
    uid,
    resourceVersion: version,
    creationTimestamp: new Date(LONG_AGO.wall),
    labels: { ...labels },
    annotations: { ...annotations },
  },
  spec: { providerID: MACHINE, taints: taints.map((taint) => ({ ...taint })) },
  status: {
    nodeInfo: infoOf(boot),
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown', lastTransitionTime: new Date(LONG_AGO.wall) }],
  },
});

const infoOf = (boot: number): NonNullable<NonNullable<V1Node['status']>['nodeInfo']> => ({
  architecture: '',
  bootID: `boot-id-${boot}`,
  containerRuntimeVersion: '',
  kernelVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  machineID: '',
  operatingSystem: '',
  osImage: '',
  systemUUID: '',
});

/** Each renewal has its own microseconds, so that two old renewals differ. */
const leaseText = ({ lease }: World): string =>
  `${new Date(ago(lease.age)).toISOString().slice(0, -1)}${String(lease.renewal).padStart(3, '0')}Z`;

const podFacts = (world: World): readonly PodFacts[] =>
  world.pod === 'gone'
    ? []
    : [
        {
          ...POD,
          owner: 'set-uid',
          priority: 0,
          kind: 'other',
          finished: false,
          deleting: world.pod === 'deleting',
          finalizers: false,
          tolerates: false,
          optOut: null,
          volumes: [KEY],
          unresolved: [],
        },
      ];

const attachmentFacts = ({ attachment }: World): AttachmentFacts | null =>
  attachment === 'gone'
    ? null
    : {
        ...ATTACHMENT,
        attached: true,
        created: LONG_AGO.wall,
        deletingSince: attachment === 'deleting' ? LONG_AGO.wall : null,
        detachError: null,
        attachError: null,
        nudged: false,
        source: { source: 'volumeAttachment', driver: DRIVER, value: MACHINE },
      };

const volumeFacts = (world: World): readonly VolumeFacts[] => {
  const attachment = attachmentFacts(world);
  if (world.pod === 'gone' && attachment === null) return [];
  return [
    {
      driver: DRIVER,
      handle: DISK,
      key: KEY,
      persistentVolume: 'pv-1',
      pvc: 'default/data',
      attachmentName: ATTACHMENT.name,
      attachment,
      reported: attachment !== null && world.node !== null,
      successor: null,
    },
  ];
};

export const clusterFacts = (world: World): ClusterFacts => ({
  node: world.node && nodeFacts(nodeObject(world.node, world.machine.power === 'gone' ? 'now' : 'any'), [providerID]),
  nodeName: world.node || world.pod !== 'gone' || world.attachment !== 'gone' ? NODE : null,
  nameTaken: false,
  pods: podFacts(world),
  volumes: volumeFacts(world),
  lease: world.node ? leaseText(world) : null,
  surroundings: { paused: null },
  taintSupported: true,
});

export const recheckOf = (world: World): Recheck => {
  const node = world.node && nodeObject(world.node);
  return {
    uid: world.node?.uid ?? null,
    recordText: node && fenceAnnotation(node),
    taints: {
      outOfService: node !== null && hasTaint(node, OUT_OF_SERVICE.key),
      ours: node !== null && hasOwnTaint(node),
    },
    lease: world.node ? leaseText(world) : null,
  };
};
