import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { fenceInBoot, isForged, type FirstStopping, type Tombstone } from '../fencing/model/cluster-facts.ts';
import { Refused } from '../fencing/model/errors.ts';
import { type FenceRecord, parseRecord, serializeRecord } from '../fencing/model/record.ts';
import type { ClusterStep, NodeTarget } from '../fencing/model/steps.ts';
import { FENCED_LABEL, OUT_OF_SERVICE, QUARANTINE, SEAL_LABEL, STOPPING_LABEL, TAINT_LABEL } from './names.ts';
import {
  fenceAnnotation,
  fencedLabel,
  hasFenceTraces,
  hasOwnTaint,
  hasTaint,
  recordOn,
  stoppingText,
  stoppingTextOf,
  taintText,
  tombstoneText,
} from './node-facts.ts';
import { brokenSeal, isSealed, sealLabel, sealOn } from './record-seal.ts';
import {
  type NodePatch,
  type TaintOf,
  uidPrecondition,
  bootPrecondition,
  labelPrecondition,
  recordPreconditions,
  sealPrecondition,
  putRecordOps,
  type Labels,
  putLabelOps,
  removeLabelOps,
  addTaintOps,
  taintPreconditions,
  removeTaintOps,
  removeRecordOps,
} from './node-patch.ts';

/**
 * The patches of a Node, one for each step that writes the fence. Each writes the taints, the labels, and the record
 * together, with preconditions.
 */

/** Returns whether the step removes our taint and neither reads nor writes the record. */
const ignoresRecord = (step: FenceStep): boolean => step.do === 'lift-out-of-service' && step.record === null;

/**
 * Verifies that the Node has not changed since the step was decided, so that a step never overwrites a newer record or
 * acts on a newer boot.
 * @throws Refused if it has changed
 */
const refuseIfChanged = (node: V1Node, step: FenceStep): void => {
  const { node: target } = step;
  if (node.metadata?.uid !== target.uid) throw new Refused(`the name ${target.name} now belongs to another Node`);
  if (!ignoresRecord(step) && fenceAnnotation(node) !== target.recordText)
    throw new Refused(`someone else changed the fence of Node ${target.name} after Cloudfence read it`);
};

/**
 * Verifies that no other record has been written since the read. Each record has another seal, and no kubelet can write
 * a seal. So the seal shows another record, even if a kubelet has replaced that record with the one that was read. A
 * step that ignores the record only compares a seal that had no record at the read.
 * @throws Refused if the Node has another seal
 */
const refuseIfResealed = (node: V1Node, step: FenceStep): void => {
  const { name, unmatchedSeal: seen } = step.node;
  const now = ignoresRecord(step) ? seen && sealOn(node) : recordOn(node).unmatchedSeal;
  if (now !== seen) throw new Refused(`someone else wrote another record on Node ${name} after Cloudfence read it`);
};

/**
 * Verifies that nobody has fenced the Node since it was read without a label, or without a quarantine. A new label may
 * be the tombstone of a fence that a person removed, or that of a later fence. A patch can test the value of a label,
 * but not its absence. Without its labels, a later fence still has its quarantine.
 * @throws Refused if something of a later fence is on the Node
 */
const refuseIfFenced = (node: V1Node, step: FenceStep): void => {
  const { name, label, quarantined } = step.node;
  if (label === null && fencedLabel(node) !== null)
    throw new Refused(`someone else labelled Node ${name} after Cloudfence read it`);
  if (!quarantined && hasTaint(node, QUARANTINE.key))
    throw new Refused(`someone else fenced Node ${name} after Cloudfence read it`);
};

export type FenceStep = Extract<
  ClusterStep,
  { readonly do: 'mark' | 'note' | 'park' | 'lift-out-of-service' | 'release-node' | 'set-tombstone' | 'note-stopping' }
>;
type StepTo<Do extends FenceStep['do']> = Extract<FenceStep, { readonly do: Do }>;

const testsOfTarget = (node: V1Node, target: NodeTarget): NodePatch => [
  uidPrecondition(target),
  ...labelPrecondition(target),
  ...recordPreconditions(node, target),
];

