import {
  CoreV1Api,
  type V1OwnerReference,
  type V1PersistentVolume,
  type V1Pod,
  type V1Toleration,
} from '@kubernetes/client-node/dist/gen/index.js';
import { isObjectName, type PodFacts } from '../fencing/model/cluster-facts.ts';
import type { StepResult } from '../fencing/model/cluster.ts';
import type { PodTarget } from '../fencing/model/steps.ts';
import { deleteByUid, type ApiSession, pages, type Reader } from './connection.ts';
import { isNotFound, isPreconditionFailed } from './errors.ts';
import { MIRROR_POD, OUT_OF_SERVICE } from './names.ts';
import { optOutOfPod } from './node.ts';
import {
  pvcKey,
  pvcsOfPod,
  csiHandleOf,
  inlineBackings,
  inlineHandles,
  hasUnknownBacking,
  volumeKey,
} from './volumes.ts';

/** Pods: reading them, the facts that a fence needs, and how they are deleted. */

/** Lists all pods that are bound to the Node's name. An impossible Node name would become another selector. */
export const readNodePods = async (reader: Reader, node: string): Promise<readonly V1Pod[]> => {
  if (!isObjectName(node)) return [];
  const pods: V1Pod[] = [];
  const readPage = (paging: { limit: number; _continue?: string }) =>
    reader.read(CoreV1Api, (core) =>
      core.listPodForAllNamespaces({ ...paging, fieldSelector: `spec.nodeName=${node}` }),
    );
  for await (const page of pages(readPage)) pods.push(...page);
  return pods;
};

/** Returns the facts about a pod. Claims and volumes whose volume is unknown are listed as unresolved. */
export const podFactsOf = (pod: V1Pod, claimed: ReadonlyMap<string, V1PersistentVolume>): PodFacts => {
  const claims = pvcsOfPod(pod).map((claim) => [pvcKey(claim), claimed.get(pvcKey(claim))] as const);
  const handles = [...claims.flatMap(([, volume]) => (volume && csiHandleOf(volume)) ?? []), ...inlineHandles([pod])];
  const unresolved = [
    ...claims.filter(([, volume]) => !volume || hasUnknownBacking(volume)).map(([claim]) => claim),
    ...inlineBackings(pod)
      .filter(([, backing]) => backing === 'unknown')
      .map(([name]) => `volume ${name}`),
  ];
  return podFacts(pod, { volumes: [...new Set(handles.map(volumeKey))], unresolved });
};

export const controllerOf = ({ metadata }: Pick<V1Pod, 'metadata'>): V1OwnerReference | undefined =>
  metadata?.ownerReferences?.find(({ controller }) => controller);

const kindOf = (pod: V1Pod): PodFacts['kind'] => {
  if (pod.metadata?.annotations?.[MIRROR_POD] !== undefined) return 'mirror';
  switch (controllerOf(pod)?.kind) {
    case 'DaemonSet':
      return 'daemon';
    case 'Job':
      return 'job';
    default:
      return 'other';
  }
};

export const isFinished = ({ status }: V1Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

const podFacts = (pod: V1Pod, uses: Pick<PodFacts, 'volumes' | 'unresolved'>): PodFacts => {
  const { metadata, spec } = pod;
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    owner: controllerOf(pod)?.uid ?? null,
    priority: spec?.priority ?? 0,
    kind: kindOf(pod),
    finished: isFinished(pod),
    deleting: metadata?.deletionTimestamp !== undefined,
    finalizers: (metadata?.finalizers ?? []).length > 0,
    tolerates: toleratesOutOfService(pod),
    optOut: optOutOfPod(metadata),
    ...uses,
  };
};

/**
 * Returns whether a toleration applies to the out-of-service taint: it names the taint, with any effect, or it
 * tolerates everything. A toleration of every taint with one effect does not count.
 */
const isForOutOfService = ({ key = '', operator, effect = '' }: V1Toleration): boolean =>
  key === OUT_OF_SERVICE.key || (operator === 'Exists' && key === '' && effect === '');

/** Returns whether the pod should stay on a Node that is out of service, as a CSI node plugin does. */
export const toleratesOutOfService = ({ spec }: V1Pod): boolean => (spec?.tolerations ?? []).some(isForOutOfService);

export const readPod = (
  reader: Reader,
  { namespace, name }: Pick<PodTarget, 'namespace' | 'name'>,
): Promise<V1Pod | null> =>
  reader.readIfPresent(CoreV1Api, { namespace, name }, (core, key) => core.readNamespacedPod(key));

/**
 * Deletes a pod without a grace period, because its kubelet cannot use one.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-forced
 */
export const deletePod = ({ reader, writer }: ApiSession, pod: PodTarget): Promise<StepResult> => {
  const { namespace, name, uid } = pod;
  const body = { gracePeriodSeconds: 0, preconditions: { uid } };
  return deleteByUid(
    uid,
    () => writer.write(CoreV1Api, (core) => core.deleteNamespacedPod({ namespace, name, body })),
    () => readPod(reader, pod),
  );
};

const failedStatus = ({ uid }: PodTarget) => [
  { op: 'test', path: '/metadata/uid', value: uid },
  { op: 'add', path: '/status/phase', value: 'Failed' },
  { op: 'add', path: '/status/reason', value: 'NodeFenced' },
  { op: 'add', path: '/status/message', value: 'The machine under the Node is off.' },
];

const isOver = (pod: V1Pod | null, { uid }: PodTarget): boolean =>
  pod === null || pod.metadata?.uid !== uid || isFinished(pod);

/** Sets a pod to Failed, so that the Job controller sees its end and removes its finalizer. */
export const markPodFailed = async ({ reader, writer }: ApiSession, pod: PodTarget): Promise<StepResult> => {
  if (isOver(await readPod(reader, pod), pod)) return 'already';
  const { namespace, name } = pod;
  try {
    await writer.jsonPatch(CoreV1Api, (core) =>
      core.patchNamespacedPodStatus({ namespace, name, body: failedStatus(pod) }),
    );
    return 'done';
  } catch (error) {
    if (isNotFound(error)) return 'already';
    if (isPreconditionFailed(error) && isOver(await readPod(reader, pod), pod)) return 'already';
    throw error;
  }
};
