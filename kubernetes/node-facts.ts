import type { V1Node, V1ObjectMeta, V1Taint } from '@kubernetes/client-node/dist/gen/index.js';
import {
  hasOwnLabelOrTaint,
  isForged,
  type FenceInBoot,
  type FirstStopping,
  type NodeFacts,
  type Tombstone,
} from '../fencing/model/cluster-facts.ts';
import type { IdentitySource } from '../fencing/model/machine.ts';
import { type FenceRecord, parseRecord } from '../fencing/model/record.ts';
import {
  CONTROL_PLANE_LABELS,
  FENCED_LABEL,
  OUT_OF_SERVICE,
  QUARANTINE,
  RECORD_ANNOTATION,
  STOPPING_LABEL,
  TAINT_LABEL,
  ZONE_LABEL,
} from './names.ts';
import { optOutsOfNode } from './node.ts';
import { unmatchedSeal } from './record-seal.ts';

/**
 * What a Node says about its fence: taints, labels, and the record. The parts that a kubelet cannot write show whether
 * Cloudfence wrote the rest.
 */

type MarkedTaint = Pick<V1Taint, 'key' | 'effect' | 'value'>;

/** The part of a Node that contains Cloudfence's taints, labels, and annotations. */
interface Marked {
  readonly metadata?: Pick<V1ObjectMeta, 'labels' | 'annotations'>;
  readonly spec?: { readonly taints?: readonly MarkedTaint[] };
}

const READINESS = ['True', 'False'] as const;

/**
 * Returns whether the Node has a taint with this key. The attach-detach controller and PodGC look only at the key, and
 * so does this function.
 */
export const hasTaint = ({ spec }: V1Node, key: string): boolean =>
  (spec?.taints ?? []).some((taint) => taint.key === key);

export const fenceAnnotation = ({ metadata }: Marked): string | null =>
  metadata?.annotations?.[RECORD_ANNOTATION] ?? null;

export const fencedLabel = ({ metadata }: Marked): string | null => metadata?.labels?.[FENCED_LABEL] ?? null;

const TOMBSTONE = /^(.+)_removed_([0-9a-z]+)$/;

/**
 * Returns the label's value for a tombstone, which shows that someone else removed the fence in this boot. Without a
 * tombstone, the label's value is only the fence id.
 */
export const tombstoneText = ({ fence, boot }: Tombstone): string => `${fence}_removed_${boot}`;

/** The two hashes have seven characters each. It is very unlikely that someone else writes such a value. */
const TAINTED = /^(.+)_in_([0-9a-z]{14})$/;

/** Returns the value of Cloudfence's out-of-service taint and of its label. */
export const taintText = ({ fence, boot }: FenceInBoot): string => `${fence}_in_${boot}`;

const taintedIn = (text: string): FenceInBoot | null => {
  const [, fence, boot] = TAINTED.exec(text) ?? [];
  return fence === undefined || boot === undefined ? null : { fence, boot };
};

/**
 * Returns the fence and the boot from the value of our taint, or else from its label, or null. The taint takes
 * precedence, because controllers act on it.
 */
const taintedFor = (node: V1Node): FenceInBoot | null => {
  const own = (node.spec?.taints ?? []).find(isOurs);
  return taintedIn(own?.value ?? '') ?? taintedIn(node.metadata?.labels?.[TAINT_LABEL] ?? '');
};

const tombstoneIn = (label: string | null): Tombstone | null => {
  const [, fence, boot] = TOMBSTONE.exec(label ?? '') ?? [];
  return fence === undefined || boot === undefined ? null : { fence, boot };
};

const STOPPING = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\dZ)_in_([0-9a-z]+)$/;

/**
 * Returns the value of the stopping label. A label's value cannot contain a colon. Rounds the time up to a full second,
 * so that the label never shows an earlier time.
 */
export const stoppingText = ({ at, boot }: FirstStopping): string =>
  `${new Date(Math.ceil(at / 1_000) * 1_000)
    .toISOString()
    .slice(0, 19)
    .replaceAll(/(?<=T.*):/g, '-')}Z_in_${boot}`;

export const stoppingTextOf = ({ metadata }: V1Node): string | null => metadata?.labels?.[STOPPING_LABEL] ?? null;

const stoppingIn = (text: string | null): FirstStopping | null => {
  const [, hour, minute, second, boot] = STOPPING.exec(text ?? '') ?? [];
  const at = Date.parse(`${hour ?? ''}:${minute ?? ''}:${second ?? ''}`);
  return boot === undefined || Number.isNaN(at) ? null : { at, boot };
};

/** Returns whether the Node has a fence of Cloudfence. The metadata of the Node is sufficient. */
const isFenced = (node: V1Node): boolean => {
  const label = fencedLabel(node);
  return label !== null && tombstoneIn(label) === null;
};

