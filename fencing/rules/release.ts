import type { NodeFacts, PodFacts, VolumeFacts } from '../cluster-facts.ts';
import type { FenceRecord } from '../record.ts';
import { patience } from '../policy.ts';
import { because, type Reason } from '../reason.ts';
import { released, refuse, take, wait, type Decision, type Rule, type View } from '../view.ts';
import { pollDelay } from './going.ts';
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

const livingPodWants = (view: View, volume: VolumeFacts): boolean => usedBy(view, volume.key).some((pod) => !pod.deleting);

const leftoverAttachment = (view: View, record: FenceRecord): string | null => {
  const named = new Set(record.volumes.map((volume) => volume.attachment));
  const left = view.cluster.volumes.find(
    (volume) => volume.attachment && named.has(volume.attachmentName) && !livingPodWants(view, volume),
  );
  return left?.key ?? null;
};

/**
 * What is still missing before the fence may be taken back, or null. A Node that is Ready under its old bootID came back
 * from memory (or never went): its mounts are stale.
 */
export const missingForReturn = (view: View, node: NodeFacts, record: FenceRecord): Reason | null => {
  if (view.machine.power !== 'running') return unproven(`the cloud says ${view.machine.power}, not running`);
  if (node.bootID === record.bootID) return unproven(`Node ${node.name} still shows the boot that was fenced`);
  if (node.ready !== 'True') return unproven(`Node ${node.name} is not Ready yet`);
  if (!leaseIsFresh(view, record)) return unproven(`the kubelet of ${node.name} has not renewed its Lease lately`);
  const pod = goingPod(view, record);
  if (pod !== null) return unproven(`Pod ${pod}, deleted by the fence, still stands`);
  const volume = leftoverAttachment(view, record);
  return volume === null ? null : unproven(`${volume} of before the fence is still attached`);
};

const readmit = (view: View, node: NodeFacts, record: FenceRecord, reason: Reason): Decision => {
  if (record.phase !== 'releasing') {
    const noted: FenceRecord = { ...record, phase: 'releasing', released: new Date(view.now.wall).toISOString() };
    return take({ do: 'readmit-volumes', node: targetNode(node), record: noted }, reason);
  }
  const left = Date.parse(record.released ?? record.begun) + patience.settle - view.now.wall;
  if (left > 0) return wait(left, because('controllers-settling', 'controllers act on a cached taint for a while after it is gone'));
  return take({ do: 'readmit-pods', node: targetNode(node), record }, because('settled', 'controllers have seen that the taint is gone'));
};

/** A machine that starts again under our fence is waited for, and the fence is taken back once its boot is proven fresh. */
export const takeBack: Rule = (view) => {
  const { node } = view.cluster;
  const record = node?.record;
  if (!node || !record || (view.machine.power !== 'running' && view.machine.power !== 'starting')) return null;
  const missing = missingForReturn(view, node, record);
  return missing ? wait(pollDelay(view), missing) : readmit(view, node, record, because('returned', `${node.name} came back with a fresh boot`));
};

/** Something of ours stands on the Node, by what no kubelet can write; its record may be lost. */
const isFenced = (node: NodeFacts): boolean => node.labelled || node.taints.quarantine || node.recordText !== null;

export const isFencedWithoutRecord = (node: NodeFacts): boolean => isFenced(node) && node.record === null;

/** What a lost or unreadable record must have said: enough to take the fence back on a person's word. */
const reconstructed = (view: View, node: NodeFacts): FenceRecord => ({
  ...newRecord(view, node),
  phase: 'fenced',
  outOfService: node.taints.outOfService ? 'ours' : 'unsupported',
});

/** A person has checked the machine and vouches for it: no proof is asked, both halves follow each other as ever. */
export const acceptedByPerson: Rule = (view) => {
  const { node } = view.cluster;
  const { accepted } = view.request;
  if (!node || accepted === null || !isFenced(node)) return null;
  return readmit(view, node, node.record ?? reconstructed(view, node), because('accepted-by-a-person', accepted));
};

/** Asked to release, and nothing of ours stands (any more), or the machine is not back. */
export const releaseAsked: Rule = ({ request, cluster: { node }, machine }) => {
  if (request.intent !== 'release') return null;
  if (!node || !isFenced(node)) return released(because('released', 'no fence of ours stands on this Node'));
  if (!node.record) return refuse(because('record-lost', `the record of the fence on ${node.name} is lost: vouch for the machine with --accept`));
  return refuse(because('still-off', `the cloud says that ${machine.machine} is ${machine.power}: start it, or vouch for it with --accept`));
};
