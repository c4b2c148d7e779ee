import type { NodeObject, PodObject, Taint, Toleration } from '../objects.ts';
import { keyOf } from '../store.ts';
import type { Eviction } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { noExecute, tolerates, untolerated } from './taints.ts';
import { between } from './times.ts';
import { podsOn } from './volumes.ts';

/** Measured: the time from the taint to the eviction at the API server. The pod can be replaced in the meantime. */
const workTakes = { least: 60, most: 120 };

export const updateEvictionsOn = (world: ClusterWorld, node: NodeObject): void => {
  for (const pod of podsOn(world, node.metadata.name)) updateEviction(world, pod);
};

/** Schedules, moves, or cancels the eviction of a pod, by its node's NoExecute taints and its tolerations. */
export const updateEviction = (world: ClusterWorld, pod: PodObject): void => {
  const node = world.parts.cluster.objects.nodes[keyOf({ name: pod.spec.nodeName ?? '' })];
  const taints = node ? noExecute(node) : [];
  const key = keyOf(pod.metadata);
  if (taints.length === 0) return callOff(world, key);
  if (untolerated(pod.spec.tolerations, taints).length > 0) return beginAtOnce(world, key, pod);
  const least = leastToleration(pod.spec.tolerations ?? [], taints);
  if (least === null) return callOff(world, key);
  const since = world.parts.cluster.memory.evictions[key]?.since ?? world.now();
  plan(world, key, pod, { since, fires: since + least * 1000, stage: 'timed' });
};

/** Null means tolerated forever. */
const leastToleration = (tolerations: readonly Toleration[], taints: readonly Taint[]): number | null => {
  const used = tolerations.filter((toleration) => taints.some((taint) => tolerates(toleration, taint)));
  const seconds = used.flatMap(({ tolerationSeconds }) =>
    tolerationSeconds === undefined ? [] : [Math.max(0, tolerationSeconds)],
  );
  return seconds.length > 0 ? Math.min(...seconds) : null;
};

const beginAtOnce = (world: ClusterWorld, key: string, pod: PodObject): void => {
  if (world.parts.cluster.memory.evictions[key]?.stage === 'begun') return;
  plan(world, key, pod, {
    since: world.now(),
    fires: world.now() + between(world, workTakes.least, workTakes.most),
    stage: 'begun',
  });
};

const plan = (
  world: ClusterWorld,
  key: string,
  pod: PodObject,
  when: Pick<Eviction, 'since' | 'fires' | 'stage'>,
): void => {
  const { evictions } = world.parts.cluster.memory;
  const known = evictions[key];
  if (known && (known.stage !== 'timed' || (known.stage === when.stage && known.fires === when.fires))) return;
  const { namespace = '', name } = pod.metadata;
  evictions[key] = { ...when, namespace, name, tries: 0 };
  world.schedule('taint-eviction', when.fires - world.now(), key);
};

/** An eviction that has begun continues, because it identifies the pod only by name (control-plane.md, 4.1). */
const callOff = (world: ClusterWorld, key: string): void => {
  const { evictions } = world.parts.cluster.memory;
  if (evictions[key]?.stage !== 'begun') delete evictions[key];
};

export const cancelEviction = (world: ClusterWorld, pod: PodObject): void => callOff(world, keyOf(pod.metadata));
