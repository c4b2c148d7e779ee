import type { NodeFacts, OptOut } from '../model/cluster-facts.ts';
import type { Admission } from '../model/ledger.ts';
import { timing, type Policy } from '../model/policy.ts';
import { because, type Reason } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { ignore, refuse, takeStep, wait, type Decision, type Rule, type View } from './view.ts';
import { newRecord, targetNode } from './mark.ts';
import { isFenced } from './release.ts';
import { podsToDelete } from './pods.ts';
import { volumesToFree } from './volumes.ts';
import { isLeftToOthers } from './waits.ts';

/** The guards against the beginning of a fence: a pause, an opt-out, nothing to free, the cap, and a delay. */

/** A guard that a drill also checks before it stops a machine. */
type GuardOfBeginning = (view: Pick<View, 'machine' | 'cluster' | 'policy'>) => Decision | null;

/** Refuses to begin, continue, or release a fence while this cluster, or all of Cloudfence, is paused. */
export const paused: Rule = ({ policy, cluster }) => {
  const reason = policy.paused ?? cluster.surroundings.paused;
  return reason === null ? null : refuse(because('paused', `paused: ${reason}`));
};

const refusedBy = (whose: string, { by, key, says, remedy }: OptOut): Decision =>
  refuse(
    because('opted-out', `${whose} is opted out by its ${by} ${key}: ${says}. To remove the opt-out: \`${remedy}\``),
  );

const counts = ({ optOut }: Policy, { by }: OptOut): boolean =>
  optOut === 'pods' || (optOut === 'nodes' && by === 'label');

/**
 * Refuses the whole Node if the Node or one of its Pods has an opt-out, because half a fence would make things worse.
 * The policy defines which opt-outs count. Any tenant can write a Pod's annotation. A Node's own kubelet can also write
 * the Node's annotation. Only an administrator can write the Node's label.
 */
const optedOut: GuardOfBeginning = ({ cluster: { node, pods }, policy }) => {
  const own = node?.optOuts.find((optOut) => counts(policy, optOut));
  if (node && own) return refusedBy(`Node ${node.name}`, own);
  const pod = policy.optOut === 'pods' ? pods.find((other) => other.optOut !== null && !other.finished) : undefined;
  return pod?.optOut ? refusedBy(`Pod ${pod.namespace}/${pod.name}`, pod.optOut) : null;
};

/**
 * The guards that apply before every destructive beginning: before a mark, before a parked Node gets its taint back,
 * before work on what a deleted Node left behind, and before a power-off. The cap comes after all of them, because it
 * counts the fence.
 */
const guardsOfBeginning: readonly GuardOfBeginning[] = [optedOut];

/** Applies all guards of a beginning. The first one that returns a decision ends the list. */
export const mayBegin: GuardOfBeginning = (view) => {
  for (const guard of guardsOfBeginning) {
    const decision = guard(view);
    if (decision) return decision;
  }
  return null;
};

/** Returns whether there is no volume to free and no pod to move. */
export const hasNothingToFree = (view: View): boolean =>
  podsToDelete(view).length === 0 && volumesToFree(view).length === 0;

/**
 * Ends the run if there is no volume to free and no pod to move, because a mark would only block the Node. Moves an
 * unfinished fence of an earlier boot to this boot, and removes its taint. Then that fence ends, and the Node of a
 * terminated machine can be deleted.
 */
export const nothingToFree: Rule = (view) => {
  const { node } = view.cluster;
  if (!hasNothingToFree(view)) return null;
  return node && isFenced(node)
    ? parkAgain(view, node)
    : ignore(because('nothing-to-free', 'there is no volume to free, and no pod would move'));
};

/**
 * Parks the Node with a record for this boot. If the quarantine was removed in an earlier boot, or while the machine
 * ran, a mark restores it. A mark needs a proof.
 */
