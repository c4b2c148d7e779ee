import type { Resource } from '../objects.ts';

/** How a kind is served: where, under which name, and what its DELETE answers with. */
export interface ServedKind {
  readonly resource: Resource;
  readonly group: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** It has a status that only the `status` sub-resource writes. */
  readonly status: boolean;
  /** The main resource's POST drops the status. */
  readonly bornWithoutStatus: boolean;
  /** DELETE answers with the object itself and not with a Status. */
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
  leases: served('leases', 'coordination.k8s.io', 'Lease', { status: false }),
  statefulsets: served('statefulsets', 'apps', 'StatefulSet'),
  deployments: served('deployments', 'apps', 'Deployment'),
  daemonsets: served('daemonsets', 'apps', 'DaemonSet'),
  jobs: served('jobs', 'batch', 'Job'),
  events: served('events', 'events.k8s.io', 'Event', { status: false }),
};

export const apiVersionOf = (kind: ServedKind): string => (kind.group === '' ? 'v1' : `${kind.group}/v1`);

/** `volumeattachments.storage.k8s.io`, as messages name a resource. */
export const qualified = (kind: ServedKind): string =>
  kind.group === '' ? kind.resource : `${kind.resource}.${kind.group}`;