/** Returns whether this is Cloudfence's own out-of-service taint. Only the value of the taint shows that. */
const isOurs = ({ key, effect, value = '' }: MarkedTaint): boolean =>
  key === OUT_OF_SERVICE.key && effect === OUT_OF_SERVICE.effect && TAINTED.test(value);

/**
 * Returns whether the Node has Cloudfence's own out-of-service taint. A kubelet can write the record but cannot change
 * the taints of its Node, so the record does not count.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */
export const hasOwnTaint = ({ spec }: Marked): boolean => (spec?.taints ?? []).some(isOurs);

/**
 * Returns whether the Node has a fence of Cloudfence, or the rest of a fence whose label someone has removed. A
 * tombstone does not count.
 */
export const hasFenceTraces = (node: V1Node): boolean =>
  hasOwnTaint(node) || hasTaint(node, QUARANTINE.key) || isFenced(node);

const OWN_LABELS = [FENCED_LABEL, TAINT_LABEL, STOPPING_LABEL] as const;

/** Returns whether the Node has a label of Cloudfence, such as a tombstone or the note of a stop. */
export const hasOwnLabel = ({ metadata }: V1Node): boolean =>
  OWN_LABELS.some((label) => metadata?.labels?.[label] !== undefined);

const readiness = ({ metadata, status }: V1Node): Pick<NodeFacts, 'ready' | 'readySince'> => {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    ready: READINESS.find((known) => known === condition?.status) ?? 'Unknown',
    readySince: (condition?.lastTransitionTime ?? metadata?.creationTimestamp)?.getTime() ?? 0,
  };
};

/** Parses the record. Its Node is always the one on which it was found, whatever name the kubelet writes in it. */
const recordIn = (text: string, { metadata }: V1Node): FenceRecord | null => {
  const record = parseRecord(text);
  return record && { ...record, node: metadata?.name ?? '' };
};

type RecordOnNode = Pick<NodeFacts, 'recordText' | 'unmatchedSeal' | 'record'>;

/** Returns the record that is written on the Node, whoever wrote it. */
export const recordOn = (node: V1Node): RecordOnNode => {
  const recordText = fenceAnnotation(node);
  const record = recordText === null ? null : recordIn(recordText, node);
  return { recordText, unmatchedSeal: unmatchedSeal(node, record), record };
};

const fenceOf = (
  node: V1Node,
): RecordOnNode & Pick<NodeFacts, 'taints' | 'label' | 'taintedFor' | 'tombstone' | 'stopping' | 'strayRecord'> => {
  const { record, ...onNode } = recordOn(node);
  const label = fencedLabel(node);
  const taints = {
    outOfService: hasTaint(node, OUT_OF_SERVICE.key),
    ours: hasOwnTaint(node),
    quarantine: hasTaint(node, QUARANTINE.key),
  };
  const tombstone = tombstoneIn(label);
  const isOurRecord = hasOwnLabelOrTaint({ label, taints });
  const fence = tombstone?.fence ?? label;
  const isOfThisFence = fence === null || record?.fence === fence;
  return {
    taints,
    label,
    taintedFor: taintedFor(node),
    tombstone,
    stopping: stoppingIn(stoppingTextOf(node)),
    ...onNode,
    record: isOurRecord && isOfThisFence && !isForged(onNode) ? record : null,
    strayRecord: isOurRecord ? null : record,
  };
};

const untaint = ({ metadata }: V1Node): string => `kubectl taint node ${metadata?.name ?? ''} ${OUT_OF_SERVICE.key}-`;

const dropRecord = ({ metadata }: V1Node): string =>
  `kubectl annotate node ${metadata?.name ?? ''} ${RECORD_ANNOTATION}-`;

export const nodeFacts = (node: V1Node, identitySources: readonly IdentitySource[]): NodeFacts => {
  const { metadata, status } = node;
  const labels = metadata?.labels ?? {};
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    created: metadata?.creationTimestamp?.getTime() ?? 0,
    bootID: status?.nodeInfo?.bootID ?? '',
    ...readiness(node),
    deleting: metadata?.deletionTimestamp !== undefined,
    zone: labels[ZONE_LABEL] ?? null,
    untaint: untaint(node),
    dropRecord: dropRecord(node),
    controlPlane: CONTROL_PLANE_LABELS.some((label) => labels[label] !== undefined),
    identitySources,
    ...fenceOf(node),
    finalizers: metadata?.finalizers ?? [],
    owners: (metadata?.ownerReferences ?? []).map(({ kind }) => kind),
    optOuts: optOutsOfNode(metadata),
  };
};
