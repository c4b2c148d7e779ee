import {
  AppsV1Api,
  StorageV1Api,
  type V1Node,
  type V1Pod,
  type V1StorageClass,
  CoreV1Api,
} from '@kubernetes/client-node/dist/gen/index.js';
import type {
  CanaryOptions,
  CanaryPod,
  CanaryView,
  DrillCluster,
  DrilledNode,
  NeighborPod,
  InspectRequest,
  StorageClassFacts,
  ReservedNode,
} from '../../drill/ports.ts';
import { attachmentFacts, attachmentName, listAttachmentsOnNode, readAttachment } from '../attachments.ts';
import { type Connection, pages, type Reader, type Writer } from '../connection.ts';
import { withReadableAnswers, isPreconditionFailed } from '../errors.ts';
import { type CapControl, createCapControl } from '../ledger.ts';
import { DRILL_ALLOWED, DRILL_LABEL, DRILL_RESERVED_LABEL, HOSTNAME_LABEL, MIRROR_POD, ZONE_LABEL } from '../names.ts';
import { nodePages, readExistingNode, readNode } from '../node.ts';
import { nodeFacts } from '../node-facts.ts';
import { controllerOf, isFinished, readNodePods, readPod } from '../pods.ts';
import { csiHandleOf } from '../volumes.ts';
import {
  CANARY_POD,
  canarySet,
  isOfDrill,
  boundVolume,
  partsOfOthers,
  readVolume,
  removeCommandFor,
  removeCanaryObjects,
} from './canary.ts';
import { Refused } from '../../fencing/model/errors.ts';

/** What a drill reads and writes in a cluster, with the credentials of the person who runs it. */

/** Volumes that are deleted with their pod, or that exist on every Node. */
const FLEETING = new Set([
  'name',
  'configMap',
  'secret',
  'projected',
  'downwardAPI',
  'emptyDir',
  'hostPath',
  'image',
  'csi',
]);

const disksOf = ({ spec }: V1Pod): readonly string[] =>
  (spec?.volumes ?? []).flatMap((volume) => {
    const kinds = Object.entries(volume).filter(([kind, value]) => value !== undefined && !FLEETING.has(kind));
    const claim = volume.persistentVolumeClaim?.claimName;
    return kinds.length === 0 ? [] : [claim === undefined ? `volume ${volume.name}` : `claim ${claim}`];
  });

/** An object with the name of a canary's pod is reported as a leftover, unless this drill created it. */
const isCanary = ({ metadata }: V1Pod, { namespace }: CanaryOptions): boolean =>
  metadata?.name === CANARY_POD && metadata.namespace === namespace;

/** A mirror pod stays on its Node, and so does a DaemonSet's pod without a disk. */
const staysThere = (pod: V1Pod): boolean =>
  pod.metadata?.annotations?.[MIRROR_POD] !== undefined ||
  (controllerOf(pod)?.kind === 'DaemonSet' && disksOf(pod).length === 0);

const neighborOf = (pod: V1Pod): NeighborPod => ({
  name: `${pod.metadata?.namespace ?? ''}/${pod.metadata?.name ?? ''}`,
  disks: disksOf(pod),
  bare: controllerOf(pod) === undefined,
});

const barriers = ({ spec }: V1Node): readonly string[] => [
  ...(spec?.unschedulable ? ['it is cordoned'] : []),
  ...(spec?.taints ?? [])
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .map(({ key, effect }) => `taint ${key}:${effect}`),
];

const isReady = ({ status }: V1Node): boolean =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';

const zoneOf = ({ metadata }: V1Node): string | undefined => metadata?.labels?.[ZONE_LABEL];

const sparesFor = async (reader: Reader, node: V1Node): Promise<readonly string[]> => {
  const spares: string[] = [];
  for await (const page of nodePages(reader))
    for (const other of page) {
      const takesPods = isReady(other) && barriers(other).length === 0 && !other.metadata?.deletionTimestamp;
      if (takesPods && zoneOf(other) === zoneOf(node) && other.metadata?.name !== node.metadata?.name)
        spares.push(other.metadata?.name ?? '');
    }
  return spares;
};

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

