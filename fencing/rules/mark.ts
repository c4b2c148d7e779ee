import type { NodeFacts, VolumeFacts } from '../cluster-facts.ts';
import type { FenceRecord, NamedVolume, OutOfServiceTaint } from '../record.ts';
import { because, type Reason } from '../reason.ts';
import type { NodeTarget } from '../steps.ts';
import { refuse, take, type Rule, type View } from '../view.ts';
import { podsToDelete } from './pods.ts';

export const targetNode = (node: NodeFacts): NodeTarget => ({
  name: node.name,
  uid: node.uid,
  bootID: node.bootID,
  resourceVersion: node.resourceVersion,
  recordText: node.recordText,
});

/** The Node's record, if it belongs to this proof: the same boot by both accounts, and not already being taken back. */
export const currentRecord = ({ cluster: { node }, machine }: View): FenceRecord | null => {
  const record = node?.record;
  if (!record || record.phase === 'releasing' || record.bootID !== node.bootID) return null;
  // A machine that the cloud has forgotten by now has no boot left that could be another.
  return machine.generation === null || record.generation === machine.generation ? record : null;
};

/** The fence has yet to begin: there is a Node, and no record on it for this boot. */
export const unmarked = (view: View): boolean => view.cluster.node !== null && currentRecord(view) === null;

const taintOrigin = ({ cluster }: View, node: NodeFacts): OutOfServiceTaint => {
  if (!cluster.taintSupported) return 'unsupported';
  if (!node.taints.outOfService) return 'ours';
  if (node.record && node.record.phase !== 'releasing') return node.record.outOfService;
  // Beside our label and without a record that says otherwise, the taint is what a lost record of ours left.
  return node.labelled && !node.record ? 'ours' : 'foreign';
};

const namedVolumes = (volumes: readonly VolumeFacts[], before: FenceRecord | null): readonly NamedVolume[] => {
  const now = volumes.map(({ driver, handle, persistentVolume, attachmentName }) => ({ driver, handle, persistentVolume, attachment: attachmentName }));
  const known = new Set(now.map((volume) => volume.attachment));
  return [...now, ...(before?.volumes ?? []).filter((volume) => !known.has(volume.attachment))];
};

const namedPods = (view: View) => podsToDelete(view).map(({ namespace, name, uid }) => ({ namespace, name, uid }));

export const newRecord = (view: View, node: NodeFacts): FenceRecord => ({
  version: 1,
  fence: `${view.runId}.${view.memory.marks + 1}`,
  phase: 'fencing',
  cloud: view.reading.name,
  machine: view.machine.machine,
  generation: view.machine.generation,
  node: node.name,
  nodeUid: node.uid,
  bootID: node.bootID,
  lease: view.memory.lease ?? view.cluster.lease,
  outOfService: taintOrigin(view, node),
  begun: new Date(view.now.wall).toISOString(),
  released: null,
  vouched: view.request.vouched,
  evidence: view.machine.evidence,
  volumes: namedVolumes(view.cluster.volumes, node.record),
  pods: namedPods(view),
});

/**
 * Taint, quarantine, label and record in one conditional patch. Should we die right after it, redelivery goes on from
 * here, and Kubernetes alone would finish by NotReady + 5 minutes. Nothing is force-deleted before it: the scheduler
 * would put the replacement back on the dead machine.
 */
export const mark: Rule = (view) => {
  const { node } = view.cluster;
  if (!node || !unmarked(view)) return null;
  const record = newRecord(view, node);
  const addOutOfService = record.outOfService === 'ours' && !node.taints.outOfService;
  return take({ do: 'mark', node: targetNode(node), record, addOutOfService }, whyMark(view, node));
};

const whyMark = ({ machine }: View, node: NodeFacts): Reason =>
  node.record
    ? because('started-in-between', `${machine.machine} was started after the fence ${node.record.fence} and is off again`)
    : because('off-proven', `${machine.machine} is off: its guest can write no more`);

/** Somebody took our taint away. They may know more than we do: stop, and never put it back. */
export const taintRemovedByHand: Rule = (view) => {
  const record = currentRecord(view);
  const node = view.cluster.node;
  if (!node || !record) return null;
  const missing = !node.taints.quarantine || (record.outOfService === 'ours' && !node.taints.outOfService);
  return missing ? refuse(because('taint-removed-by-hand', `a taint of fence ${record.fence} was removed from Node ${node.name} by somebody else`)) : null;
};

const isSameBoot = (record: FenceRecord, node: NodeFacts, { machine }: View): boolean =>
  record.nodeUid === node.uid && record.bootID === node.bootID && record.machine === machine.machine && record.generation === machine.generation;

/**
 * A fence of this very boot that was taken back (its record is gone, or it is being released without another boot) was
 * taken back by a person. It is not begun again.
 */
export const removedByHand: Rule = (view) => {
  const { node } = view.cluster;
  const { remembered } = view;
  if (!node || !remembered || !isSameBoot(remembered, node, view)) return null;
  const takenBack = node.record === null || (node.record.phase === 'releasing' && isSameBoot(node.record, node, view));
  return takenBack ? refuse(because('fence-removed-by-hand', `fence ${remembered.fence} was taken from Node ${node.name} while its machine is off, in the same boot`)) : null;
};
