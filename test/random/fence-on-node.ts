import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import {
  FENCED_LABEL,
  OUT_OF_SERVICE,
  QUARANTINE,
  RECORD_ANNOTATION,
  SEAL_LABEL,
  STOPPING_LABEL,
  TAINT_LABEL,
} from '../../kubernetes/names.ts';
import { hasTaintKey, taintsOf } from './cluster-objects.ts';

/**
 * What a fence looks like on a Node. The checks read this here, not with the shipped code: otherwise, a fault in the
 * shipped code would hide itself.
 */

const OURS: ReadonlySet<string> = new Set([FENCED_LABEL, TAINT_LABEL, SEAL_LABEL, STOPPING_LABEL, RECORD_ANNOTATION]);

interface Taint {
  readonly key: string;
  readonly value?: string;
}

/** No foreign taint of a plan has such a value. */
export const isOurTaint = ({ key, value = '' }: Taint): boolean => key === OUT_OF_SERVICE.key && value.includes('_in_');

export const hasOurTaint = (node: V1Node): boolean => taintsOf(node).some(isOurTaint);

export const isQuarantined = (node: V1Node): boolean => hasTaintKey(node, QUARANTINE.key);

const REMOVED = '_removed_';

const labelOn = ({ metadata }: V1Node): string | undefined => metadata?.labels?.[FENCED_LABEL];

/** Returns the fence that the label names, whether or not a person removed it. */
export const labelledFence = (node: V1Node): string | undefined => labelOn(node)?.split(REMOVED)[0];

/** Whether the label says that a person removed the fence. */
const hasTombstone = (node: V1Node): boolean => labelOn(node)?.includes(REMOVED) ?? false;

/** Whether the Node has a fence, or the rest of one. A tombstone does not count. */
export const isFenced = (node: V1Node): boolean =>
  hasOurTaint(node) || isQuarantined(node) || (labelOn(node) !== undefined && !hasTombstone(node));

/** Whether the label of a fence is there, and neither its taint nor its quarantine. */
export const hasOnlyLabel = (node: V1Node): boolean =>
  isFenced(node) && !isQuarantined(node) && !hasOurTaint(node) && node.metadata?.labels?.[TAINT_LABEL] === undefined;

const recordTextOn = ({ metadata }: V1Node): string | undefined => metadata?.annotations?.[RECORD_ANNOTATION];

const fenceInRecord = (node: V1Node): string | undefined => {
  const record = parseJsonOrNull(recordTextOn(node) ?? '');
  const isNamed = typeof record === 'object' && record !== null && 'fence' in record;
  return isNamed && typeof record.fence === 'string' ? record.fence : undefined;
};

/** Returns the ids of all fences that something on the Node names. */
export const fencesOn = (node: V1Node): readonly string[] => {
  const taint = taintsOf(node).find(isOurTaint)?.value ?? node.metadata?.labels?.[TAINT_LABEL];
  const named = [labelledFence(node), taint?.split('_in_')[0], fenceInRecord(node)];
  return named.flatMap((fence) => fence ?? []);
};

/** Returns what Cloudfence has left on the Node. */
export const oursOn = (node: V1Node): readonly string[] => [
  ...Object.keys(node.metadata?.labels ?? {}).filter((key) => OURS.has(key)),
  ...(recordTextOn(node) === undefined ? [] : [RECORD_ANNOTATION]),
  ...taintsOf(node).flatMap(({ key }) => (key === QUARANTINE.key ? [key] : [])),
  ...(hasOurTaint(node) ? ['our out-of-service taint'] : []),
];

/** What is on a Node that Cloudfence must not touch. */
export const foreignOn = (node: V1Node): string => {
  const others = (map: Readonly<Record<string, string>> = {}) => Object.entries(map).filter(([key]) => !OURS.has(key));
  const taints = taintsOf(node)
    .filter((taint) => taint.key !== QUARANTINE.key && !isOurTaint(taint))
    .map(({ key, effect, value = '' }) => `${key}=${value}:${effect}`);
  return JSON.stringify([others(node.metadata?.labels), others(node.metadata?.annotations), taints, node.status]);
};