const classFacts = ({ metadata, reclaimPolicy = 'Delete' }: V1StorageClass): StorageClassFacts => ({
  name: metadata?.name ?? '',
  deletesDisks: reclaimPolicy === 'Delete',
});

const createdAt = ({ metadata }: V1StorageClass): number => metadata?.creationTimestamp?.getTime() ?? 0;

/** If there are several default classes, Kubernetes uses the newest one. */
const defaultClass = async (reader: Reader): Promise<V1StorageClass | null> => {
  const found: V1StorageClass[] = [];
  for await (const page of pages((paging) => reader.read(StorageV1Api, (storage) => storage.listStorageClass(paging))))
    found.push(...page.filter(({ metadata }) => metadata?.annotations?.[DEFAULT_CLASS] === 'true'));
  return found.toSorted((a, b) => createdAt(b) - createdAt(a))[0] ?? null;
};

const storageClassOf = async (reader: Reader, name: string | null): Promise<StorageClassFacts | null> => {
  const found =
    name === null
      ? await defaultClass(reader)
      : await reader.readIfPresent(StorageV1Api, { name }, (storage, key) => storage.readStorageClass(key));
  return found && classFacts(found);
};

const inspect = async (
  readerFor: Connection['reader'],
  name: string,
  { own, canary, cap }: InspectRequest,
  readCap: CapControl['status'],
  signal: AbortSignal,
): Promise<DrilledNode | null> => {
  const reader = readerFor(signal);
  const node = await readNode(reader, name);
  if (!node) return null;
  const [pods, attachments, spares, storageClass, leftovers, ownVolume, use] = await Promise.all([
    readNodePods(reader, name),
    listAttachmentsOnNode(reader, name),
    sparesFor(reader, node),
    storageClassOf(reader, canary.storageClass),
    partsOfOthers(reader, canary.namespace, own),
    own === null ? null : boundVolume(reader, canary.namespace, (claim) => isOfDrill(claim, own)),
    readCap(cap, signal),
  ]);
  const others = attachments.filter(({ spec }) => ownVolume === null || spec.source.persistentVolumeName !== ownVolume);
  return {
    allowed: node.metadata?.labels?.[DRILL_LABEL] === DRILL_ALLOWED,
    hostname: node.metadata?.labels?.[HOSTNAME_LABEL] ?? null,
    barred: barriers(node),
    pods: pods.filter((pod) => !isFinished(pod) && !isCanary(pod, canary) && !staysThere(pod)).map(neighborOf),
    attachments: others.map(({ metadata, spec }) => spec.source.persistentVolumeName ?? metadata?.name ?? ''),
    spares,
    storageClass,
    leftovers,
    reservedBy: reservationOf(node),
    cap: use && { ...use, isOverridden: use.override !== null },
  };
};

const waitOf = ({ status }: V1Pod): string | null => {
  const waiting = status?.containerStatuses?.find(({ state }) => state?.waiting)?.state?.waiting;
  const unscheduled = status?.conditions?.find(
    ({ type, status: holds }) => type === 'PodScheduled' && holds === 'False',
  );
  return waiting?.message ?? waiting?.reason ?? unscheduled?.message ?? null;
};

const podView = (pod: V1Pod): CanaryPod => ({
  uid: pod.metadata?.uid ?? '',
  node: pod.spec?.nodeName ?? null,
  ready: pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True',
  deleting: pod.metadata?.deletionTimestamp !== undefined,
  waits: waitOf(pod),
});

const volumeView = async (reader: Reader, namespace: string): Promise<CanaryView['volume']> => {
  const name = await boundVolume(reader, namespace);
  const volume = name === null ? null : await readVolume(reader, name);
  const handle = volume && csiHandleOf(volume);
  return handle && { persistentVolume: name ?? '', driver: handle.driver, handle: handle.handle };
};

const viewCanary = async (reader: Reader, { namespace }: CanaryOptions, node: string): Promise<CanaryView> => {
  const [pod, volume] = await Promise.all([
    readPod(reader, { namespace, name: CANARY_POD }),
    volumeView(reader, namespace),
  ]);
  const at = async (where: string | null) => {
    const found = volume && where !== null ? await readAttachment(reader, attachmentName(volume, where)) : null;
    return found && attachmentFacts(found);
  };
  const elsewhere = pod?.spec?.nodeName ?? null;
  const [here, there] = await Promise.all([at(node), at(elsewhere === node ? null : elsewhere)]);
  return { pod: pod && podView(pod), volume, here, there };
};

