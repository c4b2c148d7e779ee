import type { PodObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { listObjects, getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isReady } from './nodes.ts';
import { isFinished, withCondition } from './pods.ts';
import { keyOf } from '../store.ts';
import { hasTaint, outOfService } from './taints.ts';
import { between } from './times.ts';
import { podsOn } from './volumes.ts';

const every = 20_000;
const quarantine = 40_000;

/** PodGC's loop (pkg/controller/podgc): pods on out-of-service Nodes, and pods whose Node no longer exists. */
export const collectPods = (world: ClusterWorld): void => {
  for (const pod of listObjects(world, 'pods'))
    if (terminatesOutOfService(world, pod)) failAndRemove(world, pod, false);
  for (const node of orphaningNodes(world)) {
    for (const pod of podsOn(world, node)) failAndRemove(world, pod, true);
  }
  world.schedule('pod-gc', every);
};

/** Only the taint's key counts, not its effect or the pod's tolerations. The node must not be Ready. */
const terminatesOutOfService = (world: ClusterWorld, pod: PodObject): boolean => {
  const node = getObject(world, 'nodes', pod.spec.nodeName ?? '');
  return (
    pod.metadata.deletionTimestamp !== undefined && node !== undefined && !isReady(node) && hasTaint(node, outOfService)
  );
};

/** The names of Nodes that have pods, were missing during the whole quarantine time, and are still missing. */
const orphaningNodes = (world: ClusterWorld): readonly string[] => {
  const { podGcQuarantine } = world.parts.cluster.memory;
  const due = Object.entries(podGcQuarantine).filter(([, since]) => world.now() - since >= quarantine);
  for (const [name] of due) delete podGcQuarantine[name];
  const gone = due.map(([name]) => name).filter((name) => !getObject(world, 'nodes', name));
  for (const { spec } of listObjects(world, 'pods')) {
    const name = spec.nodeName;
    if (name && !gone.includes(name) && !getObject(world, 'nodes', name)) podGcQuarantine[name] ??= world.now();
  }
  return gone;
};

const COLLECTOR = 'pod-garbage-collector';

/** The time between its two writes. A StatefulSet's controller can act between them. */
const removalTakes = { least: 2, most: 14 };

const failAndRemove = (world: ClusterWorld, pod: PodObject, orphaned: boolean): void => {
  const writer = writerAs(world, COLLECTOR);
  if (isFinished(pod)) return writer.remove('pods', pod, 0);
  writer.change('pods', pod, (draft) => fail(draft, orphaned, world.now()));
  world.schedule('pod-gc/remove', between(world, removalTakes.least, removalTakes.most), keyOf(pod.metadata));
};

/** Returns the finished pod, if it still exists. */
export const removeFailed = (world: ClusterWorld, key: string): void => {
  const pod = world.parts.cluster.objects.pods[key];
  if (pod && isFinished(pod)) writerAs(world, COLLECTOR).remove('pods', pod, 0);
};

const fail = (pod: PodObject, orphaned: boolean, at: number): void => {
  pod.status.phase = 'Failed';
  if (!orphaned) return;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
  } as const;
  pod.status.conditions = withCondition(pod.status.conditions, condition, at);
};
