import { createHash } from 'node:crypto';
import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { type FenceRecord, parseRecord, serializeRecord } from '../fencing/model/record.ts';
import { SEAL_LABEL } from './names.ts';

/**
 * The seal of a record: a label with a digest of what Cloudfence acts on. A kubelet can write the record, which is an
 * annotation, but not a label of this prefix. So a record that does not match its seal counts as removed.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */

const DIGEST_LENGTH = 40;

/**
 * Returns the digest of a record as `parseRecord` returns it. It leaves out the times. With them, a kubelet can only
 * end the quarantine of its own Node up to 90 s too early. `released` counts only as a fact: Cloudfence has removed its
 * taint.
 */
const digestOf = ({
  fence,
  phase,
  machine,
  generation,
  generationDrifts = false,
  nodeUid,
  bootID,
  outOfService,
  released,
  vouched,
  volumes,
  pods,
  recurring,
}: FenceRecord): string => {
  const boot = [machine, generation, generationDrifts, nodeUid, bootID];
  const sealed = [fence, phase, ...boot, outOfService, released !== null, vouched, volumes, pods, recurring];
  return createHash('sha256').update(JSON.stringify(sealed)).digest('hex').slice(0, DIGEST_LENGTH);
};

/**
 * Returns the digest that a later read of this record has. The order of its fields can differ from the order in which
 * the record is parsed.
 */
const sealOf = (record: FenceRecord): string => digestOf(parseRecord(serializeRecord(record)) ?? record);

/** Returns the label that a patch writes next to the record. */
export const sealLabel = (record: FenceRecord): Readonly<Record<string, string>> => ({ [SEAL_LABEL]: sealOf(record) });

/** A seal that no record matches. So the record on the Node counts as removed. */
export const brokenSeal: Readonly<Record<string, string>> = { [SEAL_LABEL]: 'broken' };

export const sealOn = ({ metadata }: Pick<V1Node, 'metadata'>): string | null => metadata?.labels?.[SEAL_LABEL] ?? null;

/** Returns whether the Node has the seal of this record. */
export const isSealed = (node: V1Node, record: FenceRecord): boolean => sealOn(node) === sealOf(record);

/**
 * Returns the Node's seal if it is not that of this record, or null. Then someone else has changed or removed the
 * record of a fence. `record` is the parsed annotation, or null if it is missing or unreadable. A record without a seal
 * is of an earlier version of Cloudfence: a kubelet cannot remove the seal.
 */
export const unmatchedSeal = (node: Pick<V1Node, 'metadata'>, record: FenceRecord | null): string | null => {
  const seal = sealOn(node);
  return record !== null && seal === digestOf(record) ? null : seal;
};
