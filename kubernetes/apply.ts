import {
  CoreV1Api,
  EventsV1Api,
  type EventsV1Event,
  type V1Node,
  type V1ObjectReference,
} from '@kubernetes/client-node/dist/gen/index.js';
import { V1MicroTime } from '@kubernetes/client-node/dist/types.js';
import type { ClusterEvent, EventSubject, StepResult } from '../fencing/model/cluster.ts';
import { Refused } from '../fencing/model/errors.ts';
import type { ClusterStep, NodeTarget } from '../fencing/model/steps.ts';
import { deleteAttachment, setNudge } from './attachments.ts';
import { deleteByUid, type ApiSession, type Writer, type CallClock, type Reader } from './connection.ts';
import { hasNoRoomForAnnotations, isPreconditionFailed } from './errors.ts';
import { fencePatch, type FenceStep, liftWithoutRecord } from './fence-patch.ts';
import type { NodePatch } from './node-patch.ts';
import { EVENT_NAMESPACE, EVENT_REPORTER, OUT_OF_SERVICE, QUARANTINE } from './names.ts';
import { readNode } from './node.ts';
import { deletePod, markPodFailed } from './pods.ts';
import type { Recheck } from '../fencing/model/cluster-facts.ts';
import { readLease } from './leases.ts';
import { fenceAnnotation, hasOwnTaint, hasTaint } from './node-facts.ts';

/** Takes one step in the cluster, and reads the facts that must be checked right before it. */

/** The access with which a step is applied, and the result of its recheck. */
export interface StepSession extends ApiSession {
  readonly rechecks: Rechecks;
}

const expectationOf = ({ name, uid, bootID, recordText }: NodeTarget): string =>
  `Node ${name} has changed since Cloudfence read it: uid ${uid}, boot ${bootID}, ` +
  `${recordText === null ? 'no fence' : 'its fence'}, and its taints`;

const whyRejected = (error: unknown, target: NodeTarget): string =>
  hasNoRoomForAnnotations(error)
    ? `the annotations of Node ${target.name} leave no room for a record: remove some`
    : expectationOf(target);

/**
 * Sends the patch of a Node. A kubelet can fill the annotations of its Node, so that no record can be written. Our
 * taint is removed from such a Node without a new record. A person's release then needs a shorter record, and is
 * rejected if not even that one has room.
 */
const sendPatch = async (writer: Writer, node: V1Node, step: FenceStep, body: NodePatch): Promise<void> => {
  const send = (patch: NodePatch) =>
    writer.jsonPatch(CoreV1Api, (core) => core.patchNode({ name: step.node.name, body: patch }));
  try {
    await send(body);
  } catch (error) {
    const withoutRecord =
      step.do === 'lift-out-of-service' && hasNoRoomForAnnotations(error) ? liftWithoutRecord(node, step) : null;
    if (withoutRecord === null) throw error;
    await send(withoutRecord);
  }
};

const patchFence = async (session: StepSession, step: FenceStep): Promise<StepResult> => {
  const { reader, writer, rechecks } = session;
  const { name } = step.node;
  const node = rechecks.takeNode(name) ?? (await readNode(reader, name));
  if (!node) throw new Refused(`Node ${name} no longer exists`);
  const body = fencePatch(node, step);
  if (body === 'already') return 'already';
  try {
    await sendPatch(writer, node, step, body);
  } catch (error) {
    throw isPreconditionFailed(error) ? new Refused(whyRejected(error, step.node), { cause: error }) : error;
  }
  return 'done';
};

/**
 * Deletes exactly the Node that was read after the proof. If the kubelet has come back, it has written to the Node
 * since then, and the precondition on resourceVersion fails.
 */
const deleteNode = (session: ApiSession, { name, uid, resourceVersion }: NodeTarget): Promise<StepResult> =>
  deleteByUid(
    uid,
    () =>
      session.writer.write(CoreV1Api, (core) =>
        core.deleteNode({ name, body: { preconditions: { uid, resourceVersion } } }),
      ),
    () => readNode(session.reader, name),
  );

