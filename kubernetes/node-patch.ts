import type { V1Node, V1Taint } from '@kubernetes/client-node/dist/gen/index.js';
import { type FenceRecord, serializeRecord } from '../fencing/model/record.ts';
import type { NodeTarget } from '../fencing/model/steps.ts';
import { FENCED_LABEL, RECORD_ANNOTATION, SEAL_LABEL } from './names.ts';
import { sealOn } from './record-seal.ts';

/** The operations of a patch of a Node: its preconditions, and the changes of its record, labels, and taints. */

/** The part of JSON Patch that a fence needs: https://www.rfc-editor.org/rfc/rfc6902 */
type Operation =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export type NodePatch = readonly Operation[];
type TaintKind = Readonly<Pick<V1Taint, 'key' | 'effect'>>;
export type TaintOf = TaintKind & { readonly value: string };

/** Returns the path of one of Cloudfence's keys. None of the keys contains a tilde. */
const pointer = (...keys: readonly string[]): string => keys.map((key) => `/${key.replaceAll('/', '~1')}`).join('');

const RECORD_PATH = pointer('metadata', 'annotations', RECORD_ANNOTATION);

const test = (path: string, value: unknown): Operation => ({ op: 'test', path, value });

export const uidPrecondition = ({ uid }: NodeTarget): Operation => test('/metadata/uid', uid);
export const bootPrecondition = ({ bootID }: NodeTarget): Operation => test('/status/nodeInfo/bootID', bootID);

/**
 * Tests the fence id in Cloudfence's label, which no kubelet can write. If there was no label, there is nothing to
 * test.
 */
export const labelPrecondition = ({ label }: NodeTarget): NodePatch =>
  label === null ? [] : [test(pointer('metadata', 'labels', FENCED_LABEL), label)];

const testSeal = (seal: string): Operation => test(pointer('metadata', 'labels', SEAL_LABEL), seal);

/** Tests the seal whose record was missing or changed when the Node was read. */
export const sealPrecondition = ({ unmatchedSeal }: NodeTarget): NodePatch =>
  unmatchedSeal === null ? [] : [testSeal(unmatchedSeal)];

/**
 * Tests that the record and its seal have not changed since they were read. If one of them was missing, tests that the
 * Node has not been changed at all since then, because a patch cannot test that something is missing.
 */
export const recordPreconditions = (node: V1Node, { recordText }: NodeTarget): NodePatch => {
  const seal = sealOn(node);
  const isMissing = recordText === null || seal === null;
  return [
    ...(recordText === null ? [] : [test(RECORD_PATH, recordText)]),
    isMissing ? testResourceVersion(node) : testSeal(seal),
  ];
};

const testResourceVersion = ({ metadata }: V1Node): Operation =>
  test('/metadata/resourceVersion', metadata?.resourceVersion ?? '');

/**
 * Writes the record. If the Node has no annotations, the patch adds the whole map, because JSON Patch cannot add to a
 * missing map. The patch then also tests that the Node has not been changed since: if two clients add the map, only one
 * may succeed.
 */
export const putRecordOps = (node: V1Node, record: FenceRecord): NodePatch => {
  const value = serializeRecord(record);
  if (node.metadata?.annotations) return [{ op: 'add', path: RECORD_PATH, value }];
  return [
    testResourceVersion(node),
    { op: 'add', path: pointer('metadata', 'annotations'), value: { [RECORD_ANNOTATION]: value } },
  ];
};

export type Labels = Readonly<Record<string, string>>;

/** Writes labels. If the Node has no labels, the patch adds the whole map with all labels at once. */
export const putLabelOps = (node: V1Node, labels: Labels): NodePatch => {
  if (!node.metadata?.labels)
    return [testResourceVersion(node), { op: 'add', path: pointer('metadata', 'labels'), value: labels }];
  return Object.entries(labels).map(([key, value]) => ({ op: 'add', path: pointer('metadata', 'labels', key), value }));
};

/** Removes the labels that exist. JSON Patch rejects the removal of a missing key. */
export const removeLabelOps = (node: V1Node, keys: readonly string[]): NodePatch =>
  keys
    .filter((key) => node.metadata?.labels?.[key] !== undefined)
    .map((key) => ({ op: 'remove', path: pointer('metadata', 'labels', key) }));

export const addTaintOps = (node: V1Node, taints: readonly TaintOf[]): NodePatch => {
  const standing = node.spec?.taints ?? [];
  if (standing.length > 0) return taints.map((value) => ({ op: 'add', path: '/spec/taints/-', value }));
  return [testResourceVersion(node), { op: 'add', path: '/spec/taints', value: taints }];
};

interface TestedTaint {
  readonly path: string;
  readonly tests: NodePatch;
}

/** Tests a taint, including its value. If someone has written another value, the taint belongs to them. */
const testTaint = ({ key, effect, value }: V1Taint, path: string): NodePatch => [
  test(`${path}/key`, key),
  test(`${path}/effect`, effect),
  ...(value === undefined ? [] : [test(`${path}/value`, value)]),
];

/** Returns the tests of a taint, with its path. Kubernetes allows only one taint per key and effect. */
const testedTaint = (node: V1Node, { key, effect }: TaintKind): readonly TestedTaint[] =>
  (node.spec?.taints ?? [])
    .map((taint, at) => ({ taint, path: `/spec/taints/${at}` }))
    .filter(({ taint }) => taint.key === key && taint.effect === effect)
    .map(({ taint, path }) => ({ path, tests: testTaint(taint, path) }));

/** Tests that the taints of these kinds that are on the Node are still there. */
export const taintPreconditions = (node: V1Node, kinds: readonly TaintKind[]): NodePatch =>
  kinds.flatMap((kind) => testedTaint(node, kind).flatMap(({ tests }) => tests));

/** Removes a taint by index. Tests that the taint is still at this index. */
export const removeTaintOps = (node: V1Node, kind: TaintKind): NodePatch =>
  testedTaint(node, kind).flatMap(({ path, tests }) => [...tests, { op: 'remove', path } as const]);

export const removeRecordOps: Operation = { op: 'remove', path: RECORD_PATH };
