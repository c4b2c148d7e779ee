import type { EventsV1Event } from '@kubernetes/client-node/dist/gen/index.js';
import { EventsV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import { V1MicroTime } from '@kubernetes/client-node/dist/types.js';
import type { Told } from '../fencing/cluster.ts';
import type { Writer } from './connection.ts';
import { EVENT_NAMESPACE, REPORTER } from './names.ts';

/** The most bytes that the API server takes in a note. */
const NOTE_BYTES = 1024;

/** Cut between characters, never inside one. */
const shortened = (message: string): string => {
  const bytes = Buffer.from(message);
  if (bytes.length <= NOTE_BYTES) return message;
  const cut = new TextDecoder().decode(bytes.subarray(0, NOTE_BYTES - 3), { stream: true });
  return `${cut}…`;
};

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ */
export const tell = async (
  writer: Writer,
  about: { readonly node: string; readonly uid: string | null },
  { type, reason, message }: Told,
  now: number,
): Promise<void> => {
  const body: EventsV1Event = {
    metadata: { generateName: 'cloudfence-', namespace: EVENT_NAMESPACE },
    eventTime: new V1MicroTime(now),
    regarding: { apiVersion: 'v1', kind: 'Node', name: about.node, ...(about.uid !== null && { uid: about.uid }) },
    reportingController: REPORTER,
    reportingInstance: REPORTER,
    action: reason,
    reason,
    type,
    note: shortened(message),
  };
  await writer.write(EventsV1Api, (events) => events.createNamespacedEvent({ namespace: EVENT_NAMESPACE, body }));
};
