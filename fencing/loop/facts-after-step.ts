import { type ClusterFacts, fenceInBoot, type NodeFacts, type Tombstone } from '../model/cluster-facts.ts';
import { type FenceRecord, serializeRecord } from '../model/record.ts';
import { stepKey, type Step } from '../model/steps.ts';
import { targetPod } from '../rules/pods.ts';

/** How a step changes the facts about the cluster. */

/**
 * Returns the facts after a step that took effect, or after a simulated step. They do not contain reactions of others
 * to the step.
 */
export const clusterAfter = (facts: ClusterFacts, step: Step): ClusterFacts => {
  switch (step.do) {
    case 'mark':
      return { ...facts, node: facts.node && markedNode(facts.node, step.record, step.addOutOfService) };
    case 'delete-pod':
      return { ...facts, pods: facts.pods.filter((pod) => pod.uid !== step.pod.uid) };
    case 'delete-attachment':
      return {
        ...facts,
        volumes: facts.volumes.map((volume) =>
          volume.attachment?.uid === step.attachment.uid ? { ...volume, attachment: null } : volume,
        ),
      };
    case 'note':
      return {
        ...facts,
        node: facts.node && { ...facts.node, ...withRecord(step.record) },
      };
    case 'park':
      return { ...facts, node: facts.node && parkedNode(facts.node, step.record) };
    case 'set-tombstone':
      return { ...facts, node: facts.node && withTombstone(facts.node, step.tombstone) };
    case 'note-stopping':
      return { ...facts, node: facts.node && { ...facts.node, stopping: step.stopping } };
    case 'fail-pod':
    case 'nudge':
    case 'delete-node':
    case 'lift-out-of-service':
    case 'release-node':
    case 'detach-disk':
    case 'power-off':
      return facts;
  }
};

/** Returns the facts without the deleted pods. */
export const withoutDeletedPods = (facts: ClusterFacts, taken: ReadonlySet<string>): ClusterFacts => ({
  ...facts,
  pods: facts.pods.filter((pod) => !taken.has(stepKey({ do: 'delete-pod', pod: targetPod(pod) }))),
});

/** A fence's label goes with its tombstone. Our taint's label is removed as well, unless the taint stays. */
const withTombstone = (node: NodeFacts, tombstone: Tombstone | null): NodeFacts => ({
  ...node,
  tombstone,
  label: tombstone === null ? null : node.label,
  taintedFor: node.taints.ours ? node.taintedFor : null,
});

const withRecord = (record: FenceRecord): Pick<NodeFacts, 'record' | 'recordText' | 'unmatchedSeal'> => ({
  record,
  recordText: serializeRecord(record),
  unmatchedSeal: null,
});

const parkedNode = (node: NodeFacts, record: FenceRecord): NodeFacts => ({
  ...node,
  label: record.fence,
  taintedFor: null,
  ...withRecord(record),
  taints: { ...node.taints, outOfService: node.taints.outOfService && !node.taints.ours, ours: false },
});

const markedNode = (node: NodeFacts, record: FenceRecord, addOutOfService: boolean): NodeFacts => ({
  ...node,
  label: record.fence,
  taintedFor: addOutOfService ? fenceInBoot(record.fence, record, record) : node.taints.ours ? node.taintedFor : null,
  tombstone: null,
  stopping: null,
  ...withRecord(record),
  taints: {
    outOfService: node.taints.outOfService || addOutOfService,
    ours: node.taints.ours || addOutOfService,
    quarantine: true,
  },
});
