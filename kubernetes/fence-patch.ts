import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { Refused } from '../fencing/errors.ts';
import { parseRecord } from '../fencing/record.ts';
import type { ClusterStep, NodeTarget } from '../fencing/steps.ts';
import { OUT_OF_SERVICE, QUARANTINE } from './names.ts';
import { hasTaint, recordTextOf } from './node-facts.ts';
import type { NodePatch, TaintOf } from './node-patch.ts';
import { addTaints, putLabel, putRecord, removeLabel, removeRecord, removeTaints } from './node-patch.ts';
import { stillAsSeen, testBoot, testRecord, testUid, writtenRecord } from './node-patch.ts';

export type FenceStep = Extract<ClusterStep, { readonly do: 'mark' | 'note' | 'readmit-volumes' | 'readmit-pods' }>;
type StepTo<Do extends FenceStep['do']> = Extract<FenceStep, { readonly do: Do }>;

const bothTests = (node: V1Node, target: NodeTarget): NodePatch => [testUid(target), testRecord(node, target)];

/** A taint that came up since, and that is not by the record the fence's own, must not become ours by being recorded so. */
const missingTaints = (node: V1Node, { addOutOfService, node: target }: StepTo<'mark'>): readonly TaintOf[] => {
  const stands = hasTaint(node, OUT_OF_SERVICE.key);
  const ours = parseRecord(target.recordText ?? '')?.outOfService === 'ours';
  if (addOutOfService && stands && !ours) throw new Refused(`somebody else has put ${target.name} out of service since it was read`);
  const quarantined = node.spec?.taints?.some(({ key, effect }) => key === QUARANTINE.key && effect === QUARANTINE.effect) ?? false;
  return [...(addOutOfService && !stands ? [OUT_OF_SERVICE] : []), ...(quarantined ? [] : [QUARANTINE])];
};

const markPatch = (node: V1Node, step: StepTo<'mark'>): NodePatch => [
  ...bothTests(node, step.node),
  testBoot(step.node),
  ...putRecord(node, step.record),
  ...putLabel(node),
  ...addTaints(node, missingTaints(node, step)),
];

const ownTaint = ({ record }: Pick<FenceStep, 'record'>): readonly TaintOf[] => (record.outOfService === 'ours' ? [OUT_OF_SERVICE] : []);

/** A fence is only taken back by whom knows its record: without one nothing would be tested. */
const withRecord = ({ name, recordText }: NodeTarget): void => {
  if (recordText === null) throw new Refused(`${name} bore no fence when it was read`);
};

const patchFor = (node: V1Node, step: FenceStep): NodePatch => {
  switch (step.do) {
    case 'mark':
      return markPatch(node, step);
    case 'note':
      return [...bothTests(node, step.node), ...putRecord(node, step.record)];
    case 'readmit-volumes':
      return [...bothTests(node, step.node), testBoot(step.node), ...removeTaints(node, ownTaint(step)), ...putRecord(node, step.record)];
    case 'readmit-pods':
      return [...bothTests(node, step.node), testBoot(step.node), ...removeTaints(node, [QUARANTINE]), ...removeLabel(node), removeRecord];
  }
};

/** Whether an earlier try of this very step has taken effect, although its answer was lost. */
const isDone = (node: V1Node, step: FenceStep): boolean => {
  const text = recordTextOf(node);
  switch (step.do) {
    case 'mark':
    case 'note':
    case 'readmit-volumes':
      return text === writtenRecord(step.record);
    case 'readmit-pods':
      return text === null && !hasTaint(node, QUARANTINE.key);
  }
};

/** The one patch that takes this step, or `already`. @throws Refused when the Node is not as the step saw it. */
export const fencePatch = (node: V1Node, step: FenceStep): NodePatch | 'already' => {
  if (node.metadata?.uid === step.node.uid && isDone(node, step)) return 'already';
  stillAsSeen(node, step.node);
  if (step.do !== 'mark') withRecord(step.node);
  return patchFor(node, step);
};
