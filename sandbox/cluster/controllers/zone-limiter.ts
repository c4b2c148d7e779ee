import type { NodeObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects, getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isReady, readiness } from './nodes.ts';
import { addTaint, hasTaint, notReady, unreachable } from './taints.ts';
import { timestamp } from './times.ts';
import { zoneLabel } from './volumes.ts';

/** kube-controller-manager's --node-eviction-rate, --secondary-node-eviction-rate and their thresholds. */
const ratePerSecond = 0.1;
const secondaryRate = 0.01;
const unhealthyShare = 0.55;
const largeZone = 50;

const zoneOf = (node: NodeObject): string => node.metadata.labels?.[zoneLabel] ?? '';

const zonesOf = (world: ClusterWorld): ReadonlyMap<string, readonly NodeObject[]> =>
  Map.groupBy(listObjects(world, 'nodes'), zoneOf);

/** Returns how many nodes per second can get their NoExecute taint in a zone. */
const rateOf = (nodes: readonly NodeObject[]): number => {
  const down = nodes.filter((node) => !isReady(node)).length;
  const partly = down < nodes.length && down > 2 && down / nodes.length >= unhealthyShare;
  if (!partly) return ratePerSecond;
  return nodes.length > largeZone ? secondaryRate : 0;
};

/** If no node is ready, the control plane is probably disconnected, so nothing is evicted. */
export const everythingDown = (world: ClusterWorld): boolean => !listObjects(world, 'nodes').some(isReady);

export const queueForNoExecute = (world: ClusterWorld, node: NodeObject): void => {
  const queue = (world.parts.cluster.memory.taintQueue[zoneOf(node)] ??= []);
  if (!queue.includes(node.metadata.name)) queue.push(node.metadata.name);
  world.schedule('node-lifecycle/taint', 100);
};

/** One pass over the queues of the zones. Each queue releases nodes at its own rate. */
export const taintQueued = (world: ClusterWorld): void => {
  const { taintQueue, taintNotBefore } = world.parts.cluster.memory;
  for (const [zone, nodes] of zonesOf(world)) {
    const rate = everythingDown(world) ? 0 : rateOf(nodes);
    const queue = taintQueue[zone] ?? [];
    if (rate === 0 || queue.length === 0) continue;
    const wait = (taintNotBefore[zone] ?? 0) - world.now();
    if (wait <= 0 && taintNoExecute(world, queue.shift() ?? '')) taintNotBefore[zone] = world.now() + 1000 / rate;
    if (queue.length > 0) world.schedule('node-lifecycle/taint', Math.max(100, wait));
  }
};

const taintNoExecute = (world: ClusterWorld, name: string): boolean => {
  const node = getObject(world, 'nodes', name);
  if (!node || isReady(node)) return false;
  const key = readiness(node)?.status === 'Unknown' ? unreachable : notReady;
  if (hasTaint(node, key, 'NoExecute')) return false;
  writerAs(world, 'node-controller').change('nodes', node, (draft) =>
    addTaint(draft, { key, effect: 'NoExecute', timeAdded: timestamp(world.now()) }),
  );
  return true;
};
