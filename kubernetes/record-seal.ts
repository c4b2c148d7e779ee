import { createHash } from 'node:crypto';
import type { V1Node } from '@kubernetes/client-node/dist/gen/index.js';
import { type FenceRecord, parseRecord } from '../fencing/model/record.ts';
import { SEAL_LABEL } from './names.ts';

/**
 * The seal of a record: a label with a digest of what Cloudfence acts on. A kubelet can write the record, which is an
 * annotation, but not a label of this prefix. So a record that does not match its seal counts as removed.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */

const DIGEST_LENGTH = 40;

/**
 * Returns the digest of a record. It leaves out the times, which only delay or report something, and the id of the
 * fence, which has a label of its own. `released` counts only as a fact: Cloudfence has removed its taint.
 */
const digestOf = ({
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
  const sealed = [phase, ...boot, outOfService, released !== null, vouched, volumes, pods, recurring];
  return createHash('sha256').update(JSON.stringify(sealed)).digest('hex').slice(0, DIGEST_LENGTH);
};

/** Returns the label that a patch writes next to the record. */
export const sealLabel = (record: FenceRecord): Readonly<Record<string, string>> => ({
  [SEAL_LABEL]: digestOf(record),
});

const sealOn = ({ metadata }: Pick<V1Node, 'metadata'>): string | null => metadata?.labels?.[SEAL_LABEL] ?? null;

/** Returns whether the Node has the seal of this record. */
export const isSealed = (node: V1Node, record: FenceRecord): boolean => sealOn(node) === digestOf(record);

/**
 * Returns whether someone else has changed the record of a fence. `fence` is the id in the label of the fence, or null
 * if someone has removed the label. A record without a seal is of an earlier version of Cloudfence: a kubelet cannot
 * remove the seal.
 */
export const isForged = (node: V1Node, recordText: string | null, fence: string | null): boolean => {
  if (recordText === null || sealOn(node) === null) return false;
  const record = parseRecord(recordText);
  return record === null || !isSealed(node, record) || (fence !== null && record.fence !== fence);
};
