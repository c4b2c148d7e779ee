import {
  ApiException,
  type V1ConfigMap,
  type V1Node,
  type V1Pod,
  type V1VolumeAttachment,
} from '@kubernetes/client-node/dist/gen/index.js';
import jsonPatch from 'fast-json-patch';
import type { Permit } from '../../fencing/model/permit.ts';
import { type Connection, objectReads, type Reader, type Writer } from '../../kubernetes/connection.ts';
import { toCloudfenceError } from '../../kubernetes/errors.ts';
import { LEDGER } from '../../kubernetes/names.ts';
import { underPermit } from '../../transport/under-permit.ts';
import { isDeleting, keyIn, nameOf, type Objects, type ObjectStore, uidOf } from './cluster-objects.ts';
import type { Keys } from './keys.ts';
import type { Network } from './network.ts';
import type { Process } from './process.ts';

/**
 * An API server behind the methods of the Kubernetes client. All of kubernetes/ runs on it. Only HTTP and its texts are
 * omitted.
 */

export type Write =
  | { readonly verb: 'patch'; readonly kind: 'node'; readonly before: V1Node; readonly after: V1Node }
  | { readonly verb: 'delete'; readonly kind: 'node'; readonly before: V1Node }
  | { readonly verb: 'delete' | 'fail'; readonly kind: 'pod'; readonly before: V1Pod }
  | { readonly verb: 'delete' | 'nudge'; readonly kind: 'attachment'; readonly before: V1VolumeAttachment }
  | {
      readonly verb: 'write';
      readonly kind: 'ledger';
      readonly before: V1ConfigMap | undefined;
      readonly after: V1ConfigMap;
    }
  /** `about`: the name of the object that the Event is about. */
  | { readonly verb: 'create'; readonly kind: 'event'; readonly about: string };

export interface Served {
  readonly objects: Objects;
  /** The text of the Lease of a kubelet, or null if there is none. */
  readonly leaseOf: (node: string) => string | null;
  readonly leases: () => readonly string[];
  /** Called with each write of Cloudfence that is about to take effect, and with its step. */
  readonly watch: (write: Write, tag: unknown) => void;
  readonly recordEvent: (reason: string) => void;
  /** The keys that it accepts, if people rotate them. */
  readonly keys?: Keys;
}

const declined = (code: number, reason: string, name: string): ApiException<string> =>
  new ApiException(
    code,
    reason,
    JSON.stringify({ kind: 'Status', reason, message: `${reason}: ${name}`, details: { name } }),
    {},
  );

const isRejection = (error: unknown): boolean => error instanceof ApiException && error.code === 401;
const notFound = (name: string): ApiException<string> => declined(404, 'NotFound', name);
const conflict = (name: string): ApiException<string> => declined(409, 'Conflict', name);
const invalid = (name: string): ApiException<string> => declined(422, 'Invalid', name);

const found = <T>(object: T | undefined, name: string): T => {
  if (object === undefined) throw notFound(name);
  return object;
};

interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

const refuseUnless = (
  { metadata }: { readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string } },
  { uid, resourceVersion }: Preconditions = {},
  name: string,
): void => {
  if (uid !== undefined && metadata?.uid !== uid) throw conflict(name);
  if (resourceVersion !== undefined && metadata?.resourceVersion !== resourceVersion) throw conflict(name);
};

/** A copy of everything that a patch of a Node may change. */
const copyOf = (node: V1Node): V1Node => ({
  ...node,
  metadata: {
    ...node.metadata,
    ...(node.metadata?.labels && { labels: { ...node.metadata.labels } }),
    ...(node.metadata?.annotations && { annotations: { ...node.metadata.annotations } }),
  },
  spec: { ...node.spec, ...(node.spec?.taints && { taints: node.spec.taints.map((taint) => ({ ...taint })) }) },
});

const patched = (node: V1Node, body: readonly jsonPatch.Operation[]): V1Node => {
  try {
    return jsonPatch.applyPatch(copyOf(node), [...body], true, true).newDocument;
  } catch (error) {
    if (error instanceof jsonPatch.JsonPatchError) throw invalid(nameOf(node));
    throw error;
  }
};

interface DeleteRequest {
  readonly name: string;
  readonly namespace?: string;
  readonly body?: { readonly preconditions?: Preconditions };
}

const hasFinalizers = ({ metadata }: V1VolumeAttachment): boolean => (metadata?.finalizers?.length ?? 0) > 0;

/** Deletes an attachment. The finalizer of its attacher keeps it until the disk is detached. */
export const deleteAttachmentIn = (
  shelf: ObjectStore<V1VolumeAttachment>,
  object: V1VolumeAttachment,
  now: Date,
): void => {
  if (!hasFinalizers(object)) return shelf.remove(nameOf(object));
  if (!isDeleting(object))
    shelf.put(nameOf(object), { ...object, metadata: { ...object.metadata, deletionTimestamp: now } });
};

