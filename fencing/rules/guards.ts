import type { OtherFence, Surroundings } from '../cluster-facts.ts';
import { patience, type Policy } from '../policy.ts';
import { because } from '../reason.ts';
import { ignore, refuse, wait, type Rule, type View } from '../view.ts';
import { podsToDelete } from './pods.ts';

/** Nothing is begun, continued or taken back while the cluster, or all of Cloudfence, is paused. */
export const paused: Rule = ({ policy, cluster }) => {
  const reason = policy.paused ?? cluster.surroundings.paused;
  return reason === null ? null : refuse(because('paused', `paused: ${reason}`));
};

/** One opted-out Pod refuses the whole Node: half a fence would only make things worse. */
export const optedOut: Rule = ({ cluster: { node, pods } }) => {
  if (node?.optOut != null) return refuse(because('opted-out', `Node ${node.name} is opted out: ${node.optOut}`));
  const pod = pods.find((other) => other.optOut !== null && !other.finished);
  return pod ? refuse(because('opted-out', `Pod ${pod.namespace}/${pod.name} is opted out: ${pod.optOut}`)) : null;
};

/** Without a volume to free and a pod to move, a mark would only be in the way. */
export const nothingToFree: Rule = (view) => {
  const attached = view.cluster.volumes.some((volume) => volume.attachment !== null);
  return attached || podsToDelete(view).length > 0 ? null : ignore(because('nothing-to-free', 'no volume is attached and no pod would move'));
};

export const capOf = (policy: Policy, { nodes }: Surroundings): number => Math.max(policy.cap.nodes, Math.floor(policy.cap.share * nodes));

/** Fences that still count: begun lately and not finished. Nodes parked long ago hold nobody back. */
export const unfinished = ({ fences }: Surroundings, wall: number): readonly OtherFence[] =>
  fences.filter((fence) => (fence.phase === 'marked' || fence.phase === 'fencing') && wall - fence.begun < patience.capWindow);

/** When many machines vanish at once it may be the cloud's answers, or us, that are wrong. */
export const capReached: Rule = ({ policy, cluster: { surroundings }, now }) => {
  const cap = capOf(policy, surroundings);
  const begun = unfinished(surroundings, now.wall);
  if (begun.length < cap) return null;
  const names = begun.map((fence) => fence.node).join(', ');
  return refuse(because('cap-reached', `${begun.length} of at most ${cap} fences are under way (${names})`));
};

/** Where the cloud does not say since when, the kubelet's last sign of life does: the machine was up until then. */
const offSince = ({ machine, memory, cluster, now }: View): number => {
  if (machine.since !== null) return machine.since;
  const lastSign = cluster.lease === null ? now.wall : Date.parse(cluster.lease);
  return Math.min(lastSign, memory.firstOff?.wall ?? now.wall);
};

/** Leaves planned stop/starts the time that the policy gives them. */
export const delayedByPolicy: Rule = (view) => {
  const left = offSince(view) + view.policy.fenceAfter - view.now.wall;
  return left > 0 ? wait(left, because('delayed-by-policy', `the policy leaves a stopped machine ${view.policy.fenceAfter / 1000} s`)) : null;
};
