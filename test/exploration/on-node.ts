import { type FenceRecord, parseRecord } from '../../fencing/model/record.ts';
import { unmatchedSeal } from '../../kubernetes/record-seal.ts';
import {
  FENCED_LABEL,
  OPT_OUT_LABEL,
  OUT_OF_SERVICE,
  QUARANTINE,
  RECORD_ANNOTATION,
  SEAL_LABEL,
} from '../../kubernetes/names.ts';
import type { NodeState } from './world.ts';

/** What Cloudfence and others have put on a Node, as these tests see it. */

/** The out-of-service taint that a person sets. */
export const BY_HAND = { ...OUT_OF_SERVICE, value: 'by-hand' };

export const isOurs = (key: string): boolean => key.includes('cloudfence') && key !== OPT_OUT_LABEL;

export const isOutOfService = (node: NodeState | null): boolean =>
  node?.taints.some(({ key }) => key === OUT_OF_SERVICE.key) ?? false;

/** Returns whether an out-of-service taint that no person has set is on the Node. It must be ours. */
export const isTaintedByUs = ({ taints }: NodeState): boolean =>
  taints.some(({ key, value }) => key === OUT_OF_SERVICE.key && value !== BY_HAND.value);

export const isQuarantined = (node: NodeState | null): boolean =>
  node?.taints.some(({ key }) => key === QUARANTINE.key) ?? false;

/** Returns the label that names the fence of the Node, or an empty text. */
export const labelOn = ({ labels }: NodeState): string => labels[FENCED_LABEL] ?? '';

/** Returns the record that Cloudfence wrote on the Node, or null if it was removed or changed. */
export const recordOn = ({ labels, annotations }: NodeState): FenceRecord | null => {
  const text = annotations[RECORD_ANNOTATION] ?? null;
  const record = text === null ? null : parseRecord(text);
  return unmatchedSeal({ metadata: { labels: { ...labels } } }, record) === null ? record : null;
};

/** Returns whether the Node has a fence. Its label, or its record, says so. A tombstone is no fence. */
export const isOfFence = (node: NodeState): boolean => {
  const label = labelOn(node);
  return label === '' ? recordOn(node) !== null : !label.includes('_removed_');
};

const foreignIn = (map: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(map).flatMap(([key, value]) => (isOurs(key) ? [] : [`${key}=${value}`]));

/** Returns what someone else has put on the Node. */
export const foreignOn = ({ labels, annotations, taints }: NodeState): string =>
  [
    ...foreignIn(labels),
    ...foreignIn(annotations),
    ...taints.flatMap(({ value }) => (value === BY_HAND.value ? [value] : [])),
  ].join();

/** Returns the record without what changes when Cloudfence removes its taint. */
const lasting = (node: NodeState): string => {
  const text = node.annotations[RECORD_ANNOTATION] ?? '';
  const record = parseRecord(text);
  return record ? JSON.stringify({ ...record, phase: null, released: null }) : text;
};

/** Returns our labels, our record, and all taints. A seal belongs to its record. */
const partsOn = (node: NodeState): readonly string[] => [
  ...Object.entries(node.labels).flatMap(([key, value]) =>
    isOurs(key) && key !== SEAL_LABEL ? [`${key}=${value}`] : [],
  ),
  ...node.taints.map((taint) => JSON.stringify(taint)),
  ...(RECORD_ANNOTATION in node.annotations ? [lasting(node)] : []),
];

/** Returns what a write has added to the Node. That a taint was removed, and when, adds nothing. */
const addedTo = (before: NodeState, after: NodeState): readonly string[] =>
  partsOn(after).filter((part) => !partsOn(before).includes(part));

/**
 * Returns whether a write only removed labels, taints, and the record. If it removed our taint, the label and the
 * record may name the fence of a later stop, so that the quarantine waits for the boot after that.
 */
export const isOnlyRemoved = (before: NodeState, after: NodeState): boolean => {
  const removesTaint = isTaintedByUs(before) && !isTaintedByUs(after);
  const renamed = [`${FENCED_LABEL}=${labelOn(after)}`, lasting(after)];
  return addedTo(before, after).every((part) => removesTaint && isOfFence(after) && renamed.includes(part));
};