/** Deletes a pod. A finalizer keeps it. */
export const deletePodIn = (shelf: ObjectStore<V1Pod>, pod: V1Pod, now: Date): void => {
  const key = keyIn(pod.metadata?.namespace ?? '', nameOf(pod));
  if ((pod.metadata?.finalizers?.length ?? 0) === 0) return shelf.remove(key);
  if (!isDeleting(pod)) shelf.put(key, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: now } });
};

/** Returns the name of the object of a write. */
export const targetOf = (write: Write): string => {
  if (write.kind === 'event') return write.about;
  return nameOf(write.kind === 'ledger' ? write.after : write.before);
};

/** What the server does, by the names of the client. `tag` names the step. */
const methodsOf = ({ objects, leaseOf, leases, watch, recordEvent }: Served, now: () => Date, tag: unknown) => ({
  readNode: ({ name }: { name: string }) => found(objects.nodes.get(name), name),
  listNode: ({ limit, labelSelector }: { limit?: number; labelSelector?: string } = {}) => {
    const [key = '', value = ''] = (labelSelector ?? '').split('=');
    const nodes = objects.nodes.all().filter(({ metadata }) => key === '' || metadata?.labels?.[key] === value);
    const items = nodes.slice(0, limit ?? nodes.length);
    return limit === 1
      ? { items, metadata: { remainingItemCount: nodes.length - items.length } }
      : { items: nodes, metadata: {} };
  },
  patchNode: ({ name, body }: { name: string; body: readonly jsonPatch.Operation[] }) => {
    const before = found(objects.nodes.get(name), name);
    const after = patched(before, body);
    watch({ verb: 'patch', kind: 'node', before, after }, tag);
    return objects.nodes.put(name, after);
  },
  deleteNode: ({ name, body }: DeleteRequest) => {
    const before = found(objects.nodes.get(name), name);
    refuseUnless(before, body?.preconditions, name);
    watch({ verb: 'delete', kind: 'node', before }, tag);
    objects.nodes.remove(name);
    return {};
  },
  listPodForAllNamespaces: ({ fieldSelector = '' }: { fieldSelector?: string }) => {
    const node = fieldSelector.replace('spec.nodeName=', '');
    return { items: objects.pods.all().filter(({ spec }) => spec?.nodeName === node), metadata: {} };
  },
  listNamespacedPod: ({ namespace }: { namespace: string }) => ({
    items: objects.pods.all().filter(({ metadata }) => metadata?.namespace === namespace),
    metadata: {},
  }),
  readNamespacedPod: ({ namespace, name }: { namespace: string; name: string }) =>
    found(objects.pods.get(keyIn(namespace, name)), name),
  deleteNamespacedPod: ({ namespace = '', name, body }: DeleteRequest) => {
    const before = found(objects.pods.get(keyIn(namespace, name)), name);
    refuseUnless(before, body?.preconditions, name);
    watch({ verb: 'delete', kind: 'pod', before }, tag);
    deletePodIn(objects.pods, before, now());
    return {};
  },
  patchNamespacedPodStatus: ({
    namespace,
    name,
    body,
  }: {
    namespace: string;
    name: string;
    body: readonly { readonly op: string; readonly value: unknown }[];
  }) => {
    const before = found(objects.pods.get(keyIn(namespace, name)), name);
    if (body.some(({ op, value }) => op === 'test' && value !== uidOf(before))) throw invalid(name);
    watch({ verb: 'fail', kind: 'pod', before }, tag);
    return objects.pods.put(keyIn(namespace, name), { ...before, status: { ...before.status, phase: 'Failed' } });
  },
  readPersistentVolume: ({ name }: { name: string }) => found(objects.volumes.get(name), name),
  readNamespacedPersistentVolumeClaim: ({ namespace, name }: { namespace: string; name: string }) =>
    found(objects.claims.get(keyIn(namespace, name)), name),
  readNamespacedConfigMap: ({ namespace, name }: { namespace: string; name: string }) =>
    found(objects.maps.get(keyIn(namespace, name)), name),
  createNamespacedConfigMap: ({
    namespace,
    body,
  }: {
    namespace: string;
    body: { readonly metadata: { readonly name: string }; readonly data: Readonly<Record<string, string>> };
  }) => {
    const key = keyIn(namespace, body.metadata.name);
    if (objects.maps.get(key)) throw conflict(body.metadata.name);
    watch({ verb: 'write', kind: 'ledger', before: undefined, after: body }, tag);
    return objects.maps.put(key, body);
  },
  patchNamespacedConfigMap: ({
    namespace,
    name,
    body,
  }: {
    namespace: string;
    name: string;
    body: {
      readonly metadata?: Preconditions;
      readonly data: Readonly<Record<string, string>>;
    };
  }) => {
    const key = keyIn(namespace, name);
    const before = found(objects.maps.get(key), name);
    refuseUnless(before, body.metadata, name);
    const after = { ...before, data: { ...before.data, ...body.data } };
    watch({ verb: 'write', kind: 'ledger', before, after }, tag);
    return objects.maps.put(key, after);
  },
  readCSINode: ({ name }: { name: string }) => found(objects.csiNodes.get(name), name),
  readVolumeAttachment: ({ name }: { name: string }) => found(objects.attachments.get(name), name),
  listVolumeAttachment: () => ({ items: objects.attachments.all(), metadata: {} }),
  deleteVolumeAttachment: ({ name, body }: DeleteRequest) => {
    const before = found(objects.attachments.get(name), name);
    refuseUnless(before, body?.preconditions, name);
    watch({ verb: 'delete', kind: 'attachment', before }, tag);
    deleteAttachmentIn(objects.attachments, before, now());
    return {};
  },
  patchVolumeAttachment: ({
    name,
    body,
  }: {
    name: string;
    body: {
      readonly metadata: { readonly uid: string; readonly annotations: Readonly<Record<string, string | null>> };
    };
  }) => {
    const before = found(objects.attachments.get(name), name);
    if (uidOf(before) !== body.metadata.uid) throw conflict(name);
    watch({ verb: 'nudge', kind: 'attachment', before }, tag);
    const merged = { ...before.metadata?.annotations, ...body.metadata.annotations };
    const annotations = Object.fromEntries(
      Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null),
    );
    return objects.attachments.put(name, { ...before, metadata: { ...before.metadata, annotations } });
  },
  readNamespacedLease: ({ name }: { name: string }) => ({
    metadata: { name },
    spec: { renewTime: found(leaseOf(name) ?? undefined, name) },
  }),
  listNamespacedLease: () => ({
    items: leases().map((name) => ({ metadata: { name }, spec: { renewTime: leaseOf(name) ?? undefined } })),
    metadata: {},
  }),
  createNamespacedEvent: ({
    body,
  }: {
    body: { readonly reason?: string; readonly regarding?: { readonly name?: string } };
  }) => {
    watch({ verb: 'create', kind: 'event', about: body.regarding?.name ?? '' }, tag);
    recordEvent(body.reason ?? '');
    return {};
  },
  getCode: () => ({ gitVersion: 'v1.36.3' }),
});

