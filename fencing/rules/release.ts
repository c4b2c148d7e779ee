import {
  bearsFence,
  type FenceInBoot,
  fenceInBoot,
  fenceNameOn,
  isOfThisBoot,
  isOfUnknownBoot,
  type NodeFacts,
  type PodFacts,
  type Tombstone,
  type VolumeFacts,
} from '../model/cluster-facts.ts';
import type { FenceRecord } from '../model/record.ts';
import { timing } from '../model/policy.ts';
import { because, type Reason } from '../model/reason.ts';
import { type Decision, refuse, released, type Rule, takeStep, type View, wait } from './view.ts';
import { pollDelay } from './waits.ts';
import { acceptCommand, namesOnlyThisMachine, proveIdentity } from './identity.ts';
import { newRecord, targetNode } from './mark.ts';
import { podsUsing } from './pods.ts';

const unproven = (says: string): Reason => because('return-unproven', says);

/**
 * Returns whether the Lease was renewed after `before`, and recently. A renewal that this run sees itself counts even
 * if the clock is wrong.
 */
const leaseIsFresh = ({ cluster: { lease }, memory, now }: View, before: string | null): boolean => {
  if (lease === null || lease === before) return false;
  const renewedNow = memory.firstLease !== undefined && memory.firstLease !== lease;
  return renewedNow || Math.abs(now.wall - Date.parse(lease)) < timing.leaseFresh;
};

/**
 * Returns why the Lease shows no return yet. A Lease of the new boot with another date than now may be of a clock that is
 * wrong. Such a run does not hand over: it has to see the next renewal itself.
 */
const whyLeaseProvesNothing = ({ cluster: { lease } }: View, node: NodeFacts, record: FenceRecord): Reason =>
  lease === null || lease === record.lease
    ? unproven(`the kubelet of ${node.name} has not renewed its Lease recently`)
    : because(
        'lease-misdated',
        `the Lease of ${node.name} has the time ${lease}, so Cloudfence watches whether its kubelet renews it`,
      );

const heldByOthers = (pod: PodFacts): boolean => pod.finished && pod.finalizers;

const goingPod = ({ cluster }: View, record: FenceRecord): string | null => {
  const named = new Set(record.pods.map((pod) => pod.uid));
  const pod = cluster.pods.find((other) => named.has(other.uid) && other.deleting && !heldByOthers(other));
  return pod ? `${pod.namespace}/${pod.name}` : null;
};

const livingPodWants = (view: View, volume: VolumeFacts): boolean =>
  podsUsing(view, volume.key).some((pod) => !pod.deleting);

const leftoverAttachment = (view: View, record: FenceRecord): string | null => {
  const named = new Set(record.volumes.map((volume) => volume.attachment));
  const left = view.cluster.volumes.find(
    (volume) => volume.attachment && named.has(volume.attachmentName) && !livingPodWants(view, volume),
  );
  return left?.key ?? null;
};

/**
 * Returns what is still missing before the fence may be released, or null. A Node that is Ready under its old bootID
 * was resumed from memory, or never went down: its mounts are stale.
 */
const missingForReturn = (view: View, node: NodeFacts, record: FenceRecord): Reason | null => {
  if (view.machine.power !== 'running')
    return unproven(`the cloud says that the machine is ${view.machine.power}, not running`);
  if (node.bootID === record.bootID) return unproven(`Node ${node.name} still shows the boot that was fenced`);
  if (node.ready !== 'True') return unproven(`Node ${node.name} is not Ready yet`);
  if (!leaseIsFresh(view, record.lease)) return whyLeaseProvesNothing(view, node, record);
  const pod = goingPod(view, record);
  if (pod !== null) return unproven(`the fence deleted Pod ${pod}, but the Pod still exists`);
  const volume = leftoverAttachment(view, record);
  return volume === null ? null : unproven(`${volume}, which was attached before the fence, is still attached`);
};

