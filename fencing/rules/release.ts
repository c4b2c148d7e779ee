import {
  fenceInBoot,
  isOfThisBoot,
  type NodeFacts,
  type PodFacts,
  type Tombstone,
  type VolumeFacts,
} from '../model/cluster-facts.ts';
import type { FenceRecord } from '../model/record.ts';
import { patience } from '../model/policy.ts';
import { because, type Reason } from '../model/reason.ts';
import { type Decision, refuse, released, type Rule, take, type View, wait } from './view.ts';
import { pollDelay } from './waits.ts';
import { namesMachine } from './identity.ts';
import { newRecord, targetNode } from './mark.ts';
import { usedBy } from './pods.ts';

const unproven = (says: string): Reason => because('return-unproven', says);

/** A Lease renewed since the proof and lately; a clock that is off is seen through by a renewal under our eyes. */
const leaseIsFresh = ({ cluster: { lease }, memory, now }: View, record: FenceRecord): boolean => {
  if (lease === null || lease === record.lease) return false;
  const renewedNow = memory.firstLease !== undefined && memory.firstLease !== lease;
  return renewedNow || Math.abs(now.wall - Date.parse(lease)) < patience.leaseFresh;
};

const heldByOthers = (pod: PodFacts): boolean => pod.finished && pod.finalizers;

const goingPod = ({ cluster }: View, record: FenceRecord): string | null => {
  const named = new Set(record.pods.map((pod) => pod.uid));
  const pod = cluster.pods.find((other) => named.has(other.uid) && other.deleting && !heldByOthers(other));
  return pod ? `${pod.namespace}/${pod.name}` : null;
};

const livingPodWants = (view: View, volume: VolumeFacts): boolean =>
  usedBy(view, volume.key).some((pod) => !pod.deleting);

const leftoverAttachment = (view: View, record: FenceRecord): string | null => {
  const named = new Set(record.volumes.map((volume) => volume.attachment));
  const left = view.cluster.volumes.find(
    (volume) => volume.attachment && named.has(volume.attachmentName) && !livingPodWants(view, volume),
  );
  return left?.key ?? null;
};

/**
 * What is still missing before the fence may be taken back, or null. A Node that is Ready under its old bootID came
 * back from memory (or never went): its mounts are stale.
 */
const missingForReturn = (view: View, node: NodeFacts, record: FenceRecord): Reason | null => {
  if (view.machine.power !== 'running') return unproven(`the cloud says ${view.machine.power}, not running`);
  if (node.bootID === record.bootID) return unproven(`Node ${node.name} still shows the boot that was fenced`);
  if (node.ready !== 'True') return unproven(`Node ${node.name} is not Ready yet`);
  if (!leaseIsFresh(view, record)) return unproven(`the kubelet of ${node.name} has not renewed its Lease lately`);
  const pod = goingPod(view, record);
  if (pod !== null) return unproven(`Pod ${pod}, deleted by the fence, still stands`);
  const volume = leftoverAttachment(view, record);
  return volume === null ? null : unproven(`${volume} of before the fence is still attached`);
};

/**
 * The quarantine goes a while after the taint went: until then controllers may still act on what they remember of it.
 */
const endQuarantine = (view: View, node: NodeFacts, record: FenceRecord, tombstone: Tombstone | null): Decision => {
  const since = Date.parse(record.released ?? record.begun) - view.now.wall;
  const left = since + patience.settle;
  if (since > patience.clocksDiffer)
    return take(
      { do: 'note', node: targetNode(node), record: { ...record, released: new Date(view.now.wall).toISOString() } },
      because(
        'controllers-settling',
        `the record says that the taint of ${node.name} goes at a time that lies ahead: it is taken for gone now`,
      ),
    );
  if (left > 0)
    return wait(
      left,
      because('controllers-settling', 'controllers act on a cached taint for a while after it is gone'),
    );
  return take(
    { do: 'readmit-pods', node: targetNode(node), record, tombstone },
    because('settled', 'controllers have seen that the taint is gone'),
  );
};

/**
 * The record says that we set a taint, which stands, and nothing surer bears that out: it is not ours to take off, and
 * must not be forgotten.
 */
