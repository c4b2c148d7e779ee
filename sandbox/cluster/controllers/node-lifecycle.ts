import type { NodeObject, PodObject, Taint } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects, getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { readiness } from './nodes.ts';
import { isReadyPod, withCondition } from './pods.ts';
import { addTaint, dropTaint, hasTaint, notReady, unreachable, unschedulable } from './taints.ts';
import { timestamp } from './times.ts';
import { podsOn } from './volumes.ts';
import { everythingDown, queueForNoExecute } from './zone-limiter.ts';

const checkEvery = 5_000;

const writer = (world: ClusterWorld) => writerAs(world, 'node-controller');

/**
 * The check of the node lifecycle controller: silent Nodes become Unknown and wait for eviction, and ready Nodes leave
 * the queue.
 */
export const monitorNodes = (world: ClusterWorld): void => {
  for (const node of listObjects(world, 'nodes')) judge(world, node);
  const spareAll = everythingDown(world);
  for (const node of listObjects(world, 'nodes')) evictByReadiness(world, node, spareAll);
  world.schedule('node-lifecycle', checkEvery);
};

/** A heartbeat is a Lease or status that changed since the last check. The grace period begins with that check. */
const judge = (world: ClusterWorld, node: NodeObject): void => {
  const { memory, knobs } = world.parts.cluster;
  const { name, uid } = node.metadata;
  const lease = getObject(world, 'leases', name, 'kube-node-lease');
  const seen = `${uid} ${lease?.spec.renewTime ?? ''} ${readiness(node)?.lastHeartbeatTime ?? ''}`;
  const known = memory.nodeHealth[name];
  if (known?.seen !== seen) return void (memory.nodeHealth[name] = { seen, since: world.now() });
  if (world.now() - known.since < knobs.monitorGraceMs || readiness(node)?.status === 'Unknown') return;
  writer(world).change('nodes', node, (draft) => markUnknown(draft, world.now()));
  for (const pod of podsOn(world, name)) if (isReadyPod(pod)) markPodNotReady(world, pod);
};

/** The phase and the containers keep the last report of the kubelet. */
const markPodNotReady = (world: ClusterWorld, pod: PodObject): void => {
  writer(world).change('pods', pod, (draft) => {
    draft.status.conditions = withCondition(draft.status.conditions, { type: 'Ready', status: 'False' }, world.now());
  });
};

const markUnknown = (node: NodeObject, at: number): void => {
  const known = readiness(node);
  const unknown = {
    type: 'Ready',
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
  } as const;
  const heartbeat = known?.lastHeartbeatTime === undefined ? {} : { lastHeartbeatTime: known.lastHeartbeatTime };
  node.status.conditions = withCondition(node.status.conditions, { ...unknown, ...heartbeat }, at);
};

const conditionTaints = [unreachable, notReady];

/** Returns the taint key for a Node's readiness, or null if the Node is ready or has not reported yet. */
const taintKeyOf = (node: NodeObject): string | null => {
  const status = readiness(node)?.status;
  if (status === undefined || status === 'True') return null;
  return status === 'Unknown' ? unreachable : notReady;
};

const evictByReadiness = (world: ClusterWorld, node: NodeObject, spareAll: boolean): void => {
  const key = taintKeyOf(node);
  swap(
    world,
    node,
    [],
    conditionTaints.filter((other) => other !== key || spareAll),
    'NoExecute',
  );
  if (key !== null && !spareAll && !hasTaint(node, key, 'NoExecute')) queueForNoExecute(world, node);
};

/**
 * NoSchedule taints follow a Node's conditions, and a cordon, as soon as a watch reports them
 * (doNoScheduleTaintingPass).
 */
export const taintByCondition = (world: ClusterWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (!node) return;
  const wanted = [taintKeyOf(node) ?? [], node.spec.unschedulable ? unschedulable : []].flat();
  const unwanted = [...conditionTaints, unschedulable].filter((key) => !wanted.includes(key));
  swap(world, node, wanted, unwanted, 'NoSchedule');
};

const swap = (
  world: ClusterWorld,
  node: NodeObject,
  on: readonly string[],
  off: readonly string[],
  effect: Taint['effect'],
): void => {
  const left = off.filter((key) => hasTaint(node, key, effect));
  const lacking = on.filter((key) => !hasTaint(node, key, effect));
  if (lacking.length === 0 && left.length === 0) return;
  writer(world).change('nodes', node, (draft) => {
    for (const key of left) dropTaint(draft, key, effect);
    for (const key of lacking) addTaint(draft, { key, effect, timeAdded: timestamp(world.now()) });
  });
};
