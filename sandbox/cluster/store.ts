import type { ControllerMemory, SimulationSettings } from './controllers/memory.ts';
import { defaultKnobs, emptyMemory } from './controllers/memory.ts';
import type { ObjectMeta, Resource, Resources } from './objects.ts';

/** One entry for each accepted write. Tests and timelines read the history from it. */
export interface AuditEntry {
  readonly at: number;
  readonly user: string;
  readonly verb: 'create' | 'update' | 'delete' | 'remove';
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ClusterState {
  revision: number;
  uids: number;
  readonly objects: { [R in Resource]: Record<string, Resources[R]> };
  readonly audit: AuditEntry[];
  /** The memory of controllers and kubelets between two steps. */
  readonly memory: ControllerMemory;
  readonly knobs: SimulationSettings;
}

/** The ledger of fences, which infra/kubernetes/rbac.yaml creates in addition to the permissions. */
const ledger = (): Resources['configmaps'] => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    namespace: 'kube-system',
    name: 'cloudfence-ledger',
    uid: '00000000-0000-4000-8000-00000000c0de',
    resourceVersion: '1',
    creationTimestamp: '2025-01-01T00:00:00Z',
  },
});

export const emptyCluster = (): ClusterState => ({
  revision: 1,
  uids: 0,
  audit: [],
  memory: emptyMemory(),
  knobs: defaultKnobs(),
  objects: {
    nodes: {},
    pods: {},
    persistentvolumes: {},
    persistentvolumeclaims: {},
    volumeattachments: {},
    csinodes: {},
    csidrivers: {},
    leases: {},
    statefulsets: {},
    deployments: {},
    replicasets: {},
    daemonsets: {},
    jobs: {},
    events: {},
    storageclasses: {},
    configmaps: { 'kube-system/cloudfence-ledger': ledger() },
  },
});

/** The keys of objects are `namespace/name`. The namespace of cluster-scoped objects is empty. */
export const keyOf = (meta: Pick<ObjectMeta, 'name' | 'namespace'>): string => `${meta.namespace ?? ''}/${meta.name}`;

/** The writer and the time. The writer is a component of the control plane or an API user. */
export interface Writer {
  readonly user: string;
  readonly at: number;
}

/**
 * The store of the objects, which controllers and the API server share. It returns copies, so that only a write changes
 * it.
 */
export interface Store {
  readonly state: ClusterState;
  readonly get: <R extends Resource>(resource: R, name: string, namespace?: string) => Resources[R] | undefined;
  readonly list: <R extends Resource>(resource: R) => readonly Resources[R][];
  /** Sets uid, resourceVersion, and creationTimestamp. Returns undefined if the name is in use. */
  readonly create: <R extends Resource>(
    resource: R,
    object: Draft<Resources[R]>,
    by: Writer,
  ) => Resources[R] | undefined;
  /**
   * Writes the object under a new resourceVersion if its uid has not changed. Removes it when it is being deleted and
   * has no finalizer and no grace period left.
   */
  readonly update: <R extends Resource>(resource: R, object: Resources[R], by: Writer) => Resources[R] | undefined;
  /**
   * Deletes an object as the API server does: finalizers and a pod's grace period keep it, with a deletionTimestamp.
   */
  readonly delete: <R extends Resource>(
    resource: R,
    object: Resources[R],
    graceSeconds: number | undefined,
    by: Writer,
  ) => void;
}

/** An object to create. Fields that the server sets are optional. */
export type Draft<T extends { metadata: ObjectMeta }> = Omit<T, 'metadata'> & {
  metadata: Partial<ObjectMeta> & Pick<ObjectMeta, 'name'>;
};

const noted = (
  state: ClusterState,
  resource: Resource,
  meta: ObjectMeta,
  verb: AuditEntry['verb'],
  by: Writer,
): void => {
  state.audit.push({
    at: by.at,
    user: by.user,
    verb,
    resource,
    namespace: meta.namespace ?? '',
    name: meta.name,
    uid: meta.uid,
  });
};

const nextUid = (state: ClusterState): string => {
  state.uids += 1;
  return `00000000-0000-4000-8000-${state.uids.toString(16).padStart(12, '0')}`;
};

