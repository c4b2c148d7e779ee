import type {
  V1ConfigMap,
  V1CSINode,
  V1Node,
  V1ObjectMeta,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1VolumeAttachment,
} from '@kubernetes/client-node/dist/gen/index.js';
import { EPOCH } from './process.ts';

/**
 * The objects of a cluster, in the form of the client. An object never changes: each write replaces it with a new one.
 */
export interface Objects {
  readonly nodes: ObjectStore<V1Node>;
  readonly pods: ObjectStore<V1Pod>;
  readonly attachments: ObjectStore<V1VolumeAttachment>;
  readonly volumes: ObjectStore<V1PersistentVolume>;
  readonly claims: ObjectStore<V1PersistentVolumeClaim>;
  readonly csiNodes: ObjectStore<V1CSINode>;
  readonly maps: ObjectStore<V1ConfigMap>;
}

interface Stored {
  readonly metadata?: V1ObjectMeta;
}

export interface ObjectStore<T extends Stored> {
  readonly get: (key: string) => T | undefined;
  readonly all: () => readonly T[];
  /** Writes the object with a new resourceVersion. A new object gets a uid and a time. */
  readonly put: (key: string, object: T) => T;
  readonly remove: (key: string) => void;
}

/** Returns a time of the engine (ms) as a Lease shows it, with the last three digits of its microseconds. */
export const renewTimeAt = (at: number, micros: number): string =>
  `${new Date(EPOCH + at).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;

/** Returns the name of an object, with its namespace. */
export const keyIn = (namespace: string, name: string): string => `${namespace}/${name}`;

export const nameOf = ({ metadata }: Stored): string => metadata?.name ?? '';
export const uidOf = ({ metadata }: Stored): string => metadata?.uid ?? '';
export const isDeleting = ({ metadata }: Stored): boolean => metadata?.deletionTimestamp !== undefined;

export const createObjects = (now: () => number, onWrite: () => void): Objects => {
  let revision = 0;
  let uids = 0;
  const newUid = (): string => `00000000-0000-4000-8000-${(uids += 1).toString(16).padStart(12, '0')}`;
  const shelf = <T extends Stored>(): ObjectStore<T> => {
    const objects = new Map<string, T>();
    return {
      get: (key) => objects.get(key),
      all: () => [...objects.values()],
      put: (key, object) => {
        revision += 1;
        const metadata = {
          creationTimestamp: new Date(EPOCH + Math.floor(now() / 1_000) * 1_000),
          ...object.metadata,
          uid: object.metadata?.uid ?? newUid(),
          resourceVersion: String(revision),
        };
        const written = { ...object, metadata };
        objects.set(key, written);
        onWrite();
        return written;
      },
      remove: (key) => {
        if (objects.delete(key)) onWrite();
      },
    };
  };
  return {
    nodes: shelf<V1Node>(),
    pods: shelf<V1Pod>(),
    attachments: shelf<V1VolumeAttachment>(),
    volumes: shelf<V1PersistentVolume>(),
    claims: shelf<V1PersistentVolumeClaim>(),
    csiNodes: shelf<V1CSINode>(),
    maps: shelf<V1ConfigMap>(),
  };
};

type Taints = NonNullable<NonNullable<V1Node['spec']>['taints']>;

export const taintsOf = ({ spec }: V1Node): Taints => spec?.taints ?? [];
export const hasTaintKey = (node: V1Node | undefined, key: string): boolean =>
  node !== undefined && taintsOf(node).some((taint) => taint.key === key);

export const withTaints = (node: V1Node, taints: Taints): V1Node => ({ ...node, spec: { ...node.spec, taints } });

export const isReady = ({ status }: V1Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/** Returns since when the Node is Ready, or is not (epoch ms). */
export const readySince = ({ status }: V1Node): number =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime?.getTime() ?? 0;

export const bootOf = ({ status }: V1Node): string => status?.nodeInfo?.bootID ?? '';