/** Applies one step: sends one write once, with its preconditions in the request. */
export const applyStep = (session: StepSession, step: ClusterStep): Promise<StepResult> => {
  switch (step.do) {
    case 'mark':
    case 'note':
    case 'park':
    case 'lift-out-of-service':
    case 'release-node':
    case 'set-tombstone':
    case 'note-stopping':
      return patchFence(session, step);
    case 'fail-pod':
      return markPodFailed(session, step.pod);
    case 'delete-pod':
      return deletePod(session, step.pod);
    case 'delete-attachment':
      return deleteAttachment(session, step.attachment);
    case 'nudge':
      return setNudge(session, step.attachment, step.on);
    case 'delete-node':
      return deleteNode(session, step.node);
  }
};

/** The most bytes that the API server accepts in the note of an Event. */
const NOTE_BYTES = 1024;

/** Shortens a message to `NOTE_BYTES`. Cuts only between characters. */
const shortened = (message: string): string => {
  const bytes = Buffer.from(message);
  if (bytes.length <= NOTE_BYTES) return message;
  const cut = new TextDecoder().decode(bytes.subarray(0, NOTE_BYTES - 3), { stream: true });
  return `${cut}…`;
};

/** Events about Nodes are in a fixed namespace, and Events about a pod are in the pod's namespace. */
const namespaceOf = (about: EventSubject): string => (about.kind === 'Pod' ? about.namespace : EVENT_NAMESPACE);

const referenceTo = (about: EventSubject): V1ObjectReference => ({
  apiVersion: 'v1',
  kind: about.kind,
  name: about.name,
  ...(about.kind === 'Pod' && { namespace: about.namespace }),
  ...(about.uid !== null && { uid: about.uid }),
});

/**
 * Creates an Event.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
export const recordEvent = async (
  writer: Writer,
  about: EventSubject,
  { type, reason, message }: ClusterEvent,
  now: number,
): Promise<void> => {
  const namespace = namespaceOf(about);
  const body: EventsV1Event = {
    metadata: { generateName: 'cloudfence-', namespace },
    eventTime: new V1MicroTime(now),
    regarding: referenceTo(about),
    reportingController: EVENT_REPORTER,
    reportingInstance: EVENT_REPORTER,
    action: reason,
    reason,
    type,
    note: shortened(message),
  };
  await writer.write(EventsV1Api, (events) => events.createNamespacedEvent({ namespace, body }));
};

/**
 * How long (ms) a Node from a look or a recheck may be used for the patch of the next step. The patch tests everything
 * on which it depends, so an older Node would only cause more refusals.
 */
const NODE_REUSED_FOR_MS = 500;

/** The rechecks of one cluster. */
export interface Rechecks {
  /** Reads again what a step depends on: the Node's uid, record, and taints, and the Lease. */
  readonly read: (reader: Reader, node: string) => Promise<Recheck>;
  /** Stores a Node that was requested at this time (ms). */
  readonly keepNode: (node: V1Node, at: number) => void;
  /** Returns the stored Node once, or null if it must be read again. */
  readonly takeNode: (node: string) => V1Node | null;
}

const recheckedFacts = (node: V1Node | null, lease: string | null): Recheck => ({
  uid: node?.metadata?.uid ?? null,
  recordText: node && fenceAnnotation(node),
  taints: {
    outOfService: node !== null && hasTaint(node, OUT_OF_SERVICE.key),
    ours: node !== null && hasOwnTaint(node),
    quarantine: node !== null && hasTaint(node, QUARANTINE.key),
  },
  lease,
});

export const createRechecks = ({ now }: Pick<CallClock, 'now'>): Rechecks => {
  const lately = new Map<string, { readonly node: V1Node; readonly at: number }>();
  const isFresh = (at: number): boolean => Math.abs(now() - at) < NODE_REUSED_FOR_MS;
  const keepNode: Rechecks['keepNode'] = (node, at) => {
    for (const [name, found] of lately) if (!isFresh(found.at)) lately.delete(name);
    lately.set(node.metadata?.name ?? '', { node, at });
  };
  return {
    keepNode,
    read: async (reader, name) => {
      const at = now();
      const [node, lease] = await Promise.all([readNode(reader, name), readLease(reader, name)]);
      if (node) keepNode(node, at);
      return recheckedFacts(node, lease);
    },
    takeNode: (name) => {
      const found = lately.get(name);
      lately.delete(name);
      return found && isFresh(found.at) ? found.node : null;
    },
  };
};
