import type {
  EventsV1Event,
  V1CSINode,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1VolumeAttachment,
  V1VolumeError,
} from '@kubernetes/client-node/dist/gen/index.js';
import type {
  AttachmentView,
  PvcView,
  ErrorView,
  EventView,
  NodeView,
  OwnerView,
  PodView,
  VolumeView,
} from '../../diagnosis/model/facts.ts';
import type { VolumeHandle } from '../../fencing/model/machine.ts';
import type { ReadDriverFault } from '../../diagnosis/ports.ts';
import { OUT_OF_SERVICE, ZONE_LABEL } from '../names.ts';
import { hasFenceTraces, hasOwnTaint } from '../node-facts.ts';
import { attachmentIdentitySource, csiNodeIdentitySources, nodeIdentitySources } from '../node.ts';
import { controllerOf, isFinished } from '../pods.ts';
import { csiHandleOf, inlineBackings, parseUniqueVolumeName, pvcsOfPod } from '../volumes.ts';

/** Converts Kubernetes objects to the views of a diagnosis. Pure. */

const timeOf = (date: Date | undefined): number => date?.getTime() ?? 0;

export const ownerView = (object: Pick<V1Pod, 'metadata'>): OwnerView | null => {
  const owner = controllerOf(object);
  return owner ? { kind: owner.kind, name: owner.name, uid: owner.uid } : null;
};

/** Reasons for which a container waits while its pod is being set up. They do not show a cause. */
const SETTING_UP = new Set(['ContainerCreating', 'PodInitializing', '']);

const waitsFor = ({ status }: V1Pod): string | null => {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const init = status?.initContainerStatuses?.find(({ state }) => state?.running);
  const waiting = containers.map(({ state }) => state?.waiting).find((one) => !SETTING_UP.has(one?.reason ?? ''));
  if (waiting) return [waiting.reason, waiting.message].filter(Boolean).join(': ');
  return init ? `the init container ${init.name} runs` : null;
};

const condition = ({ status }: V1Pod, type: string) => status?.conditions?.find((one) => one.type === type);

/** Returns what the kubelet and the scheduler report about the pod. */
const podState = (
  pod: V1Pod,
): Pick<
  PodView,
  'finished' | 'ready' | 'runs' | 'waitsFor' | 'unscheduled' | 'endedByShutdown' | 'rejectedByLimit'
> => {
  const { status } = pod;
  const scheduled = condition(pod, 'PodScheduled');
  return {
    finished: isFinished(pod),
    ready: condition(pod, 'Ready')?.status === 'True',
    runs: (status?.containerStatuses ?? []).some(({ state }) => state?.running !== undefined),
    waitsFor: waitsFor(pod),
    unscheduled: scheduled?.status === 'False' ? (scheduled.message ?? '') : null,
    endedByShutdown: status?.reason === 'Terminated' && /node shutdown/.test(status.message ?? ''),
    rejectedByLimit: status?.reason === 'VolumeAttachmentLimitExceeded',
  };
};

const changesOwnership = ({ spec }: V1Pod): boolean => {
  const { fsGroup, fsGroupChangePolicy } = spec?.securityContext ?? {};
  return fsGroup !== undefined && fsGroupChangePolicy !== 'OnRootMismatch';
};

/** Returns the claims that a pod mounts read-only, as a whole or in each container that mounts them. */
const readOnlyClaims = ({ spec }: V1Pod): readonly string[] => {
  const mounts = (spec?.containers ?? []).flatMap(({ volumeMounts }) => volumeMounts ?? []);
  const isReadOnly = (volume: string): boolean => {
    const own = mounts.filter(({ name }) => name === volume);
    return own.length > 0 && own.every(({ readOnly }) => readOnly === true);
  };
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim: claim }) =>
    claim && (claim.readOnly === true || isReadOnly(name)) ? [claim.claimName] : [],
  );
};