const unclaimedTaint = (node: NodeFacts, { fence, outOfService, released: takenOff }: FenceRecord): Decision | null =>
  outOfService === 'ours' && takenOff === null && node.taints.outOfService && !node.taints.ours
    ? refuse(
        because(
          'taint-unclaimed',
          `Node ${node.name} is out of service by a taint that fence ${fence} no longer knows for its own: \`${node.untaint}\` takes it off, and then the fence is released`,
        ),
      )
    : null;

/**
 * Since when a running machine has been out of Kubernetes' reach: a Node that was silent while it was off counts from
 * its start.
 */
const outOfReachFor = (view: View, node: NodeFacts, record: FenceRecord): number =>
  node.ready === 'True'
    ? 0
    : view.now.wall - Math.max(node.readySince, view.machine.since ?? Date.parse(record.released ?? record.begun));

/**
 * A machine that starts again under our fence is waited for, and the fence is taken back once its boot is proven fresh.
 * A name that was handed on to another machine does not keep a Node in quarantine: nothing of the old one's time is
 * left. One that stays out of reach is treated as any other.
 */
export const takeBack: Rule = (view) => {
  const { node } = view.cluster;
  const record = node?.record;
  if (!node || !record || (view.machine.power !== 'running' && view.machine.power !== 'starting')) return null;
  if (view.machine.power === 'running' && outOfReachFor(view, node, record) >= patience.unreachable) return null;
  if (!namesMachine(node, view.machine, view.reading)) return null;
  const missing = missingForReturn(view, node, record);
  return missing
    ? wait(pollDelay(view), missing)
    : (unclaimedTaint(node, record) ?? endQuarantine(view, node, record, null));
};

/** Something of ours stands on the Node, by what no kubelet can write; its record may be lost. */
const isFenced = (node: NodeFacts): boolean =>
  (node.label !== null && node.tombstone === null) || node.taints.quarantine || node.recordText !== null;

export const isFencedWithoutRecord = (node: NodeFacts): boolean => isFenced(node) && node.record === null;

/** What a lost or unreadable record must have said: enough to take the fence back on a person's word. */
const reconstructed = (view: View, node: NodeFacts): FenceRecord => ({
  ...newRecord(view, node),
  phase: 'fenced',
  outOfService: node.taints.ours ? 'ours' : 'unsupported',
});

/**
 * A person has checked the machine and vouches for it: no proof is asked, and no source either. In a boot that was
 * fenced the fence does not come back.
 */
export const acceptedByPerson: Rule = (view) => {
  const { node } = view.cluster;
  const { accepted } = view.request;
  if (!node || accepted === null || !isFenced(node)) return null;
  const record = node.record ?? reconstructed(view, node);
  const unclaimed = unclaimedTaint(node, record);
  if (unclaimed) return unclaimed;
  const reason = because('accepted-by-a-person', accepted);
  const released = new Date(view.now.wall).toISOString();
  if (node.taints.ours || record.released === null)
    return take(
      { do: 'readmit-volumes', node: targetNode(node), record: { ...record, phase: 'releasing', released } },
      reason,
    );
  const sameBoot = record.bootID === node.bootID;
  return endQuarantine(view, node, record, sameBoot ? fenceInBoot(record.fence, node, view.machine) : null);
};

/** A machine that runs again has another boot than the one in which somebody removed our fence. */
export const forgetTombstone: Rule = ({ cluster: { node }, machine }) => {
  if (
    !node?.tombstone ||
    node.recordText !== null ||
    machine.power !== 'running' ||
    isOfThisBoot(node.tombstone, node, machine)
  )
    return null;
  return take(
    { do: 'entomb', node: targetNode(node), tombstone: null },
    because('returned', `${node.name} came back with a fresh boot`),
  );
};

/** Asked to release, and nothing of ours stands (any more), or the machine is not back. */
export const releaseAsked: Rule = (view) => {
  const {
    request,
    cluster: { node },
    machine,
  } = view;
  if (request.intent !== 'release') return null;
  if (!node || !isFenced(node)) return released(because('released', 'no fence of ours stands on this Node'));
  if (!node.record)
    return refuse(
      because('record-lost', `the record of the fence on ${node.name} is lost: vouch for the machine with --accept`),
    );
  if (machine.power === 'running')
    return refuse(
      missingForReturn(view, node, node.record) ??
        unproven(`nothing on Node ${node.name} names ${machine.machine}: vouch for it with --accept`),
    );
  return refuse(
    because(
      'still-off',
      `the cloud says that ${machine.machine} is ${machine.power}: start it, or vouch for it with --accept`,
    ),
  );
};