const createIn = <R extends Resource>(
  state: ClusterState,
  resource: R,
  draft: Draft<Resources[R]>,
  by: Writer,
): Resources[R] | undefined => {
  const shelf: Record<string, Resources[R]> = state.objects[resource];
  if (shelf[keyOf(draft.metadata)]) return undefined;
  state.revision += 1;
  const metadata: ObjectMeta = {
    ...structuredClone(draft.metadata),
    uid: nextUid(state),
    resourceVersion: String(state.revision),
    creationTimestamp: new Date(Math.floor(by.at / 1000) * 1000).toISOString().replace('.000Z', 'Z'),
  };
  const object = { ...structuredClone(draft), metadata } as Resources[R];
  shelf[keyOf(metadata)] = object;
  noted(state, resource, metadata, 'create', by);
  return structuredClone(object);
};

const standsInTheWay = (meta: ObjectMeta): boolean =>
  (meta.finalizers?.length ?? 0) > 0 || (meta.deletionGracePeriodSeconds ?? 0) > 0;

const updateIn = <R extends Resource>(
  state: ClusterState,
  resource: R,
  object: Resources[R],
  by: Writer,
): Resources[R] | undefined => {
  const shelf: Record<string, Resources[R]> = state.objects[resource];
  const known = shelf[keyOf(object.metadata)];
  if (!known || known.metadata.uid !== object.metadata.uid) return undefined;
  state.revision += 1;
  const written = structuredClone(object);
  written.metadata.resourceVersion = String(state.revision);
  const leaves = written.metadata.deletionTimestamp !== undefined && !standsInTheWay(written.metadata);
  if (leaves) delete shelf[keyOf(object.metadata)];
  else shelf[keyOf(object.metadata)] = written;
  noted(state, resource, object.metadata, leaves ? 'remove' : 'update', by);
  return structuredClone(written);
};

/** A pod without a node, or a finished pod, needs no grace period. A second delete can only shorten it. */
const podGrace = (state: ClusterState, meta: ObjectMeta, asked: number | undefined): number => {
  const pod = state.objects.pods[keyOf(meta)];
  if (!pod?.spec.nodeName || pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed') return 0;
  const seconds = asked ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  return meta.deletionTimestamp === undefined ? seconds : Math.min(seconds, meta.deletionGracePeriodSeconds ?? 0);
};

/** Returns the end of the grace period, counted from the first delete. */
const deletionTime = (meta: ObjectMeta, seconds: number, by: Writer): string => {
  const grace = (meta.deletionGracePeriodSeconds ?? 0) * 1000;
  const begun = meta.deletionTimestamp === undefined ? by.at : Date.parse(meta.deletionTimestamp) - grace;
  return new Date(begun + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
};

/** A pod that is deleted immediately still has a deletionTimestamp for one revision (measured). */
const showDoomed = <R extends Resource>(state: ClusterState, resource: R, doomed: Resources[R], by: Writer): void => {
  const shelf: Record<string, Resources[R]> = state.objects[resource];
  state.revision += 1;
  doomed.metadata.resourceVersion = String(state.revision);
  shelf[keyOf(doomed.metadata)] = structuredClone(doomed);
  noted(state, resource, doomed.metadata, 'update', by);
};

const deleteIn = <R extends Resource>(
  state: ClusterState,
  resource: R,
  object: Resources[R],
  grace: number | undefined,
  by: Writer,
): void => {
  const shelf: Record<string, Resources[R]> = state.objects[resource];
  const known = shelf[keyOf(object.metadata)];
  if (!known || known.metadata.uid !== object.metadata.uid) return;
  const seconds = resource === 'pods' ? podGrace(state, known.metadata, grace) : 0;
  if (known.metadata.deletionTimestamp !== undefined && seconds >= (known.metadata.deletionGracePeriodSeconds ?? 0))
    return;
  const doomed = structuredClone(known);
  doomed.metadata.deletionTimestamp = deletionTime(known.metadata, seconds, by);
  doomed.metadata.deletionGracePeriodSeconds = seconds;
  noted(state, resource, known.metadata, 'delete', by);
  if (resource === 'pods' && !standsInTheWay(doomed.metadata)) showDoomed(state, resource, doomed, by);
  updateIn(state, resource, doomed, by);
};

export const storeOf = (state: ClusterState): Store => ({
  state,
  get: (resource, name, namespace = '') => structuredClone(state.objects[resource][keyOf({ name, namespace })]),
  list: (resource) => structuredClone(Object.values(state.objects[resource])),
  create: (resource, object, by) => createIn(state, resource, object, by),
  update: (resource, object, by) => updateIn(state, resource, object, by),
  delete: (resource, object, grace, by) => deleteIn(state, resource, object, grace, by),
});