/** Returns a clause about someone else's out-of-service taint, which is not ours to remove, or an empty text. */
const whatStays = ({ name, taints, untaint }: NodeFacts): string =>
  taints.outOfService && !taints.ours
    ? `. Node ${name} keeps an out-of-service taint that is not from Cloudfence. To remove it: \`${untaint}\``
    : '';

/** Ends the quarantine a while after the taint was removed. Until then, controllers may still act on a cached taint. */
const endQuarantine = (view: View, node: NodeFacts, record: FenceRecord, tombstone: Tombstone | null): Decision => {
  const since = Date.parse(record.released ?? record.begun) - view.now.wall;
  const left = since + timing.settle;
  if (since > timing.clocksDiffer)
    return takeStep(
      { do: 'note', node: targetNode(node), record: { ...record, released: new Date(view.now.wall).toISOString() } },
      because(
        'controllers-settling',
        `the record of ${node.name} has a time in the future for the removal of the taint, so Cloudfence uses the present time`,
      ),
    );
  if (left > 0)
    return wait(
      left,
      because('controllers-settling', 'controllers can still act on a cached taint for some time after its removal'),
    );
  return takeStep(
    { do: 'release-node', node: targetNode(node), record, tombstone },
    because(
      'settled',
      `${view.request.accepted === null ? 'a fresh boot is proven' : 'a person ended the fence'}, and all controllers have seen the removal of the taint${whatStays(node)}`,
    ),
  );
};

/**
 * Returns how long (ms) a running machine has been out of Kubernetes' reach. If the Node was silent while the machine
 * was off, the time counts from the machine's start.
 */
const unreachableForMs = (view: View, node: NodeFacts, record: FenceRecord): number =>
  node.ready === 'True'
    ? 0
    : view.now.wall - Math.max(node.readySince, view.machine.since ?? Date.parse(record.released ?? record.begun));

/**
 * Releases the fence of a machine that starts again, once its boot is proven fresh, and waits until then. A name that
 * another machine has by now does not keep a Node in quarantine, because nothing of the old fence is left. A machine
 * that stays out of reach is treated as any other.
 */
export const releaseReturned: Rule = (view) => {
  const { node } = view.cluster;
  const record = node?.record;
  if (!node || !record || (view.machine.power !== 'running' && view.machine.power !== 'starting')) return null;
  if (view.machine.power === 'running' && unreachableForMs(view, node, record) >= timing.unreachable) return null;
  if (!namesOnlyThisMachine(node, view.machine, view.identityRules)) return null;
  const missing = missingForReturn(view, node, record);
  return missing ? wait(pollDelay(view), missing) : endQuarantine(view, node, record, null);
};

/** Returns whether the Node has a fence of ours, even if its record is lost. A tombstone is not a fence. */
export const isFenced = (node: NodeFacts): boolean =>
  node.record !== null || (bearsFence(node) && (node.tombstone === null || node.taints.ours || node.taints.quarantine));

export const isFencedWithoutRecord = (node: NodeFacts): boolean => isFenced(node) && node.record === null;

/** Returns what a lost or unreadable record must have contained: enough to release the fence on a person's word. */
const reconstructed = (view: View, node: NodeFacts): FenceRecord => ({
  ...newRecord(view, node),
  // A record counts only under the label of its own fence.
  ...(node.label !== null && { fence: node.tombstone?.fence ?? node.label }),
  outOfService: node.taints.ours ? 'ours' : 'unsupported',
});

/**
 * Returns whether another fence stands now than the one that the person's word is about. A record that this run itself
 * wrote in place of a lost one is none.
 */
const isAnotherFence = (node: NodeFacts, { memory: { firstFence }, runId }: View): boolean => {
  const name = fenceNameOn(node);
  return firstFence !== undefined && name !== null && name !== firstFence && !name.startsWith(`${runId}.`);
};