/** Returns the cluster functions that a drill needs. */
export const createDrillCluster = (name: string, connection: Connection): DrillCluster => {
  const { reader, writer } = connection;
  const { status: readCap } = createCapControl(connection);
  const asked = <T>(read: () => Promise<T>): Promise<T> => withReadableAnswers(name, read);
  return {
    inspect: (node, canary, signal) => asked(() => inspect(reader, node, canary, readCap, signal)),
    create: (canary, signal) =>
      asked(async () => {
        const { namespace } = canary;
        const body = canarySet(canary);
        await writer(null, signal).write(AppsV1Api, (apps) => apps.createNamespacedStatefulSet({ namespace, body }));
      }),
    canary: (canary, node, signal) => asked(() => viewCanary(reader(signal), canary, node)),
    node: (node, signal) =>
      asked(async () => {
        const found = await readExistingNode(reader(signal), node);
        return found && nodeFacts(found.node, found.identitySources);
      }),
    reserve: (node, signal) => asked(() => reserveNode(reader(signal), writer(null, signal), node)),
    free: (node, signal) => asked(() => freeNode(reader(signal), writer(null, signal), node)),
    freeCommand: (node) => `kubectl label node ${node} ${DRILL_RESERVED_LABEL}-`,
    remove: (canary, volume, signal) =>
      asked(() => removeCanaryObjects({ reader: reader(signal), writer: writer(null, signal) }, canary, volume)),
    removeCommand: removeCommandFor,
    allowCommand: (node) => `kubectl label node ${node} ${DRILL_LABEL}=${DRILL_ALLOWED}`,
  };
};

/** The label with which a drill reserves its Node. If two drills try, only one can write it. */

const PATH = `/metadata/labels/${DRILL_RESERVED_LABEL.replaceAll('/', '~1')}`;

/** The number of tries, because kubelets sometimes write to their Node, and each write changes its version. */
const TRIES = 5;

const reservationOf = ({ metadata }: V1Node): string | null => metadata?.labels?.[DRILL_RESERVED_LABEL] ?? null;

const patchOf = ({ metadata }: V1Node, drill: string) => [
  { op: 'test', path: '/metadata/uid', value: metadata?.uid },
  { op: 'test', path: '/metadata/resourceVersion', value: metadata?.resourceVersion },
  { op: 'add', path: PATH, value: drill },
];

/** Returns null if the Node already has the reservation. @throws Refused */
const toReserve = async (reader: Reader, { name, uid, drill }: ReservedNode): Promise<V1Node | null> => {
  const node = await readNode(reader, name);
  if (node?.metadata?.uid !== uid) throw new Refused(`Node ${name} is gone, or is another one by now`);
  const holder = reservationOf(node);
  if (holder !== null && holder !== drill)
    throw new Refused(`another drill (${holder}) has just reserved Node ${name}`);
  return holder === drill ? null : node;
};

/**
 * Writes the label with the uid and the version that were read as preconditions, so that it never replaces another
 * drill's label.
 */
const reserveNode = async (reader: Reader, writer: Writer, wanted: ReservedNode): Promise<void> => {
  const { name, drill } = wanted;
  for (let tries = 1; ; tries += 1) {
    const node = await toReserve(reader, wanted);
    if (!node) return;
    try {
      await writer.jsonPatch(CoreV1Api, (core) => core.patchNode({ name, body: patchOf(node, drill) }));
      return;
    } catch (error) {
      if (!isPreconditionFailed(error) || tries >= TRIES) throw error;
    }
  }
};

/** Removes the label if it names this drill. */
const freeNode = async (reader: Reader, writer: Writer, { name, drill }: Omit<ReservedNode, 'uid'>): Promise<void> => {
  const node = await readNode(reader, name);
  if (!node || reservationOf(node) !== drill) return;
  const body = [
    { op: 'test', path: PATH, value: drill },
    { op: 'remove', path: PATH },
  ];
  await writer.jsonPatch(CoreV1Api, (core) => core.patchNode({ name, body }));
};