const ephemeralClaims = ({ metadata, spec }: V1Pod): readonly string[] =>
  (spec?.volumes ?? []).flatMap(({ name, ephemeral }) => (ephemeral ? [`${metadata?.name ?? ''}-${name}`] : []));

export const podView = (pod: V1Pod): PodView => {
  const { metadata, spec } = pod;
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    created: timeOf(metadata?.creationTimestamp),
    node: spec?.nodeName || null,
    deletionEnds: metadata?.deletionTimestamp?.getTime() ?? null,
    finalizers: metadata?.finalizers ?? [],
    owner: ownerView(pod),
    claims: pvcsOfPod(pod).map(({ name }) => name),
    ephemeralClaims: ephemeralClaims(pod),
    ownVolumes: inlineBackings(pod).map(([name]) => name),
    readOnlyClaims: readOnlyClaims(pod),
    changesOwnership: changesOwnership(pod),
    ...podState(pod),
  };
};

/** The client returns a MicroTime as a date or as text. */
const millisecondsOf = (time: unknown): number | null => {
  if (time instanceof Date) return time.getTime();
  return typeof time === 'string' ? Date.parse(time) || null : null;
};

const eventTime = ({ series, eventTime: once, deprecatedLastTimestamp, metadata }: EventsV1Event): number => {
  const times: readonly unknown[] = [series?.lastObservedTime, deprecatedLastTimestamp, once];
  const dated = times.map(millisecondsOf).find((time) => time !== null);
  return dated ?? timeOf(metadata?.creationTimestamp);
};

export const eventView = (event: EventsV1Event): EventView => ({
  reason: event.reason ?? '',
  says: event.note ?? '',
  at: eventTime(event),
});

const PROVISIONER = ['volume.kubernetes.io/storage-provisioner', 'volume.beta.kubernetes.io/storage-provisioner'];

/** Returns the identity of an object, with its creation and deletion times. */
const lifeOf = ({ uid = '', deletionTimestamp, creationTimestamp, finalizers = [] }: V1ObjectMeta = {}): Pick<
  PvcView,
  'uid' | 'deleting' | 'since' | 'finalizers'
> => ({
  uid,
  deleting: deletionTimestamp !== undefined,
  since: timeOf(deletionTimestamp ?? creationTimestamp),
  finalizers,
});

export const pvcView = (
  { metadata, spec, status }: V1PersistentVolumeClaim,
  events: readonly EventView[],
): PvcView => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
  phase: status?.phase ?? '',
  ...lifeOf(metadata),
  owners: (metadata?.ownerReferences ?? []).map(({ kind, name, uid }) => ({ kind, name, uid })),
  accessModes: spec?.accessModes ?? [],
  className: spec?.storageClassName ?? null,
  volumeName: spec?.volumeName ?? '',
  selectedNode: metadata?.annotations?.['volume.kubernetes.io/selected-node'] ?? null,
  provisioner: PROVISIONER.map((key) => metadata?.annotations?.[key]).find((name) => name !== undefined) ?? null,
  events,
});

const KINDS = ['csi', 'local', 'nfs', 'hostPath', 'iscsi', 'rbd', 'cephfs', 'fc', 'azureFile'] as const;

/** Returns the values that the volume's node affinity allows for labels whose key matches. */
const allowed = ({ spec }: V1PersistentVolume, wanted: (key: string) => boolean): readonly string[] => {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const expressions = terms.flatMap(({ matchExpressions }) => matchExpressions ?? []);
  return [
    ...new Set(
      expressions.filter(({ key, operator }) => operator === 'In' && wanted(key)).flatMap(({ values }) => values ?? []),
    ),
  ];
};

/** The labels with which drivers of local storage pin a volume to a Node, such as topology.topolvm.io/node. */
const NAMES_NODE = /(?:^|[./])(?:host|hostname|node|nodename)$/;

