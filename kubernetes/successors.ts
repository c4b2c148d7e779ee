import { type V1PersistentVolume, CoreV1Api, type V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import type { VolumeFacts, NodeFacts } from '../fencing/model/cluster-facts.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { attachmentFacts, attachmentName, readAttachment } from './attachments.ts';
import { type Reader, pages } from './connection.ts';
import { isFinished } from './pods.ts';
import type { FoundVolume } from './volume-facts.ts';
import { pvcKey, type PvcReference, pvcsOfPod } from './volumes.ts';

/** Finds the next attachment of a volume: the attachment to the Node of the pod that uses its claim now. */

export const claimOfVolume = ({ spec }: V1PersistentVolume): PvcReference | null => {
  const { namespace, name } = spec?.claimRef ?? {};
  return namespace === undefined || name === undefined ? null : { namespace, name };
};

const claimOf = ({ volume }: FoundVolume): PvcReference | null => volume && claimOfVolume(volume);

/** The Node whose volumes are read, and the pods in its fence record. */
export interface NodeTraces {
  readonly node: string;
  readonly old: FenceRecord['pods'];
}

export const runsElsewhere = (pod: V1Pod, node: string): boolean => {
  const where = pod.spec?.nodeName ?? '';
  return where !== '' && where !== node && !isFinished(pod);
};

/** The maximum number of pods to read by name. If there are more, one list of the namespace is cheaper. */
const MOST_BY_NAME = 3;

/**
 * Reads the pods that now have the names of the old ones. A StatefulSet gives its new pod the name of the old one, so
 * the namespace does not have to be listed.
 */
const podsOfSameName = async (reader: Reader, old: FenceRecord['pods']): Promise<readonly V1Pod[]> => {
  if (old.length > MOST_BY_NAME) return [];
  const pods = await Promise.all(
    old.map(({ namespace, name }) =>
      reader.readIfPresent(CoreV1Api, { namespace, name }, (core, key) => core.readNamespacedPod(key)),
    ),
  );
  return pods.filter((pod) => pod !== null);
};

/**
 * Returns the pods that use the claims of one namespace now, by claim. Leaves out pods on this Node, and claims that no
 * scheduled pod uses. Stops as soon as all are found.
 */
const podsUsingIn = async (
  reader: Reader,
  namespace: string,
  claims: ReadonlySet<string>,
  { node, old }: NodeTraces,
): Promise<ReadonlyMap<string, V1Pod>> => {
  const found = new Map<string, V1Pod>();
  const addUsers = (pods: readonly V1Pod[]): void => {
    for (const pod of pods.filter((one) => runsElsewhere(one, node)))
      for (const key of pvcsOfPod(pod).map(pvcKey)) if (claims.has(key) && !found.has(key)) found.set(key, pod);
  };
  const inNamespace = old.filter((pod) => pod.namespace === namespace);
  addUsers(await podsOfSameName(reader, inNamespace));
  if (found.size === claims.size) return found;
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) => core.listNamespacedPod({ ...paging, namespace }));
  for await (const page of pages(readPage)) {
    addUsers(page);
    if (found.size === claims.size) break;
  }
  return found;
};

/** Returns the pods on other Nodes that use the claims, by claim. Reads the pods of each namespace once. */
export const podsUsing = async (
  reader: Reader,
  claims: readonly PvcReference[],
  former: NodeTraces,
): Promise<ReadonlyMap<string, V1Pod>> => {
  const byNamespace = Map.groupBy(claims, ({ namespace }) => namespace);
  const found = await Promise.all(
    [...byNamespace].map(([namespace, own]) => podsUsingIn(reader, namespace, new Set(own.map(pvcKey)), former)),
  );
  return new Map(found.flatMap((one) => [...one]));
};

/**
 * Returns the facts of the volumes, each with its next attachment. Reads the next attachment only if `successorsOf`
 * names the
 * volume and a pod on another Node uses it.
 */
export const withSuccessors = async (
  reader: Reader,
  volumes: readonly FoundVolume[],
  former: NodeTraces,
  successorsOf: readonly string[],
): Promise<readonly VolumeFacts[]> => {
  const claims = volumes.flatMap((volume) => (successorsOf.includes(volume.facts.key) ? (claimOf(volume) ?? []) : []));
  const users = await podsUsing(reader, claims, former);
  return Promise.all(
    volumes.map(async (volume): Promise<VolumeFacts> => {
      const { facts } = volume;
      const claim = successorsOf.includes(facts.key) ? claimOf(volume) : null;
      const next = claim && users.get(pvcKey(claim))?.spec?.nodeName;
      const successor = next ? await readAttachment(reader, attachmentName(facts, next)) : null;
      return { ...facts, successor: successor && attachmentFacts(successor) };
    }),
  );
};

/**
 * Returns the volumes whose next attachments are read even without a request. These are all volumes of a fenced Node
 * after all its attachments are gone. An earlier run may have died after it nudged the next attachment and before it
 * removed that nudge.
 */
export const awaitingSuccessors = ({ record }: NodeFacts, volumes: readonly FoundVolume[]): readonly string[] =>
  record?.phase === 'fencing' && volumes.every(({ facts }) => facts.attachment === null)
    ? volumes.map(({ facts }) => facts.key)
    : [];