const parkAgain = (view: View, node: NodeFacts): Decision => {
  const record: FenceRecord = {
    ...newRecord(view, node),
    phase: 'fenced',
    released: new Date(view.now.wall).toISOString(),
  };
  const says =
    `fence ${node.record?.fence ?? node.label ?? 'without a record'} began in an earlier boot, or its record is ` +
    'lost. Kubernetes has freed everything since';
  if (node.taints.quarantine)
    return takeStep({ do: 'park', node: targetNode(node), record }, because('nothing-left-to-free', says));
  return takeStep(
    { do: 'mark', node: targetNode(node), record, addOutOfService: false },
    because(
      'nothing-left-to-free',
      `${says}. Someone else removed the quarantine, so Cloudfence adds it again for this boot`,
    ),
  );
};

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;

/** Returns what blocks the fence, with the numbers and the time at which it ends. */
const whyNotAdmitted = ({ policy: { cap } }: View, { begun, unfinished, limits, nodes, opens }: Admission): Reason => {
  const ofCluster = (part: number): string => `(${percent(part)} of ${nodes})`;
  const share = `Nodes fenced within 15 minutes: ${begun} of at most ${limits.begun} ${ofCluster(cap.share)}`;
  const atOnce = `unfinished fences: ${unfinished} of at most ${limits.unfinished} ${ofCluster(cap.atOnce)}`;
  const until =
    opens === null
      ? 'this fence can begin when another fence ends'
      : `this fence can begin at ${new Date(opens).toISOString()}`;
  return because(
    'cap-reached',
    `${[...(opens === null ? [] : [share]), ...(unfinished < limits.unfinished ? [] : [atOnce])].join('; ')}; ${until}`,
  );
};

/**
 * Returns the boot that has ended. If the cloud no longer knows the machine, the boot may still be in the fence's
 * record.
 */
const endedBoot = ({ machine, remembered }: View): string | null =>
  machine.generation ?? (remembered?.machine === machine.machine ? remembered.generation : null);

/**
 * Checks whether the cap allows the fence, and refuses the fence if it does not. If many machines fail at once, the
 * cloud's answers or Cloudfence may be wrong. The reservation that was written first wins. A fence without a Node that
 * only waits for others needs no place.
 */
export const capReached: Rule = (view) => {
  const { admission } = view.memory;
  if (view.cluster.node === null && isLeftToOthers(view)) return null;
  if (!admission)
    return {
      do: 'reserve',
      boot: endedBoot(view),
      because: because('cap-reached', 'Cloudfence checks whether the cap allows this fence'),
    };
  if (admission.admitted) return null;
  const reason = whyNotAdmitted(view, admission);
  return admission.opens === null
    ? refuse(reason)
    : { do: 'end', outcome: 'refused', because: reason, lookAgainIn: Math.max(0, admission.opens - view.now.wall) };
};

/**
 * Returns since when the machine is off (epoch ms). If the cloud does not say, it is the time of the kubelet's last
 * sign of life, because the machine was still running then. Null if there is no such time, or only one from a clock
 * that is wrong. The run's own observation does not count, because the delay would then begin again with each run, and
 * never end.
 */
const offSince = ({ machine, cluster, now }: View): number | null => {
  if (machine.since !== null || cluster.lease === null) return machine.since;
  const lastSign = Date.parse(cluster.lease);
  return lastSign - now.wall <= timing.clocksDiffer ? lastSign : null;
};

/**
 * Waits as long as the policy requires, to leave time for planned stops and starts. The cloud's clock may be ahead of
 * ours. The delay then begins now at the latest.
 */
export const delayedByPolicy: Rule = (view) => {
  const since = offSince(view);
  const left = since === null ? 0 : Math.min(since, view.now.wall) + view.policy.fenceAfter - view.now.wall;
  return left > 0
    ? wait(
        left,
        because(
          'delayed-by-policy',
          `the policy waits ${view.policy.fenceAfter / 1000} s before it fences a stopped machine`,
        ),
      )
    : null;
};