/** Returns Cloudfence's out-of-service taint. Its value shows that Cloudfence set it. */
const ourTaint = (record: FenceRecord): TaintOf => ({
  ...OUT_OF_SERVICE,
  value: taintText(fenceInBoot(record.fence, record, record)),
});

/**
 * Returns the taints that the mark adds. If someone else has added an out-of-service taint since the read, it must not
 * be recorded as Cloudfence's own.
 * @throws Refused if there is such a taint
 */
const missingTaints = (node: V1Node, { addOutOfService, node: target, record }: StepTo<'mark'>): readonly TaintOf[] => {
  const stands = hasTaint(node, OUT_OF_SERVICE.key);
  if (addOutOfService && stands && !hasOwnTaint(node))
    throw new Refused(`Node ${target.name} got an out-of-service taint from someone else after Cloudfence read it`);
  const quarantined =
    node.spec?.taints?.some(({ key, effect }) => key === QUARANTINE.key && effect === QUARANTINE.effect) ?? false;
  return [...(addOutOfService && !stands ? [ourTaint(record)] : []), ...(quarantined ? [] : [QUARANTINE])];
};

/**
 * Writes the labels of a fence. The label of Cloudfence's out-of-service taint is set only if that taint is set, or if
 * the same patch adds it. Without the taint, the label would mean that someone else had removed the taint.
 */
const labelsFor = (node: V1Node, { record, addOutOfService }: StepTo<'mark'>): NodePatch => {
  const labels: Labels = { [FENCED_LABEL]: record.fence, ...sealLabel(record) };
  return addOutOfService || hasOwnTaint(node)
    ? putLabelOps(node, { ...labels, [TAINT_LABEL]: ourTaint(record).value })
    : [...putLabelOps(node, labels), ...removeLabelOps(node, [TAINT_LABEL])];
};

/**
 * Marks the Node. The same write removes the note of a stop, because the stop has ended. The patch tests the taints of
 * an earlier fence that it keeps. Otherwise, one that someone removes at that moment would be missing in the new fence.
 */
const markPatch = (node: V1Node, step: StepTo<'mark'>): NodePatch => [
  ...testsOfTarget(node, step.node),
  bootPrecondition(step.node),
  ...taintPreconditions(node, [QUARANTINE, OUT_OF_SERVICE]),
  ...putRecordOps(node, step.record),
  ...removeLabelOps(node, [STOPPING_LABEL]),
  ...labelsFor(node, step),
  ...addTaintOps(node, missingTaints(node, step)),
];

/** Writes the record with its seal. A patch that also writes other labels puts all of them together. */
const putSealedRecord = (node: V1Node, record: FenceRecord): NodePatch => [
  ...putRecordOps(node, record),
  ...putLabelOps(node, sealLabel(record)),
];

/** Removes Cloudfence's out-of-service taint, and its label. */
const withoutOwnTaint = (node: V1Node): NodePatch => [
  ...(hasOwnTaint(node) ? removeTaintOps(node, OUT_OF_SERVICE) : []),
  ...removeLabelOps(node, [TAINT_LABEL]),
];

/**
 * Verifies that nobody else has removed the out-of-service taint since the read. The new record will say that
 * Cloudfence removed the taint, so later runs would not notice a person's removal. A record of another fence does not
 * matter: a removal in an earlier boot no longer applies.
 * @throws Refused
 */
const refuseIfTakenBack = (node: V1Node, { name }: NodeTarget, fence: string): void => {
  const record = parseRecord(fenceAnnotation(node) ?? '');
  const works = record?.outOfService === 'ours' && record.released === null && record.fence === fence;
  if (works && !hasTaint(node, OUT_OF_SERVICE.key))
    throw new Refused(`someone else removed the out-of-service taint of Node ${name} after Cloudfence read it`);
};

/**
 * Verifies that nobody has removed a taint of an earlier mark since the read. The mark would restore the quarantine, or
 * continue the fence, so later runs would not notice the removal.
 * @throws Refused
 */
