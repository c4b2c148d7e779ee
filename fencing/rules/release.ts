import {
  hasOwnLabelOrTaint,
  type FenceInBoot,
  isForged,
  isOfThisBoot,
  isOfUnknownBoot,
  type NodeFacts,
  type PodFacts,
  type Tombstone,
  type VolumeFacts,
} from '../model/cluster-facts.ts';
import { powerInWords } from '../model/machine.ts';
import type { FenceRecord } from '../model/record.ts';
import { timing } from '../model/policy.ts';
import { because, type Reason } from '../model/reason.ts';
import { type Decision, refuse, released, type Rule, takeStep, type View, wait } from './view.ts';
import { pollDelay } from './waits.ts';
import { acceptCommand, namesOnlyThisMachine, proveIdentity } from './identity.ts';
import { targetNode } from './mark.ts';
import { podsUsing } from './pods.ts';
import { fenceOfBareLabel } from './removed.ts';

const unproven = (says: string): Reason => because('return-unproven', says);

/** Returns whether this run itself has seen a renewal of the Lease. */
const isRenewedNow = ({ cluster: { lease }, memory }: View): boolean =>
  memory.firstLease !== undefined && memory.firstLease !== lease;

/**
 * Returns whether the Lease was renewed after the fence began, and recently. A renewal that this run itself observes
 * counts even if the machine's clock is wrong.
 */
const leaseIsFresh = (view: View, record: FenceRecord): boolean => {
  const { lease } = view.cluster;
  if (lease === null || lease === record.lease) return false;
  return isRenewedNow(view) || Math.abs(view.now.wall - Date.parse(lease)) < timing.leaseFresh;
};

/**
 * Returns why the Lease does not prove a return yet. A Lease of the new boot with a wrong date may come from a machine
 * whose clock is wrong. In that case, the run does not end early: it must observe the next renewal itself.
 */
