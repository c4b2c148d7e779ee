import type { V1Node, V1Taint } from '@kubernetes/client-node/dist/gen/index.js';
import { Refused } from '../fencing/model/errors.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import type { NodeTarget } from '../fencing/model/steps.ts';
import { FENCED_LABEL, RECORD_ANNOTATION } from './names.ts';
import { fenceAnnotation } from './node-facts.ts';

/** The part of JSON Patch that a fence needs: https://www.rfc-editor.org/rfc/rfc6902 */
type Operation =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export type NodePatch = readonly Operation[];
export type TaintKind = Readonly<Pick<V1Taint, 'key' | 'effect'>>;
export type TaintOf = TaintKind & { readonly value: string };

const pointer = (...keys: readonly string[]): string =>
  keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const RECORD_PATH = pointer('metadata', 'annotations', RECORD_ANNOTATION);

const test = (path: string, value: unknown): Operation => ({ op: 'test', path, value });

export const uidPrecondition = ({ uid }: NodeTarget): Operation => test('/metadata/uid', uid);
export const bootPrecondition = ({ bootID }: NodeTarget): Operation => test('/status/nodeInfo/bootID', bootID);

/**
 * Tests the fence that Cloudfence's label names, which no kubelet can write. If there was no label, there is nothing to
 * test.
 */
export const labelPrecondition = ({ label }: NodeTarget): NodePatch =>
  label === null ? [] : [test(pointer('metadata', 'labels', FENCED_LABEL), label)];

/**
 * Tests that the record is as it was read. If there was no record, tests that nothing at all has been written since.
 */
export const recordPrecondition = (node: V1Node, { recordText }: NodeTarget): Operation =>
  recordText === null ? testUnwritten(node) : test(RECORD_PATH, recordText);

const testUnwritten = ({ metadata }: V1Node): Operation =>
  test('/metadata/resourceVersion', metadata?.resourceVersion ?? '');

/**
 * Verifies that the Node is still as the step saw it, so that a step never overwrites a record or a boot that came in
 * between.
 * @throws Refused when it is not
 */
export const refuseIfChanged = (node: V1Node, target: NodeTarget): void => {
  if (node.metadata?.uid !== target.uid) throw new Refused(`the name ${target.name} now belongs to another Node`);
  if (fenceAnnotation(node) !== target.recordText)
    throw new Refused(`someone else changed the fence of Node ${target.name} after Cloudfence read it`);
};

export const serializeRecord = (record: FenceRecord): string => JSON.stringify(record);

/**
 * Writes the record. If the Node has no annotations, the patch adds the whole map, because JSON Patch cannot add to a
 * missing map. The patch then also tests that nothing was written since: of two clients that add the map, only one may
 * succeed.
 */
export const putRecordOps = (node: V1Node, record: FenceRecord): NodePatch => {
  const value = serializeRecord(record);
  if (node.metadata?.annotations) return [{ op: 'add', path: RECORD_PATH, value }];
  return [
    testUnwritten(node),
    { op: 'add', path: pointer('metadata', 'annotations'), value: { [RECORD_ANNOTATION]: value } },
  ];
};
export type Labels = Readonly<Record<string, string>>;

/** Writes labels. If the Node has no labels, the patch adds the whole map with all labels at once. */
export const putLabelOps = (node: V1Node, labels: Labels): NodePatch => {
  if (!node.metadata?.labels)
    return [testUnwritten(node), { op: 'add', path: pointer('metadata', 'labels'), value: labels }];
  return Object.entries(labels).map(([key, value]) => ({ op: 'add', path: pointer('metadata', 'labels', key), value }));
};

/** Removes the labels that are there. JSON Patch refuses to remove what is not there. */
export const removeLabelOps = (node: V1Node, keys: readonly string[]): NodePatch =>
  keys
    .filter((key) => node.metadata?.labels?.[key] !== undefined)
    .map((key) => ({ op: 'remove', path: pointer('metadata', 'labels', key) }));

export const addTaintOps = (node: V1Node, taints: readonly TaintOf[]): NodePatch => {
  if (taints.length === 0) return [];
  const standing = node.spec?.taints ?? [];
  if (standing.length > 0) return taints.map((value) => ({ op: 'add', path: '/spec/taints/-', value }));
  return [testUnwritten(node), { op: 'add', path: '/spec/taints', value: taints }];
};

/** Tests a taint, including its value. If somebody has written another value, the taint is theirs now. */
const testTaint = ({ key, effect, value }: V1Taint, path: string): NodePatch => [
  test(`${path}/key`, key),
  test(`${path}/effect`, effect),
  ...(value === undefined ? [] : [test(`${path}/value`, value)]),
];

/**
 * Removes taints by index. Removes the last one first, so that the others keep their index. Tests each index for the
 * taint that was read there.
 */
export const removeTaintOps = (node: V1Node, taints: readonly TaintKind[]): NodePatch =>
  (node.spec?.taints ?? [])
    .map((taint, at) => ({ taint, path: `/spec/taints/${at}` }))
    .filter(({ taint }) => taints.some(({ key, effect }) => taint.key === key && taint.effect === effect))
    .reverse()
    .flatMap(({ taint, path }) => [...testTaint(taint, path), { op: 'remove', path } as const]);

export const removeRecordOps: Operation = { op: 'remove', path: RECORD_PATH };