const refuseIfUnmarked = (
  node: V1Node,
  { node: { name, quarantined }, record, addOutOfService }: StepTo<'mark'>,
): void => {
  const keepsTaint = record.outOfService === 'ours' && record.released === null && !addOutOfService;
  if ((quarantined && !hasTaint(node, QUARANTINE.key)) || (keepsTaint && !hasTaint(node, OUT_OF_SERVICE.key)))
    throw new Refused(`someone else removed a taint of Node ${name} after Cloudfence read it`);
};

/**
 * Parks a fence. A parked fence always has the label with its id, even if someone has removed the label before. The
 * patch tests the quarantine, because the fence may be moved to a later boot with it.
 */
const parkPatch = (node: V1Node, { node: target, record }: StepTo<'park'>): NodePatch => [
  ...testsOfTarget(node, target),
  bootPrecondition(target),
  ...taintPreconditions(node, [QUARANTINE]),
  ...withoutOwnTaint(node),
  ...putRecordOps(node, record),
  ...putLabelOps(node, { [FENCED_LABEL]: record.fence, ...sealLabel(record) }),
];

/**
 * Returns whether the record of a release names the boot that the Node showed. A person ends such a fence while the
 * machine is off. A record of a boot that has ended names none.
 */
const endsPresentBoot = ({ bootID }: NodeTarget, record: FenceRecord): boolean =>
  record.phase === 'releasing' && record.bootID === bootID && bootID !== '';

/**
 * Removes the out-of-service taint. The patch tests neither the boot nor a lost record, because the taint must be
 * removed whatever a kubelet writes in the meantime. Only a record that names the present boot for a person must not be
 * written over a newer boot: with the generation of that newer boot, it would contradict itself.
 */
const liftPatch = (node: V1Node, { node: target, record }: StepTo<'lift-out-of-service'>): NodePatch =>
  record === null
    ? [uidPrecondition(target), ...labelPrecondition(target), ...sealPrecondition(target), ...withoutOwnTaint(node)]
    : [
        ...testsOfTarget(node, target),
        ...(endsPresentBoot(target, record) ? [bootPrecondition(target)] : []),
        ...withoutOwnTaint(node),
        ...putSealedRecord(node, record),
      ];

/**
 * Returns the patch that removes our taint from a Node whose annotations have no room for the new record. The patch
 * breaks the seal of the present record, which still says that the taint is needed. Null if there is nothing to change:
 * the step has been sent before, and only its record is missing.
 */
export const liftWithoutRecord = (node: V1Node, { node: target }: StepTo<'lift-out-of-service'>): NodePatch | null => {
  const changes = [
    ...withoutOwnTaint(node),
    ...(sealOn(node) === brokenSeal[SEAL_LABEL] ? [] : putLabelOps(node, brokenSeal)),
  ];
  return changes.length === 0 ? null : [...testsOfTarget(node, target), ...changes];
};

const labelAfterFence = (node: V1Node, tombstone: Tombstone | null): NodePatch =>
  tombstone ? putLabelOps(node, { [FENCED_LABEL]: tombstoneText(tombstone) }) : removeLabelOps(node, [FENCED_LABEL]);

const endPatch = (node: V1Node, { node: target, tombstone }: StepTo<'release-node'>): NodePatch => [
  ...testsOfTarget(node, target),
  bootPrecondition(target),
  ...removeTaintOps(node, QUARANTINE),
  ...removeLabelOps(node, [TAINT_LABEL, SEAL_LABEL]),
  ...labelAfterFence(node, tombstone),
  ...(target.recordText === null ? [] : [removeRecordOps]),
];

/**
 * Sets or removes the label with the time at which the machine was first seen stopping. The label does not belong to a
 * fence: it neither begins nor ends one.
 */
const stoppingPatch = (node: V1Node, stopping: FirstStopping | null): NodePatch =>
  stopping ? putLabelOps(node, { [STOPPING_LABEL]: stoppingText(stopping) }) : removeLabelOps(node, [STOPPING_LABEL]);

/**
 * Verifies that the Node has a fence of Cloudfence. To release a fence, the Node must have something of Cloudfence: its
 * record, its label, or one of its taints.
 * @throws Refused if the Node has none of them
 */
