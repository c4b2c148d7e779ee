import type { V1Pod } from '@kubernetes/client-node/dist/gen/index.js';
import { CoreV1Api } from '@kubernetes/client-node/dist/gen/index.js';
import type { Applied } from '../fencing/cluster.ts';
import type { PodTarget } from '../fencing/steps.ts';
import type { Desk } from './desk.ts';
import type { Reader } from './connection.ts';
import { deleting } from './deleting.ts';
import { saysAbsent, saysChanged } from './errors.ts';
import { isFinished } from './pod-facts.ts';

const readPod = (reader: Reader, { namespace, name }: PodTarget): Promise<V1Pod | null> =>
  reader.readIfPresent(CoreV1Api, (core) => core.readNamespacedPod({ namespace, name }));

/** Without grace: there is no kubelet left that could use it. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-forced */
export const deletePod = ({ reader, writer }: Desk, pod: PodTarget): Promise<Applied> => {
  const { namespace, name, uid } = pod;
  const body = { gracePeriodSeconds: 0, preconditions: { uid } };
  return deleting(
    uid,
    () => writer.write(CoreV1Api, (core) => core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0, body })),
    () => readPod(reader, pod),
  );
};

const failedStatus = ({ uid }: PodTarget) => [
  { op: 'test', path: '/metadata/uid', value: uid },
  { op: 'add', path: '/status/phase', value: 'Failed' },
  { op: 'add', path: '/status/reason', value: 'NodeFenced' },
  { op: 'add', path: '/status/message', value: 'The machine under the Node is off.' },
];

const isOver = (pod: V1Pod | null, { uid }: PodTarget): boolean => pod === null || pod.metadata?.uid !== uid || isFinished(pod);

/** Tells the Job controller that the pod is over, so that it lets go of its finalizer. */
export const failPod = async ({ reader, writer }: Desk, pod: PodTarget): Promise<Applied> => {
  if (isOver(await readPod(reader, pod), pod)) return 'already';
  const { namespace, name } = pod;
  try {
    await writer.write(CoreV1Api, (core) => core.patchNamespacedPodStatus({ namespace, name, body: failedStatus(pod) }));
    return 'done';
  } catch (error) {
    if (saysAbsent(error)) return 'already';
    if (saysChanged(error) && isOver(await readPod(reader, pod), pod)) return 'already';
    throw error;
  }
};