const whyLeaseProvesNothing = ({ cluster: { lease } }: View, node: NodeFacts, record: FenceRecord): Reason =>
  lease === null || lease === record.lease
    ? unproven(`the kubelet of ${node.name} has not renewed its Lease recently`)
    : because(
        'lease-misdated',
        `the Lease of ${node.name} has the time ${lease} instead of the present time: Cloudfence waits for ` +
          'the next renewal',
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
 * Returns what is still missing before the fence may be released, or null. If a Node is Ready with its old bootID, the
 * machine was resumed from memory or was never off, so its mounts are stale.
 */
const missingForReturn = (view: View, node: NodeFacts, record: FenceRecord): Reason | null => {
  if (view.machine.power !== 'running')
    return unproven(`the cloud says that the machine is ${powerInWords(view.machine.power)}, not running`);
  if (node.bootID === record.bootID) return unproven(`Node ${node.name} still shows the boot that was fenced`);
  if (node.ready !== 'True') return unproven(`Node ${node.name} is not Ready yet`);
  if (!leaseIsFresh(view, record)) return whyLeaseProvesNothing(view, node, record);
  const pod = goingPod(view, record);
  if (pod !== null) return unproven(`the fence deleted Pod ${pod}, but the Pod still exists`);
  const volume = leftoverAttachment(view, record);
  return volume === null ? null : unproven(`${volume}, which was attached before the fence, is still attached`);
};

/** Returns a clause about someone else's out-of-service taint, which Cloudfence does not remove, or an empty text. */
const whatStays = ({ name, taints, untaint }: NodeFacts): string =>
  taints.outOfService && !taints.ours
    ? `. Node ${name} keeps an out-of-service taint that is not from Cloudfence. To remove it: \`${untaint}\``
    : '';

/**
 * Returns whether a person's clock is involved: this process releases for a person, or a person's release wrote the
 * time of the removal.
 */
const usesPersonsClock = ({ request, policy }: View, record: FenceRecord): boolean =>
  (request.intent === 'release' && !policy.dryRun) || record.phase === 'releasing';

/**
 * Returns how long (ms) controllers may still act on a cached taint. Another process may have removed the taint, and
 * its clock differs from this one. So the time in the record counts only after the largest difference of the clocks. A
 * release may also wait by itself from the look that shows no taint of ours. A dry run says how long the functions
 * wait.
 */
const settlesIn = (view: View, record: FenceRecord, removed: number): number => {
  const { memory, now } = view;
  const differ = usesPersonsClock(view, record) ? timing.personsClock : timing.clocksDiffer;
  const since = memory.untainted?.since ?? Infinity;
  return Math.min(since - now.mono, removed + differ - now.wall) + timing.settle;
};

/**
 * Ends the quarantine some time after the taint was removed. Until then, controllers may still act on a cached taint.
 */
export const endQuarantine = (
  view: View,
  node: NodeFacts,
  record: FenceRecord,
  tombstone: Tombstone | null,
): Decision => {
  const removed = Date.parse(record.released ?? record.begun);
  const left = settlesIn(view, record, removed);
  if (removed - view.now.wall > timing.clocksDiffer && left > timing.settle)
    return takeStep(
      { do: 'note', node: targetNode(node), record: { ...record, released: new Date(view.now.wall).toISOString() } },
      because(
        'controllers-settling',
        `the record of ${node.name} dates the removal of the taint in the future: Cloudfence uses the ` +
          'present time',
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
      `${view.request.accepted === null ? 'a fresh boot is proven' : 'a person ended the fence'}, and all ` +
        `controllers have seen the removal of the taint${whatStays(node)}`,
    ),
  );
};

/**
 * Returns how long (ms) Kubernetes has not reached the Node of a running machine. If the Node was already silent while
 * the machine was off, the time counts from the machine's start.
 */
const unreachableForMs = (view: View, node: NodeFacts, record: FenceRecord): number =>
  node.ready === 'True'
    ? 0
    : view.now.wall - Math.max(node.readySince, view.machine.since ?? Date.parse(record.released ?? record.begun));

/**
 * Releases the fence of a machine that runs again once a fresh boot is proven, and waits until then. If another machine
 * uses the Node's name now, the quarantine still ends, because nothing of the old fence is left. A machine that stays
 * unreachable is treated like any other.
 */
export const releaseReturned: Rule = (view) => {
  const { node } = view.cluster;
  const record = node?.record;
  if (!node || !record || !hasStarted(view)) return null;
  if (view.machine.power === 'running' && unreachableForMs(view, node, record) >= timing.unreachable) return null;
  if (!namesOnlyThisMachine(node, view.machine, view.identityRules)) return null;
  const missing = missingForReturn(view, node, record);
  return missing ? wait(pollDelay(view), missing) : endQuarantine(view, node, record, null);
};

/** Returns whether the Node has a fence of Cloudfence, even if its record is lost. A tombstone is not a fence. */
export const isFenced = (node: NodeFacts): boolean =>
  node.record !== null ||
  (hasOwnLabelOrTaint(node) && (node.tombstone === null || node.taints.ours || node.taints.quarantine));

export const isFencedWithoutRecord = (node: NodeFacts): boolean => isFenced(node) && node.record === null;

/** Returns whether the cloud says that the machine runs or starts. */
export const hasStarted = ({ machine: { power } }: View): boolean => power === 'running' || power === 'starting';

/**
 * Returns the trace of a fence that someone else removed: the tombstone, or the label of our taint. Null while other
 * parts of that fence are left.
 */
const tombstoneOf = (node: NodeFacts): FenceInBoot | null =>
  node.tombstone ?? (node.label === null && !node.taints.ours ? node.taintedFor : null);

/** Returns whether no record is left. A record that a kubelet has changed goes with the tombstone. */
const hasNoRecord = (node: NodeFacts): boolean => node.recordText === null || (isForged(node) && !isKept(node));

/** Returns whether the record of the fence still counts without our label. */
const isKept = ({ taints }: NodeFacts): boolean => taints.quarantine;

/**
 * Returns whether the trace is about an earlier boot. If the record and the quarantine are still on the Node, a release
 * removes the trace, but a release waits for another boot.
 */
const isOfEarlierBoot = ({ machine }: View, node: NodeFacts, trace: FenceInBoot | null): boolean =>
  trace !== null && hasNoRecord(node) && !isOfThisBoot(trace, node, machine);

/**
 * Returns whether the trace is about an earlier stop if the machine runs. It is a label alone, which names no boot, or
 * the cloud did not know the boot in which someone removed our fence. A fence begins only when the machine is off, so a
 * machine that runs has been started since.
 */
const namesNoBoot = (node: NodeFacts, trace: FenceInBoot | null): boolean =>
  trace === null
    ? fenceOfBareLabel(node) !== null
    : isOfUnknownBoot(trace, node) && (hasNoRecord(node) || isKept(node));

/** Returns whether the Node is Ready, has a Lease, and belongs to the machine. */
const isReadyNodeOf = ({ machine, cluster, identityRules }: View, node: NodeFacts): boolean =>
  node.ready === 'True' && cluster.lease !== null && proveIdentity(node, machine, identityRules) === 'proven';

/**
 * Removes the trace of a fence of an earlier boot or stop. A machine that runs again has another boot than the one in
 * which someone removed our fence. If the trace names no boot, the kubelet must confirm that the machine runs: for some
 * time after a stop, the cloud may still say that it runs, and the Lease is still recent. So only a renewal that this
 * run sees counts.
 */
export const removeTombstone: Rule = (view) => {
  const { node } = view.cluster;
  if (!node || view.machine.power !== 'running') return null;
  const trace = tombstoneOf(node);
  if (!isOfEarlierBoot(view, node, trace)) {
    if (!namesNoBoot(node, trace) || !isReadyNodeOf(view, node)) return null;
    if (!isRenewedNow(view))
      return wait(
        pollDelay(view),
        because('renewal-awaited', `Cloudfence waits until the kubelet of ${node.name} renews its Lease`),
      );
  }
  return takeStep(
    { do: 'set-tombstone', node: targetNode(node), tombstone: null },
    because('returned', `the machine of ${node.name} runs again`),
  );
};

/** Ends a requested release if nothing of Cloudfence is on the Node, or if the machine is not back. */
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
        `the record of the fence on ${node.name} is lost: check the machine, then run ` +
          `${acceptCommand(node)} to end the fence`,
      ),
    );
  if (machine.power === 'running')
    return refuse(
      missingForReturn(view, node, node.record) ??
        unproven(
          `nothing on Node ${node.name} names ${machine.machine}: look at it, then ${acceptCommand(node)} ends ` +
            'the fence',
        ),
    );
  return refuse(
    because(
      'still-off',
      `the cloud says that ${machine.machine} is ${powerInWords(machine.power)}: start it to end the fence. ` +
        `To end it without a boot, look at the machine, then run ${acceptCommand(node)}`,
    ),
  );
};
