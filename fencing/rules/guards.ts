import type { NodeFacts, OptOut } from '../model/cluster-facts.ts';
import type { Admission } from '../model/ledger.ts';
import type { Policy } from '../model/policy.ts';
import { because, type Reason } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { ignore, refuse, take, wait, type Decision, type Rule, type View } from './view.ts';
import { newRecord, targetNode } from './mark.ts';
import { podsToDelete } from './pods.ts';

/** Nothing is begun, continued or taken back while the cluster, or all of Cloudfence, is paused. */
export const paused: Rule = ({ policy, cluster }) => {
  const reason = policy.paused ?? cluster.surroundings.paused;
  return reason === null ? null : refuse(because('paused', `paused: ${reason}`));
};

const refusedBy = (whose: string, { by, key, says, remedy }: OptOut): Decision =>
  refuse(because('opted-out', `${whose} is opted out by its ${by} ${key}: ${says}; \`${remedy}\` takes that off`));

const counts = ({ optOut }: Policy, { by }: OptOut): boolean =>
  optOut === 'pods' || (optOut === 'nodes' && by === 'label');

/**
 * One opted-out Pod refuses the whole Node: half a fence would only make things worse. Whose word counts, the policy
 * says: a Pod's annotation is any tenant's, a Node's annotation its own kubelet's as well, and its label an
 * administrator's alone.
 */
export const optedOut: Rule = ({ cluster: { node, pods }, policy }) => {
  const own = node?.optOuts.find((optOut) => counts(policy, optOut));
  if (node && own) return refusedBy(`Node ${node.name}`, own);
  const pod = policy.optOut === 'pods' ? pods.find((other) => other.optOut !== null && !other.finished) : undefined;
  return pod?.optOut ? refusedBy(`Pod ${pod.namespace}/${pod.name}`, pod.optOut) : null;
};

/**
 * Without a volume to free and a pod to move, a mark would only be in the way. A fence of an earlier boot that still
 * stands becomes one of this boot, without its taint: so it ends, and the Node of a terminated machine can go.
 */
export const nothingToFree: Rule = (view) => {
  const { node, volumes } = view.cluster;
  if (volumes.some((volume) => volume.attachment !== null) || podsToDelete(view).length > 0) return null;
  return node && (node.taints.ours || (node.record && node.label !== null))
    ? parkAnew(view, node)
    : ignore(because('nothing-to-free', 'no volume is attached and no pod would move'));
};

/**
 * A quarantine that was removed in an earlier boot, or while the machine ran, is put back with a mark, which takes a
 * proof.
 */
const parkAnew = (view: View, node: NodeFacts): Decision => {
  const record: FenceRecord = {
    ...newRecord(view, node),
    phase: 'fenced',
    released: new Date(view.now.wall).toISOString(),
  };
  const says = `fence ${node.record?.fence ?? node.label ?? 'without a record'} was begun in an earlier boot, or its record is lost; Kubernetes has freed everything since`;
  if (node.taints.quarantine)
    return take({ do: 'park', node: targetNode(node), record }, because('nothing-left-to-free', says));
  return take(
    { do: 'mark', node: targetNode(node), record, addOutOfService: false },
    because(
      'nothing-left-to-free',
      `${says}; its quarantine was removed by somebody else and is put back for this boot`,
    ),
  );
};

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;

/** What stands in the way, with the numbers, and when it goes. */
const whyNotAdmitted = ({ policy: { cap } }: View, { begun, unfinished, limits, nodes, opens }: Admission): Reason => {
  const share = `${begun} of at most ${limits.begun} Nodes (${percent(cap.share)} of ${nodes}) were fenced within 15 minutes`;
  const atOnce = `${unfinished} of at most ${limits.unfinished} fences (${percent(cap.atOnce)} of ${nodes}) are unfinished`;
  const until =
    opens === null
      ? 'this one begins when one of them is finished'
      : `this one may begin at ${new Date(opens).toISOString()}`;
  return because(
    'cap-reached',
    `${[...(opens === null ? [] : [share]), ...(unfinished < limits.unfinished ? [] : [atOnce])].join('; ')}; ${until}`,
  );
};

/** The boot that has ended. Of a machine that the cloud has forgotten, the fence's record may still know it. */
const endedBoot = ({ machine, remembered }: View): string | null =>
  machine.generation ?? (remembered?.machine === machine.machine ? remembered.generation : null);

/**
 * When many machines vanish at once it may be the cloud's answers, or us, that are wrong. Whoever enters first, goes
 * first.
 */
export const capReached: Rule = (view) => {
  const { admission } = view.memory;
  if (!admission)
    return {
      do: 'claim',
      boot: endedBoot(view),
      because: because('cap-reached', 'asking whether the cap lets it begin'),
    };
  if (admission.admitted) return null;
  const reason = whyNotAdmitted(view, admission);
  return admission.opens === null
    ? refuse(reason)
    : { do: 'end', outcome: 'refused', because: reason, lookAgainIn: Math.max(0, admission.opens - view.now.wall) };
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
  return left > 0
    ? wait(left, because('delayed-by-policy', `the policy leaves a stopped machine ${view.policy.fenceAfter / 1000} s`))
    : null;
};
