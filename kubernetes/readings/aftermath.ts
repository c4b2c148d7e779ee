import { CoreV1Api, type V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { hasOwnLabelOrTaint, type NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { Aftermath, AftermathQuery, ReadAftermath } from '../../incidents/watch.ts';
import { attachmentName, readAttachment } from '../attachments.ts';
import { type Connection, pages, type Reader } from '../connection.ts';
import { withReadableAnswers } from '../errors.ts';
import { nodeFacts } from '../node-facts.ts';
import { readExistingNode } from '../node.ts';
import { controllerOf } from '../pods.ts';
import { claimOfVolume, podsUsing, runsElsewhere } from '../successors.ts';
import { pvcKey, readVolume } from '../volumes.ts';

/** Reads what has happened to the volumes of a dead machine, with or without a fence. It only reads. */

/**
 * The maximum number of volumes. A Node takes at most 127 volumes of a cloud, but a kubelet may have written the list.
 */
const MOST_VOLUMES = 128;

/** A volume on the Node of the pod that uses it now. Null while no pod elsewhere uses it. */
interface Successor {
  readonly attached: boolean;
  /** Since when the pod is ready (epoch ms), or null. */
  readonly readySince: number | null;
}

const readySince = ({ status }: V1Pod): number | null => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? (ready.lastTransitionTime?.getTime() ?? null) : null;
};

type Volume = AftermathQuery['volumes'][number];

const successorsOf = async (
  reader: Reader,
  volumes: readonly Volume[],
  { node, pods }: AftermathQuery,
): Promise<readonly (Successor | null)[]> => {
  const read = await Promise.all(
    volumes.map(async ({ persistentVolume: name }) => (name === null ? null : readVolume(reader, name))),
  );
  const claims = read.map((volume) => volume && claimOfVolume(volume));
  const users = await podsUsing(
    reader,
    claims.filter((claim) => claim !== null),
    { node, old: pods },
  );
  return Promise.all(
    volumes.map(async (volume, index) => {
      const claim = claims[index] ?? null;
      const pod = claim && users.get(pvcKey(claim));
      if (!pod) return null;
      const attachment = await readAttachment(reader, attachmentName(volume, pod.spec?.nodeName ?? ''));
      return { attached: attachment?.status?.attached ?? false, readySince: readySince(pod) };
    }),
  );
};

/** The maximum number of pods. A kubelet takes at most 110 pods by default, but it may have written the list. */
const MOST_PODS = 256;

/** Returns the uid of the controller that created a pod on another Node after the machine went off, or null. */
const replacing = (pod: V1Pod, { node, pods, phases }: AftermathQuery): string | null => {
  const { uid, creationTimestamp } = pod.metadata ?? {};
  const off = Date.parse(phases.off ?? phases.received ?? '');
  // The API server stores times in whole seconds.
  const isNew = (creationTimestamp?.getTime() ?? 0) + 1_000 > off;
  if (!isNew || !runsElsewhere(pod, node) || pods.some((old) => old.uid === uid)) return null;
  return controllerOf(pod)?.uid ?? null;
};

/**
 * Returns since when the replacement pods of one namespace have been ready. Null for each pod that has no ready
 * replacement.
 */
const replacementsIn = async (
  reader: Reader,
  namespace: string,
  wanted: readonly string[],
  query: AftermathQuery,
): Promise<readonly (number | null)[]> => {
  const ready = new Map<string, number[]>();
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) => core.listNamespacedPod({ ...paging, namespace }));
  for await (const page of pages(readPage))
    for (const pod of page) {
      const owner = replacing(pod, query);
      const since = readySince(pod);
      if (owner !== null && since !== null)
        ready.set(
          owner,
          [...(ready.get(owner) ?? []), since].sort((a, b) => a - b),
        );
    }
  return wanted.map((owner) => ready.get(owner)?.shift() ?? null);
};

/** Looks for the replacements of pods without volumes. Each needs one pod that its controller has created since. */
const replacementsOf = async (reader: Reader, query: AftermathQuery): Promise<readonly (number | null)[]> => {
  const followed = query.pods.slice(0, MOST_PODS).filter(({ replacedBy }) => replacedBy !== null);
  const read = await Promise.all(
    [...Map.groupBy(followed, ({ namespace }) => namespace)].map(([namespace, pods]) =>
      replacementsIn(
        reader,
        namespace,
        pods.flatMap(({ replacedBy }) => replacedBy ?? []),
        query,
      ),
    ),
  );
  return read.flat();
};

/**
 * Returns since when the Node has been ready in another boot. Another Node with that name belongs to another machine.
 */
const returnedSince = (node: NodeFacts | null, { nodeUid, bootID }: AftermathQuery): number | null =>
  node !== null && node.uid === nodeUid && bootID !== null && node.bootID !== bootID && node.ready === 'True'
    ? node.readySince
    : null;

const latest = (times: readonly (number | null)[]): number | null =>
  times.length === 0
    ? null
    : times.reduce((last, time) => (last === null || time === null ? null : Math.max(last, time)));

const readAftermath = async (reader: Reader, query: AftermathQuery): Promise<Aftermath> => {
  const volumes = query.volumes.slice(0, MOST_VOLUMES);
  const [standing, old, successors, replacements] = await Promise.all([
    readExistingNode(reader, query.node),
    Promise.all(volumes.map((volume) => readAttachment(reader, attachmentName(volume, query.node)))),
    successorsOf(reader, volumes, query),
    replacementsOf(reader, query),
  ]);
  const node = standing && nodeFacts(standing.node, standing.identitySources);
  const attachedElsewhere = volumes.length > 0 && successors.every((one) => one?.attached === true);
  return {
    detached: volumes.length > 0 && old.every((attachment) => attachment === null),
    attachedElsewhere,
    runningSince:
      attachedElsewhere || volumes.length === 0
        ? latest([...successors.map((one) => one?.readySince ?? null), ...replacements])
        : null,
    returnedSince: returnedSince(node, query),
    fenced: node !== null && hasOwnLabelOrTaint(node),
    nodeGone: node === null || (query.nodeUid !== null && node.uid !== query.nodeUid),
  };
};

export const createAftermathReading =
  (name: string, connection: Connection): ReadAftermath =>
  (query, signal) =>
    withReadableAnswers(name, () => readAftermath(connection.reader(signal), query));
