import { createHash } from 'node:crypto';
import type { Condition, CsiNodeObject, LeaseObject, NodeObject } from '../objects.ts';
import type { Draft } from '../store.ts';
import type { NodeDescription } from './memory.ts';
import { withCondition } from './pods.ts';
import { notReady } from './taints.ts';
import { microTime, timestamp } from './times.ts';
import { zoneLabel } from './volumes.ts';

export const isReady = (node: NodeObject): boolean => readiness(node)?.status === 'True';

export const readiness = (node: NodeObject): Condition | undefined =>
  node.status.conditions?.find((condition) => condition.type === 'Ready');

/** Returns a bootID in the kernel's form. The same boot always gets the same id. */
export const bootIdOf = (machine: string, boot: string): string => {
  const hex = createHash('sha256').update(`${machine} ${boot}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
};

const nodeIdOf = ({ nodeID, machine }: NodeDescription): string => nodeID ?? machine;

/** `eu-west-1a`, `westeurope-1`, and `europe-west1-b` are zones of `eu-west-1`, `westeurope`, and `europe-west1`. */
const regionOfZone = (zone: string): string => zone.replace(/(?:-?[a-z]|-\d+)$/, '');

/** The admission plugin TaintNodesByCondition taints every new Node until the Node is ready. */
export const nodeOf = (describes: NodeDescription): Draft<NodeObject> => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: describes.name,
    labels: {
      'kubernetes.io/hostname': describes.name,
      [zoneLabel]: describes.zone,
      'topology.kubernetes.io/region': regionOfZone(describes.zone),
      ...describes.labels,
    },
    annotations: { 'csi.volume.kubernetes.io/nodeid': JSON.stringify({ [describes.driver]: nodeIdOf(describes) }) },
  },
  spec: { providerID: describes.providerID, taints: [{ key: notReady, effect: 'NoSchedule' }] },
  status: {},
});

/** Writes a kubelet's report after a start to its Node. */
export const reportBoot = (node: NodeObject, { systemUUID }: NodeDescription, bootID: string, at: number): void => {
  node.status.nodeInfo = {
    ...node.status.nodeInfo,
    bootID,
    kubeletVersion: 'v1.36.3',
    ...(systemUUID !== undefined && { systemUUID }),
  };
  reportHeartbeat(node, at);
};

export const reportHeartbeat = (node: NodeObject, at: number): void => {
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'kubelet is posting ready status',
    lastHeartbeatTime: timestamp(at),
  } as const;
  node.status.conditions = withCondition(node.status.conditions, ready, at);
};

const ownedByNode = (node: NodeObject) => ({
  ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.metadata.name, uid: node.metadata.uid }],
});

export const csiNodeOf = (node: NodeObject, describes: NodeDescription): Draft<CsiNodeObject> => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSINode',
  metadata: { name: describes.name, ...ownedByNode(node) },
  spec: { drivers: [{ name: describes.driver, nodeID: nodeIdOf(describes), topologyKeys: [zoneLabel] }] },
});

export const leaseOf = (name: string, node: NodeObject | undefined, at: number): Draft<LeaseObject> => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, namespace: 'kube-node-lease', ...(node && ownedByNode(node)) },
  spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime(at) },
});
