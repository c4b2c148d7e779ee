import {
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  EventsV1Api,
  type V1Pod,
} from '@kubernetes/client-node/dist/gen/index.js';
import { z } from 'zod';
import type { AttachmentView, ObjectName, PodView } from '../../diagnosis/model/facts.ts';
import type { DiagnosisReading, ReadDriverFault } from '../../diagnosis/ports.ts';
import type { VolumeHandle } from '../../fencing/model/machine.ts';
import { attachmentName, attachmentPages, readAttachment } from '../attachments.ts';
import { pages, type Connection, type Reader } from '../connection.ts';
import {
  claimReads,
  volumeReads,
  createReadCache,
  type ReadCache,
  MOST_STUCK,
  unread,
  viewIfFound,
} from './diagnosis-volumes.ts';
import { attachmentView, eventView, nodeView, podView } from './diagnosis-views.ts';
import { workloadReads } from './diagnosis-workloads.ts';
import { isUnknownPath } from '../errors.ts';
import { readLease, renewTimeOf } from '../leases.ts';
import { readCsiNode, readNode } from '../node.ts';
import { readNodePods, readPod } from '../pods.ts';

/** The reads of a diagnosis. docs/diagnose.md lists the permissions that they need. */

const mayWait = (pod: PodView): boolean =>
  !pod.finished && pod.claims.length > 0 && (!pod.ready || pod.deletionEnds !== null);

type ReadPage<T> = Parameters<typeof pages<T>>[0];

/** Returns the pods of a list that match. Stops as soon as enough are found. */
const livingPods = async (
  readPage: ReadPage<V1Pod>,
  wanted: (pod: PodView) => boolean = () => true,
  most = Infinity,
): Promise<readonly PodView[]> => {
  const found: PodView[] = [];
  for await (const page of pages(readPage)) {
    found.push(...page.map(podView).filter(wanted));
    if (found.length >= most) break;
  }
  return found;
};

const podReads = (reader: Reader, { once, single }: ReadCache) => {
  const podsOn = once(async (node: string) => (await readNodePods(reader, node)).map(podView), []);
  return {
    pod: once((name: ObjectName) => viewIfFound(readPod(reader, name), podView), unread),
    podsIn: once(
      (namespace: string) =>
        livingPods((paging) => reader.read(CoreV1Api, (core) => core.listNamespacedPod({ ...paging, namespace }))),
      [],
    ),
    podsOn,
    stuckPods: single(
      () =>
        livingPods(
          (paging) => reader.read(CoreV1Api, (core) => core.listPodForAllNamespaces(paging)),
          mayWait,
          MOST_STUCK,
        ),
      [],
    ),
  };
};

const eventReads = (reader: Reader, { once }: ReadCache) => {
  const read = once(async ({ namespace, name: uid }: ObjectName) => {
    const fieldSelector = `regarding.uid=${uid}`;
    const { items } = await reader.read(EventsV1Api, (api) => api.listNamespacedEvent({ namespace, fieldSelector }));
    return items.map(eventView).toSorted((one, other) => other.at - one.at);
  }, []);
  return (namespace: string, uid: string) => read({ namespace, name: uid });
};

const attachmentReads = (reader: Reader, { once, single }: ReadCache, faultOf: ReadDriverFault) => {
  const named = once(
    (name: string) => viewIfFound(readAttachment(reader, name), (attachment) => attachmentView(attachment, faultOf)),
    unread,
  );
  const attachments = single(async () => {
    const found: AttachmentView[] = [];
    for await (const page of attachmentPages(reader)) found.push(...page.map((one) => attachmentView(one, faultOf)));
    return found;
  }, unread);
  return {
    attachment: (volume: VolumeHandle, node: string) => named(attachmentName(volume, node)),
    attachments,
  };
};

const timeIn = (text: string | null): number | null => (text === null ? null : Date.parse(text) || null);

const nodeReads = (reader: Reader, { once, allowed }: ReadCache): Pick<DiagnosisReading, 'node'> => ({
  node: once(async (name: string) => {
    const [node, csiNode, lease] = await Promise.all([
      readNode(reader, name),
      allowed(() => readCsiNode(reader, name), unread),
      allowed(() => readLease(reader, name), null),
    ]);
    return node && nodeView(node, csiNode, timeIn(lease));
  }, unread),
});

/**
 * The name of the Lease: external-attacher/cmd/csi-attacher/main.go, where the dots of the driver's name become dashes.
 */
const leaseOf = (driver: string): string => `external-attacher-leader-${driver.replaceAll('.', '-')}`;

const attacherReads = (
  reader: Reader,
  { once, allowed }: ReadCache,
): Pick<DiagnosisReading, 'attacher' | 'networkFences'> => ({
  attacher: once(async (driver: string) => {
    const name = leaseOf(driver);
    const { items } = await reader.read(CoordinationV1Api, (api) =>
      api.listLeaseForAllNamespaces({ fieldSelector: `metadata.name=${name}` }),
    );
    const [lease] = items;
    if (!lease) return null;
    const namespace = lease.metadata?.namespace ?? '';
    const holder = lease.spec?.holderIdentity ?? null;
    const pod = holder === null ? null : await allowed(() => readPod(reader, { namespace, name: holder }), null);
    const node = pod?.spec?.nodeName ?? null;
    return { lease: `${namespace}/${name}`, renewed: timeIn(renewTimeOf(lease)), holder, node };
  }, unread),
  networkFences: () => allowed(() => readNetworkFences(reader), []),
});

const named = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** Lists the NetworkFences of CSI-Addons. A cluster without that API has none. */
const readNetworkFences = async (reader: Reader): Promise<readonly string[]> => {
  try {
    const answer: unknown = await reader.read(CustomObjectsApi, (api) =>
      api.listClusterCustomObject({ group: 'csiaddons.openshift.io', version: 'v1alpha1', plural: 'networkfences' }),
    );
    return (named.safeParse(answer).data?.items ?? []).map(({ metadata }) => metadata.name);
  } catch (error) {
    if (isUnknownPath(error)) return [];
    throw error;
  }
};

/** Creates the reads of one diagnosis. `faultOf` returns the meaning of an error code in a driver's message. */
export const createDiagnosisReading = (
  connection: Pick<Connection, 'reader'>,
  faultOf: ReadDriverFault,
  signal: AbortSignal,
): DiagnosisReading => {
  const reader = connection.reader(signal);
  const memory = createReadCache();
  const events = eventReads(reader, memory);
  return {
    ...podReads(reader, memory),
    events,
    ...claimReads(reader, memory, events),
    ...volumeReads(reader, memory),
    ...attachmentReads(reader, memory, faultOf),
    ...nodeReads(reader, memory),
    ...workloadReads(reader, memory),
    ...attacherReads(reader, memory),
    unread: memory.unread,
  };
};
