import type { NodeObject, PodObject, Taint } from '../objects.ts';
import { all, deskOf, standing } from './desk.ts';
import type { ClusterWorld } from './memory.ts';
import { readiness } from './nodes.ts';
import { isReadyPod, withCondition } from './pods.ts';
import { addTaint, dropTaint, hasTaint, notReady, unreachable } from './taints.ts';
import { stamp } from './times.ts';
import { podsOn } from './volumes.ts';
import { everythingDown, queueForNoExecute } from './zone-limiter.ts';

const checkEvery = 5_000;

const desk = (world: ClusterWorld) => deskOf(world, 'node-controller');

/** The node lifecycle controller's check: silent Nodes become Unknown and tainted, ready ones lose the taints again. */
export const monitorNodes = (world: ClusterWorld): void => {
  for (const node of all(world, 'nodes')) judge(world, node);
  const spareAll = everythingDown(world);
  for (const node of all(world, 'nodes')) taintByReadiness(world, node, spareAll);
  world.schedule('node-lifecycle', checkEvery);
};

/** A heartbeat is a Lease or a status that changed since the last check; the grace runs from the check that saw it. */
const judge = (world: ClusterWorld, node: NodeObject): void => {
  const { memory, knobs } = world.parts.cluster;
  const { name, uid } = node.metadata;
  const lease = standing(world, 'leases', name, 'kube-node-lease');
  const seen = `${uid} ${lease?.spec.renewTime ?? ''} ${readiness(node)?.lastHeartbeatTime ?? ''}`;
  const known = memory.nodeHealth[name];
  if (known?.seen !== seen) return void (memory.nodeHealth[name] = { seen, since: world.now() });
  if (world.now() - known.since < knobs.monitorGraceMs || readiness(node)?.status === 'Unknown') return;
  desk(world).change('nodes', node, (draft) => markUnknown(draft, world.now()));
  for (const pod of podsOn(world, name)) if (isReadyPod(pod)) markPodNotReady(world, pod);
};

/** Its phase and its containers stay as the kubelet last reported them. */
const markPodNotReady = (world: ClusterWorld, pod: PodObject): void => {
  desk(world).change('pods', pod, (draft) => {
    draft.status.conditions = withCondition(draft.status.conditions, { type: 'Ready', status: 'False' }, world.now());
  });
};

const markUnknown = (node: NodeObject, at: number): void => {
  const known = readiness(node);
  const unknown = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' } as const;
  const heartbeat = known?.lastHeartbeatTime === undefined ? {} : { lastHeartbeatTime: known.lastHeartbeatTime };
  node.status.conditions = withCondition(node.status.conditions, { ...unknown, ...heartbeat }, at);
};

const taintByReadiness = (world: ClusterWorld, node: NodeObject, spareAll: boolean): void => {
  const status = readiness(node)?.status;
  if (status === undefined) return;
  if (status === 'True') return swap(world, node, [], [unreachable, notReady]);
  const key = status === 'Unknown' ? unreachable : notReady;
  const noSchedule: Taint = { key, effect: 'NoSchedule', timeAdded: stamp(world.now()) };
  swap(world, node, [noSchedule], [key === unreachable ? notReady : unreachable]);
  if (spareAll) desk(world).change('nodes', node, (draft) => dropTaint(draft, key, 'NoExecute'));
  else if (!hasTaint(node, key, 'NoExecute')) queueForNoExecute(world, node);
};

const swap = (world: ClusterWorld, node: NodeObject, on: readonly Taint[], off: readonly string[]): void => {
  const lacking = on.filter((taint) => !hasTaint(node, taint.key, taint.effect));
  const left = off.filter((key) => hasTaint(node, key));
  if (lacking.length === 0 && left.length === 0) return;
  desk(world).change('nodes', node, (draft) => {
    for (const key of left) dropTaint(draft, key);
    for (const taint of lacking) addTaint(draft, taint);
  });
};
