import { CoreV1Api, type V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { NodeFacts, VolumeFacts } from '../fencing/model/cluster-facts.ts';
import { attachmentFacts, attachmentName, readAttachment } from './attachments.ts';
import { pages, type Reader } from './connection.ts';
import { isFinished } from './pods.ts';
import type { FoundVolume } from './volume-facts.ts';
import { type PvcReference, pvcKey, pvcsOfPod } from './volumes.ts';

/** Finds the next attachment of a volume: the one to the Node of the pod that uses its claim now. */

const claimOf = ({ volume }: FoundVolume): PvcReference | null => {
  const { namespace, name } = volume?.spec?.claimRef ?? {};
  return namespace === undefined || name === undefined ? null : { namespace, name };
};

const runsElsewhere = (pod: V1Pod, node: string): boolean => {
  const where = pod.spec?.nodeName ?? '';
  return where !== '' && where !== node && !isFinished(pod);
};

/**
 * Returns the Nodes of the pods that use the claims of one namespace now, by claim. Leaves out this Node, and claims
 * that no scheduled pod uses. Stops reading once all are found.
 */
const nodesUsing = async (
  reader: Reader,
  namespace: string,
  claims: ReadonlySet<string>,
  node: string,
): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) => core.listNamespacedPod({ ...paging, namespace }));
  for await (const page of pages(readPage)) {
    for (const pod of page.filter((one) => runsElsewhere(one, node)))
      for (const key of pvcsOfPod(pod).map(pvcKey))
        if (claims.has(key) && !found.has(key)) found.set(key, pod.spec?.nodeName ?? '');
    if (found.size === claims.size) break;
  }
  return found;
};

/** Returns the Nodes that use the claims, by claim. Reads the pods of each namespace once. */
const nodesUsingAll = async (
  reader: Reader,
  claims: readonly PvcReference[],
  node: string,
): Promise<ReadonlyMap<string, string>> => {
  const byNamespace = Map.groupBy(claims, ({ namespace }) => namespace);
  const found = await Promise.all(
    [...byNamespace].map(([namespace, own]) => nodesUsing(reader, namespace, new Set(own.map(pvcKey)), node)),
  );
  return new Map(found.flatMap((one) => [...one]));
};

/**
 * Returns the facts of the volumes, each with its next attachment. Reads the next attachment only if `follow` names the
 * volume and a pod on another Node uses it.
 */
export const withSuccessors = async (
  reader: Reader,
  volumes: readonly FoundVolume[],
  node: string,
  follow: readonly string[],
): Promise<readonly VolumeFacts[]> => {
  const claims = volumes.flatMap((volume) => (follow.includes(volume.facts.key) ? (claimOf(volume) ?? []) : []));
  const users = await nodesUsingAll(reader, claims, node);
  return Promise.all(
    volumes.map(async (volume): Promise<VolumeFacts> => {
      const { facts } = volume;
      const claim = follow.includes(facts.key) ? claimOf(volume) : null;
      const next = claim && users.get(pvcKey(claim));
      const successor = next ? await readAttachment(reader, attachmentName(facts, next)) : null;
      return { ...facts, successor: successor && attachmentFacts(successor) };
    }),
  );
};

/**
 * Returns the volumes whose successor attachments are read even if the caller does not ask for them: all of them, once
 * all attachments of a Node under fence are gone. An earlier run may have died after it nudged a successor and before
 * it took that nudge off.
 */
export const awaitingSuccessors = ({ record }: NodeFacts, volumes: readonly FoundVolume[]): readonly string[] =>
  record?.phase === 'fencing' && volumes.every(({ facts }) => facts.attachment === null)
    ? volumes.map(({ facts }) => facts.key)
    : [];
