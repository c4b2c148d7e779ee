import jsonPatch from 'fast-json-patch';
import { Refused } from '../../fencing/model/errors.ts';
import type { ClusterStep, Step } from '../../fencing/model/steps.ts';
import { fencePatch, type FenceStep } from '../../kubernetes/fence-patch.ts';
import type { ExploredCloud } from './clouds.ts';
import { attachmentIn, NEIGHBOR, nodeObject, podIn } from './facts.ts';
import { isToBegin } from './story.ts';
import type { NodeRead } from './runs.ts';
import { detached, isAskedOfEarlierNode, isUp, type NodeState, withMachine, type World } from './world.ts';

/** What a step does to a world. The patches of the Node are the ones that Cloudfence sends. */

/** The number of fence names. After the last one, the first is used again. By then, nothing remembers it. */
const NAMES = 3;

const nextFence = ({ latestFence }: Pick<World, 'latestFence'>): number => (latestFence % NAMES) + 1;

/**
 * Returns the step with the name of the fence that it begins. Runs have random ids, so no two fences have the same
 * name. Here, the name is a number, so runs that differ only in their ids are the same.
 */
export const named = (world: Pick<World, 'latestFence'>, step: Step): Step =>
  'record' in step && step.record && isToBegin(step.record.fence)
    ? { ...step, record: { ...step.record, fence: `fence-${nextFence(world)}` } }
    : step;

/**
 * Returns the world after the step, or the refusal of the API server. A write of the Node is made from what it has read
 * of the Node, or from the present Node if `read` is null.
 */
export const apply = (before: World, decided: Step, cloud: ExploredCloud, read: NodeRead | null): World | Refused => {
  const step = named(before, decided);
  const world = step === decided ? before : { ...before, latestFence: nextFence(before) };
  switch (step.do) {
    case 'detach-disk':
      return world.disk === 'here' && !isAskedOfEarlierNode(world)
        ? detached(world, cloud)
        : new Refused('the disk is not attached here');
    case 'power-off':
      return isUp(world) && !isAskedOfEarlierNode(world)
        ? withMachine(world, { power: 'stopping', byGuest: false })
        : world;
    case 'delete-pod':
      if (step.pod.uid === NEIGHBOR.uid) return world.neighbor === 'gone' ? world : { ...world, neighbor: 'gone' };
      return step.pod.uid === podIn(world).uid && world.pod !== 'gone' ? { ...world, pod: 'gone' } : world;
    case 'delete-attachment':
      return step.attachment.uid === attachmentIn(world).uid && world.attachment === 'attached'
        ? { ...world, attachment: 'deleting' }
        : world;
    case 'fail-pod':
    case 'nudge':
      return world;
    case 'delete-node':
      return deleteNode(world, step);
    case 'mark':
    case 'note':
    case 'park':
    case 'lift-out-of-service':
    case 'release-node':
    case 'set-tombstone':
    case 'note-stopping':
      return patched(world, step, cloud, read);
  }
};

const deleteNode = (world: World, { node }: Extract<ClusterStep, { do: 'delete-node' }>): World | Refused => {
  if (world.node === null) return world;
  return node.uid === world.node.uid && node.resourceVersion !== 'old'
    ? { ...world, node: null }
    : new Refused('the Node is not as it was read');
};

const patched = (world: World, step: FenceStep, cloud: ExploredCloud, read: NodeRead | null): World | Refused => {
  if (world.node === null) return new Refused('the Node is gone');
  const before = nodeObject(world.node, cloud);
  try {
    const patch = fencePatch(read ? nodeObject(read.node, cloud, read.isOld ? 'old' : 'any') : before, step);
    if (patch === 'already') return world;
    const operations = patch.map((operation) => ({ ...operation }));
    const { newDocument } = jsonPatch.applyPatch(before, operations, true, false);
    return { ...world, node: stateOf(world.node, newDocument) };
  } catch (error) {
    if (error instanceof Refused) return error;
    if (error instanceof jsonPatch.JsonPatchError) return new Refused(error.name);
    throw error;
  }
};

const stateOf = (before: NodeState, { metadata, spec }: ReturnType<typeof nodeObject>): NodeState => ({
  ...before,
  labels: metadata?.labels ?? {},
  annotations: metadata?.annotations ?? {},
  taints: (spec?.taints ?? []).map(({ key, effect, value }) => ({
    key,
    effect,
    ...(value !== undefined && { value }),
  })),
});