const READS = /^(?:read|list|get)/;

/** Returns an answer to a request for only the metadata of the objects. */
const metadataIn = (answer: object): object => {
  if ('items' in answer && Array.isArray(answer.items)) return { ...answer, items: answer.items.map(metadataIn) };
  return { metadata: 'metadata' in answer ? answer.metadata : undefined };
};

/** Returns the connection of a process to the API server. Each call passes the network. */
export const connect = (served: Served, network: Network, process: Process, tag: unknown = null): Connection => {
  const now = (): Date => new Date(process.clock.now().wall);
  const methods = Object.entries(methodsOf(served, now, tag));
  const asking = (
    signal: AbortSignal,
    permit: Permit | null,
    shown: (answer: object) => object = (answer) => answer,
  ) => {
    const sent = methods.map(([method, perform]) => {
      const sendWith = (wanted: never, through: AbortSignal | undefined, isValid: () => boolean) =>
        network.call(process, {
          service: 'kubernetes',
          name: method,
          signal: through,
          isWrite: permit !== null,
          throttled: () => declined(429, 'TooManyRequests', method),
          failed: () => declined(503, 'ServiceUnavailable', method),
          denied: () => declined(401, 'Unauthorized', method),
          arrives: () => {
            if (!isValid()) throw declined(401, 'Unauthorized', method);
            return shown(perform(wanted));
          },
        });
      const send = (wanted: never, through: AbortSignal | undefined) =>
        served.keys
          ? served.keys.toCluster(process, permit, {
              send: (isValid) => sendWith(wanted, through, isValid),
              isRejection,
            })
          : sendWith(wanted, through, () => true);
      const permitted = (wanted: never) =>
        permit === null || READS.test(method)
          ? send(wanted, signal)
          : underPermit({ name: method, permit, signal }, async (passage) => {
              passage.check();
              return send(wanted, passage.signal);
            });
      return [method, permitted] as const;
    });
    const own = Object.fromEntries(sent);
    const ask: Reader['read'] = async <Api, T>(_api: new (...options: never) => Api, ask: (api: Api) => Promise<T>) => {
      try {
        const client: Api = Object(own);
        return await ask(client);
      } catch (error) {
        throw toCloudfenceError(error, 'a request');
      }
    };
    return ask;
  };
  const reader = (signal: AbortSignal): Reader => {
    const read = asking(signal, null);
    return {
      read,
      ...objectReads(read),
      readMetadata: asking(signal, null, metadataIn),
    };
  };
  const writer = (permit: Permit | null, signal: AbortSignal): Writer => {
    const patch = asking(signal, permit, metadataIn);
    return { write: asking(signal, permit), jsonPatch: patch, mergePatch: patch };
  };
  const clock = {
    now: () => process.clock.now().wall,
    sleep: process.clock.sleep,
    deadline: process.clock.timeout,
  };
  return { clock, reader, writer, close: async () => undefined };
};

/** The ledger, as the manifest creates it. */
export const createLedger = ({ maps }: Objects): void =>
  void maps.put(keyIn(LEDGER.namespace, LEDGER.name), { metadata: { name: LEDGER.name, namespace: LEDGER.namespace } });