const withFence = (node: V1Node, { name, recordText, label }: NodeTarget): void => {
  if (recordText === null && label === null && !hasFenceTraces(node))
    throw new Refused(`Node ${name} had no fence when Cloudfence read it`);
};

/**
 * Returns the fence whose record will say that Cloudfence itself removed the taint while the machine is off, or null.
 */
const fenceWithEndedMark = (step: FenceStep): string | null => {
  if (step.do === 'park') return step.record.fence;
  return step.do === 'lift-out-of-service' && step.record?.phase === 'lifted' ? step.record.fence : null;
};

const patchFor = (node: V1Node, step: FenceStep): NodePatch => {
  switch (step.do) {
    case 'mark':
      return markPatch(node, step);
    case 'note':
      return [...testsOfTarget(node, step.node), ...putSealedRecord(node, step.record)];
    case 'park':
      return parkPatch(node, step);
    case 'lift-out-of-service':
      return liftPatch(node, step);
    case 'release-node':
      return endPatch(node, step);
    case 'set-tombstone':
      return [
        ...testsOfTarget(node, step.node),
        ...(hasStrayLabel(node) ? removeLabelOps(node, [TAINT_LABEL]) : []),
        ...withoutLostRecord(node, step.tombstone),
        ...labelAfterFence(node, step.tombstone),
      ];
    case 'note-stopping':
      return [uidPrecondition(step.node), ...stoppingPatch(node, step.stopping)];
  }
};

/**
 * Removes the seal if the record is gone. A changed record goes with the last part of its fence, because without its
 * seal it would count as the record of an earlier version.
 */
const withoutLostRecord = (node: V1Node, tombstone: Tombstone | null): NodePatch => {
  const text = fenceAnnotation(node);
  if (text === null) return removeLabelOps(node, [SEAL_LABEL]);
  const isLast = tombstone === null && !hasTaint(node, QUARANTINE.key) && !hasOwnTaint(node);
  return isLast && isForged(recordOn(node)) ? [removeRecordOps, ...removeLabelOps(node, [SEAL_LABEL])] : [];
};

/** Returns whether the label of Cloudfence's out-of-service taint is set without the taint. */
const hasStrayLabel = (node: V1Node): boolean =>
  node.metadata?.labels?.[TAINT_LABEL] !== undefined && !hasOwnTaint(node);

const isWritten = (node: V1Node, record: FenceRecord): boolean =>
  fenceAnnotation(node) === serializeRecord(record) && isSealed(node, record);

/** Returns whether an earlier try of exactly this step took effect although its answer was lost. */
const isDone = (node: V1Node, step: FenceStep): boolean => {
  switch (step.do) {
    case 'mark':
    case 'note':
    case 'park':
      return isWritten(node, step.record);
    case 'lift-out-of-service':
      return step.record === null ? !hasOwnTaint(node) : isWritten(node, step.record);
    case 'release-node':
      return fenceAnnotation(node) === null && !hasTaint(node, QUARANTINE.key);
    case 'set-tombstone':
      return fencedLabel(node) === (step.tombstone && tombstoneText(step.tombstone)) && !hasStrayLabel(node);
    case 'note-stopping':
      return stoppingTextOf(node) === (step.stopping && stoppingText(step.stopping));
  }
};

/**
 * Returns the patch for this step, or `already` if the step took effect before.
 * @throws Refused if the Node has changed since the step was decided
 */
export const fencePatch = (node: V1Node, step: FenceStep): NodePatch | 'already' => {
  if (node.metadata?.uid === step.node.uid && isDone(node, step)) return 'already';
  refuseIfChanged(node, step);
  if (step.do !== 'note-stopping') {
    refuseIfResealed(node, step);
    refuseIfFenced(node, step);
  }
  if (step.do === 'mark') refuseIfUnmarked(node, step);
  if (step.do !== 'mark' && step.do !== 'set-tombstone' && step.do !== 'note-stopping') withFence(node, step.node);
  const ended = fenceWithEndedMark(step);
  if (ended !== null) refuseIfTakenBack(node, step.node, ended);
  return patchFor(node, step);
};
