import {
  AppsV1Api,
  BatchV1Api,
  type V1Deployment,
  type V1Job,
  type V1PodTemplateSpec,
  type V1StatefulSet,
} from '@kubernetes/client-node/dist/gen/index.js';
import type { EventView, OwnerView, WorkloadView } from '../../diagnosis/model/facts.ts';
import type { ShortWorkloadView } from '../../diagnosis/model/without-pod.ts';
import type { DiagnosisReading } from '../../diagnosis/ports.ts';
import { pages, type Reader } from '../connection.ts';
import { pvcsOfPod } from '../volumes.ts';
import { MOST_STUCK, type ReadCache, unread } from './diagnosis-volumes.ts';
import { ownerView } from './diagnosis-views.ts';

/** The reads of workloads for a diagnosis: what controls a pod, and which workloads lack pods. */

export const workloadReads = (
  reader: Reader,
  { allowed, single }: ReadCache,
): Pick<DiagnosisReading, 'workload' | 'shortWorkloads'> => {
  const lists = [statefulSets, deployments, jobs].map((list) => single(() => list(reader), []));
  return {
    workload: (namespace, owner) => allowed(() => readWorkload(reader, namespace, owner), unread),
    shortWorkloads: async () => (await Promise.all(lists.map((list) => list()))).flat(),
  };
};

type Paging = { readonly limit: number; readonly _continue?: string };

const collect = async <T>(
  readPage: Parameters<typeof pages<T>>[0],
  view: (object: T) => ShortWorkloadView | null,
): Promise<readonly ShortWorkloadView[]> => {
  const found: ShortWorkloadView[] = [];
  for await (const page of pages(readPage)) {
    found.push(...page.map(view).filter((one) => one !== null));
    if (found.length >= MOST_STUCK) break;
  }
  return found;
};

const hasClaims = ({ spec }: V1PodTemplateSpec): boolean =>
  pvcsOfPod({ metadata: { name: '' }, ...(spec && { spec }) }).length > 0;

const shortWorkload = (
  kind: ShortWorkloadView['kind'],
  { metadata }: Pick<V1StatefulSet, 'metadata'>,
  more: Partial<ShortWorkloadView> = {},
): ShortWorkloadView => ({
  kind,
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
  podNames: [],
  claimTemplates: [],
  ordered: false,
  refused: null,
  ...more,
});

/** Whether a pod of the StatefulSet is missing follows from its pods. Its status only leaves out the complete ones. */
const shortStatefulSet = (set: V1StatefulSet): ShortWorkloadView | null => {
  const { metadata, spec, status } = set;
  const { replicas = 1, volumeClaimTemplates = [], ordinals, podManagementPolicy, template } = spec ?? {};
  const isComplete = (status?.replicas ?? 0) >= replicas;
  const isConcerned = volumeClaimTemplates.length > 0 || (template !== undefined && hasClaims(template));
  if (isComplete || !isConcerned || metadata?.deletionTimestamp !== undefined) return null;
  const first = ordinals?.start ?? 0;
  return shortWorkload('StatefulSet', set, {
    podNames: Array.from(
      { length: Math.min(replicas, MOST_STUCK) },
      (_, at) => `${metadata?.name ?? ''}-${first + at}`,
    ),
    claimTemplates: volumeClaimTemplates.map((claim) => claim.metadata?.name ?? ''),
    ordered: podManagementPolicy !== 'Parallel',
  });
};

const statefulSets = (reader: Reader) =>
  collect(
    (paging: Paging) => reader.read(AppsV1Api, (apps) => apps.listStatefulSetForAllNamespaces(paging)),
    shortStatefulSet,
  );

/** The Deployment copies this condition from its ReplicaSet, which sets it when it cannot create a pod. */
const refusalOf = ({ status }: V1Deployment): EventView | null => {
  const failure = status?.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True');
  if (!failure) return null;
  const at = (failure.lastUpdateTime ?? failure.lastTransitionTime)?.getTime() ?? 0;
  return { reason: failure.reason ?? '', says: failure.message ?? '', at };
};

const shortDeployment = (deployment: V1Deployment): ShortWorkloadView | null => {
  const refused = refusalOf(deployment);
  const { template } = deployment.spec ?? {};
  return refused && template && hasClaims(template) ? shortWorkload('Deployment', deployment, { refused }) : null;
};

const deployments = (reader: Reader) =>
  collect(
    (paging: Paging) => reader.read(AppsV1Api, (apps) => apps.listDeploymentForAllNamespaces(paging)),
    shortDeployment,
  );

/** A Job has no condition for a pod that cannot be created. Only its events say so. */
const shortJob = (job: V1Job): ShortWorkloadView | null => {
  const { spec, status } = job;
  const isOver = status?.conditions?.some(({ type, status: is }) => /^(Complete|Failed)$/.test(type) && is === 'True');
  if (isOver || spec?.suspend || (status?.active ?? 0) > 0 || !spec || !hasClaims(spec.template)) return null;
  return shortWorkload('Job', job);
};

const jobs = (reader: Reader) =>
  collect((paging: Paging) => reader.read(BatchV1Api, (batch) => batch.listJobForAllNamespaces(paging)), shortJob);

const REVISION = 'deployment.kubernetes.io/revision';

const withoutRollout = (owner: OwnerView, revision: string | null): WorkloadView => ({
  ...owner,
  revision,
  replicas: null,
  surges: false,
});

/** A percentage of maxSurge is rounded up, so any value except zero means at least one pod. The default is 25 %. */
const maySurge = ({ spec }: V1Deployment): boolean => {
  const strategy = spec?.strategy;
  if (strategy?.type === 'Recreate') return false;
  const surge: unknown = strategy?.rollingUpdate?.maxSurge ?? '25%';
  return Number.parseInt(String(surge), 10) > 0;
};

const readDeployment = async (
  reader: Reader,
  namespace: string,
  owner: OwnerView,
  revision: string | null,
): Promise<WorkloadView> => {
  const found = await reader.readIfPresent(AppsV1Api, { namespace, name: owner.name }, (api, key) =>
    api.readNamespacedDeployment(key),
  );
  if (found === null) return withoutRollout(owner, revision);
  return { ...owner, revision, replicas: found.spec?.replicas ?? 1, surges: maySurge(found) };
};

/** Returns what controls a pod: its owner, or what is behind its ReplicaSet, such as a Deployment or a Rollout. */
const readWorkload = async (reader: Reader, namespace: string, owner: OwnerView): Promise<WorkloadView> => {
  if (owner.kind === 'Deployment') return readDeployment(reader, namespace, owner, null);
  if (owner.kind !== 'ReplicaSet') return withoutRollout(owner, null);
  const set = await reader.readIfPresent(AppsV1Api, { namespace, name: owner.name }, (api, key) =>
    api.readNamespacedReplicaSet(key),
  );
  const owningController = set && ownerView(set);
  const revision = set?.metadata?.annotations?.[REVISION] ?? null;
  return owningController?.kind === 'Deployment'
    ? readDeployment(reader, namespace, owningController, revision)
    : withoutRollout(owningController ?? owner, revision);
};