/**
 * Releases the fence for a person who has checked the machine and vouches for it, or removes what is left of it. The
 * word is about one fence: one that has begun since keeps its machine fenced. Requires no proof and no identity source.
 * The fence does not come back in the boot that the Node shows, unless the cloud says that the machine runs or starts:
 * then the boot that was fenced is over.
 */
export const acceptedByPerson: Rule = (view) => {
  const { node } = view.cluster;
  const { accepted } = view.request;
  if (!node || accepted === null || (!isFenced(node) && node.recordText === null)) return null;
  if (isAnotherFence(node, view))
    return refuse(
      because(
        'another-fence',
        `another fence has begun on ${node.name} since this command began: look at the machine again, then ${acceptCommand(node)} ends that fence`,
      ),
    );
  const record = node.record ?? node.strayRecord ?? reconstructed(view, node);
  const reason = because('accepted-by-a-person', accepted);
  const released = new Date(view.now.wall).toISOString();
  if (node.taints.ours || record.released === null)
    return takeStep(
      { do: 'lift-out-of-service', node: targetNode(node), record: { ...record, phase: 'releasing', released } },
      reason,
    );
  const hasStarted = view.machine.power === 'running' || view.machine.power === 'starting';
  // Another boot on the Node ends nothing: the Node may be that of another machine, whose kubelet nobody may fence.
  const tombstone = hasStarted ? null : fenceInBoot(record.fence, node, view.machine);
  return endQuarantine(view, node, record, tombstone);
};

/**
 * Returns what is left of a fence that someone else removed: the tombstone, or the label of our taint. Null while the
 * rest of that fence is there.
 */
const tombstoneOf = (node: NodeFacts): FenceInBoot | null =>
  node.tombstone ?? (node.label === null && !node.taints.ours ? node.taintedFor : null);

/**
 * Returns whether the boot in which someone removed our fence is the one that runs now. The cloud knew no boot at that
 * time. Now it says that the machine runs, and the kubelet confirms that. So the removal was about an earlier stop.
 */
const runsInShownBoot = (view: View, node: NodeFacts, trace: FenceInBoot): boolean =>
  isOfUnknownBoot(trace, node) &&
  node.ready === 'True' &&
  leaseIsFresh(view, null) &&
  proveIdentity(node, view.machine, view.identityRules) === 'proven';

/**
 * Removes the trace of a fence of an earlier boot or stop. A machine that runs again has another boot than the one in
 * which someone removed our fence, unless the cloud did not know the machine at that time.
 */
export const removeTombstone: Rule = (view) => {
  const {
    cluster: { node },
    machine,
  } = view;
  const trace = node && tombstoneOf(node);
  if (!trace || node.recordText !== null || machine.power !== 'running') return null;
  if (isOfThisBoot(trace, node, machine) && !runsInShownBoot(view, node, trace)) return null;
  return takeStep(
    { do: 'set-tombstone', node: targetNode(node), tombstone: null },
    because('returned', `the machine of ${node.name} runs again`),
  );
};

/** Ends a requested release if nothing of ours is on the Node (any more), or if the machine is not back. */
export const endRequestedRelease: Rule = (view) => {
  const {
    request,
    cluster: { node },
    machine,
  } = view;
  if (request.intent !== 'release') return null;
  if (!node || !isFenced(node)) return released(because('released', 'this Node has no fence of Cloudfence'));
  if (!node.record)
    return refuse(
      because(
        'record-lost',
        `the record of the fence on ${node.name} is lost: look at the machine, then ${acceptCommand(node)} ends the fence`,
      ),
    );
  if (machine.power === 'running')
    return refuse(
      missingForReturn(view, node, node.record) ??
        unproven(
          `nothing on Node ${node.name} names ${machine.machine}: look at it, then ${acceptCommand(node)} ends the fence`,
        ),
    );
  return refuse(
    because(
      'still-off',
      `the cloud says that ${machine.machine} is ${machine.power}: start it, and the fence ends by itself. To end it without a boot, look at the machine, and then run ${acceptCommand(node)}`,
    ),
  );
};