const isReadOnly = ({ csi, accessModes = [] }: NonNullable<V1PersistentVolume['spec']>): boolean =>
  csi?.readOnly === true || (accessModes.length > 0 && accessModes.every((mode) => mode === 'ReadOnlyMany'));

export const volumeView = (volume: V1PersistentVolume): VolumeView => {
  const { metadata, spec, status } = volume;
  const { namespace, name, uid = '' } = spec?.claimRef ?? {};
  return {
    name: metadata?.name ?? '',
    phase: status?.phase ?? '',
    ...lifeOf(metadata),
    handle: csiHandleOf(volume),
    kind: KINDS.find((kind) => spec?.[kind] !== undefined) ?? 'other',
    claim: namespace === undefined || name === undefined ? null : { namespace, name, uid },
    zones: allowed(volume, (key) => /(?:^|[./])zone$/.test(key)),
    hosts: allowed(volume, (key) => NAMES_NODE.test(key)),
    accessModes: spec?.accessModes ?? [],
    mode: spec?.volumeMode ?? 'Filesystem',
    readOnly: isReadOnly(spec ?? {}),
  };
};

const errorView = (error: V1VolumeError | undefined, faultOf: ReadDriverFault): ErrorView | null => {
  if (!error) return null;
  const says = error.message ?? '';
  return { says, at: timeOf(error.time), fault: faultOf(says) };
};

export const attachmentView = (attachment: V1VolumeAttachment, faultOf: ReadDriverFault): AttachmentView => {
  const { metadata, spec, status } = attachment;
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    node: spec.nodeName,
    driver: spec.attacher,
    volumeName: spec.source.persistentVolumeName ?? null,
    attached: status?.attached ?? false,
    created: timeOf(metadata?.creationTimestamp),
    deletingSince: metadata?.deletionTimestamp?.getTime() ?? null,
    attachError: errorView(status?.attachError, faultOf),
    detachError: errorView(status?.detachError, faultOf),
    finalizers: metadata?.finalizers ?? [],
    source: attachmentIdentitySource(attachment),
  };
};

const handlesOf = (names: readonly string[]): readonly VolumeHandle[] =>
  names.flatMap((name) => parseUniqueVolumeName(name) ?? []);

const driversOf = (csiNode: V1CSINode | null): Exclude<NodeView['drivers'], 'unread'> =>
  (csiNode?.spec.drivers ?? []).map(({ name, allocatable }) => ({ name, limit: allocatable?.count ?? null }));

const readiness = ({ metadata, status }: V1Node): Pick<NodeView, 'ready' | 'readySince'> => {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    ready: ready?.status === 'True' || ready?.status === 'False' ? ready.status : 'Unknown',
    readySince: timeOf(ready?.lastTransitionTime ?? metadata?.creationTimestamp),
  };
};

const outOfServiceBy = ({ spec }: V1Node): NodeView['outOfService'] => {
  const taints = (spec?.taints ?? []).filter(({ key }) => key === OUT_OF_SERVICE.key);
  if (taints.length === 0) return null;
  return taints.every((taint) => hasOwnTaint({ spec: { taints: [taint] } })) ? 'ours' : 'foreign';
};

export const nodeView = (node: V1Node, csiNode: V1CSINode | null | 'unread', leaseRenewed: number | null): NodeView => {
  const { metadata, status } = node;
  const own = csiNode === 'unread' ? null : csiNode;
  return {
    name: metadata?.name ?? '',
    ...readiness(node),
    zone: metadata?.labels?.[ZONE_LABEL] ?? null,
    leaseRenewed,
    drivers: csiNode === 'unread' ? 'unread' : driversOf(own),
    inUse: handlesOf(status?.volumesInUse ?? []),
    attached: handlesOf((status?.volumesAttached ?? []).map(({ name }) => name)),
    identitySources: [...nodeIdentitySources(node), ...csiNodeIdentitySources(own)],
    fenced: hasFenceTraces(node),
    outOfService: outOfServiceBy(node),
  };
};
