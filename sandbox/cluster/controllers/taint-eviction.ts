import type { PodObject } from '../objects.ts';
import { writerAs } from './object-writer.ts';
import { getObject } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { withCondition } from './pods.ts';

/** It uses the account of the node controller. */
const EVICTOR = 'node-controller';
const tries = 5;
const pause = 10;

/**
 * Deletes the pod that has the name now, without checking its uid, as the taint-eviction controller does
 * (pkg/controller/tainteviction, addConditionAndDeletePod). It may delete the replacement of the intended pod.
 */
export const evictByName = (world: ClusterWorld, key: string): void => {
  const eviction = world.parts.cluster.memory.evictions[key];
  if (!eviction || eviction.stage === 'done') return;
  if (eviction.fires > world.now()) return world.schedule('taint-eviction', eviction.fires - world.now(), key);
  eviction.stage = 'begun';
  const pod = getObject(world, 'pods', eviction.name, eviction.namespace);
  if (pod) {
    eviction.stage = 'done';
    return evict(world, pod);
  }
  eviction.tries += 1;
  if (eviction.tries < tries) world.schedule('taint-eviction', pause, key);
  else delete world.parts.cluster.memory.evictions[key];
};

const evict = (world: ClusterWorld, pod: PodObject): void => {
  const writer = writerAs(world, EVICTOR);
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
  } as const;
  const evicted = writer.change('pods', pod, (draft) => {
    draft.status.conditions = withCondition(draft.status.conditions, condition, world.now());
  });
  if (evicted) writer.remove('pods', evicted);
};
