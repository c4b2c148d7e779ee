import type { Resource } from '../objects.ts';

/** How the API server serves a kind: the path, the name, and the response to DELETE. */
export interface ServedKind {
  readonly resource: Resource;
  readonly group: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Whether only the `status` subresource writes the status. */
  readonly status: boolean;
  /** Whether a POST of the main resource drops the status. */
  readonly bornWithoutStatus: boolean;
  /** Whether DELETE returns the object itself instead of a Status. */
  readonly returnsDeleted: boolean;
}

const served = (resource: Resource, group: string, kind: string, traits: Partial<ServedKind> = {}): ServedKind => ({
  resource,
  group,
  kind,
  namespaced: true,
  status: true,
  bornWithoutStatus: true,
  returnsDeleted: false,
  ...traits,
});

const STORAGE = 'storage.k8s.io';
const everywhere = { namespaced: false } as const;

export const kinds: { readonly [R in Resource]: ServedKind } = {
  nodes: served('nodes', '', 'Node', { ...everywhere, bornWithoutStatus: false }),
  pods: served('pods', '', 'Pod', { returnsDeleted: true }),
  persistentvolumes: served('persistentvolumes', '', 'PersistentVolume', { ...everywhere, returnsDeleted: true }),
  persistentvolumeclaims: served('persistentvolumeclaims', '', 'PersistentVolumeClaim', { returnsDeleted: true }),
  configmaps: served('configmaps', '', 'ConfigMap', { status: false }),
  volumeattachments: served('volumeattachments', STORAGE, 'VolumeAttachment', { ...everywhere, returnsDeleted: true }),
  csinodes: served('csinodes', STORAGE, 'CSINode', { ...everywhere, status: false, returnsDeleted: true }),
  csidrivers: served('csidrivers', STORAGE, 'CSIDriver', { ...everywhere, status: false, returnsDeleted: true }),
  storageclasses: served('storageclasses', STORAGE, 'StorageClass', {
    ...everywhere,
    status: false,
    returnsDeleted: true,
  }),
  leases: served('leases', 'coordination.k8s.io', 'Lease', { status: false }),
  statefulsets: served('statefulsets', 'apps', 'StatefulSet'),
  deployments: served('deployments', 'apps', 'Deployment'),
  replicasets: served('replicasets', 'apps', 'ReplicaSet'),
  daemonsets: served('daemonsets', 'apps', 'DaemonSet'),
  jobs: served('jobs', 'batch', 'Job'),
  events: served('events', 'events.k8s.io', 'Event', { status: false }),
};

export const apiVersionOf = (kind: ServedKind): string => (kind.group === '' ? 'v1' : `${kind.group}/v1`);

/** `volumeattachments.storage.k8s.io`, as messages name a resource. */
export const qualified = (kind: ServedKind): string =>
  kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
