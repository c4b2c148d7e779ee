import type { Condition, PodObject, PodSpec, Toleration, WorkloadObject } from '../objects.ts';
import type { Draft } from '../store.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { notReady, unreachable } from './taints.ts';
import { timestamp } from './times.ts';

export const isFinished = (pod: PodObject): boolean =>
  pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';

export const isActive = (pod: PodObject): boolean => !isFinished(pod) && !pod.metadata.deletionTimestamp;

export const isReadyPod = (pod: PodObject): boolean =>
  pod.status.phase === 'Running' &&
  (pod.status.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');

const runsContainer = (pod: PodObject): boolean =>
  (pod.status.containerStatuses ?? []).some((status) => status.state?.running !== undefined);

/**
 * Attach-detach's rule: a pod uses its volumes until it has finished, or until it is being deleted and has no running
 * containers.
 */
export const wantsVolumes = (pod: PodObject): boolean =>
  !isFinished(pod) && !(pod.metadata.deletionTimestamp !== undefined && !runsContainer(pod));

export const ownedBy = (pod: PodObject, owner: WorkloadObject): boolean =>
  (pod.metadata.ownerReferences ?? []).some((reference) => reference.uid === owner.metadata.uid);

const defaultTolerations = [notReady, unreachable].map((key): Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

/**
 * The API's default grace, and admission's DefaultTolerationSeconds: 300 s for not-ready and unreachable, unless the
 * pod has its own tolerations for them.
 */
export const withDefaults = (spec: PodSpec): PodSpec => {
  const own = spec.tolerations ?? [];
  const missing = defaultTolerations.filter(
    ({ key }) =>
      !own.some((toleration) => (toleration.key ?? key) === key && (toleration.effect ?? 'NoExecute') === 'NoExecute'),
  );
  return { terminationGracePeriodSeconds: 30, ...spec, tolerations: [...own, ...missing] };
};

export const podOf = (owner: WorkloadObject, name: string, spec: PodSpec): Draft<PodObject> => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: owner.metadata.namespace ?? 'default',
    ...(owner.spec.template.metadata.labels && { labels: owner.spec.template.metadata.labels }),
    ...(owner.spec.template.metadata.annotations && { annotations: owner.spec.template.metadata.annotations }),
    ownerReferences: [
      {
        apiVersion: owner.apiVersion,
        kind: owner.kind,
        name: owner.metadata.name,
        uid: owner.metadata.uid,
        controller: true,
      },
    ],
  },
  spec: withDefaults(structuredClone(spec)),
  status: { phase: 'Pending' },
});

/** Returns the five characters at the end of a generated name. */
export const randomSuffix = (world: ClusterWorld): string => {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length: 5 }, () => letters[Math.floor(world.random() * letters.length)] ?? 'x').join('');
};

/** Replaces the condition of the same type. The transition time changes only if the status changes. */
export const withCondition = (
  conditions: readonly Condition[] | undefined,
  condition: Condition,
  at: number,
): Condition[] => {
  const known = conditions?.find((other) => other.type === condition.type);
  const lastTransitionTime =
    known?.status === condition.status ? (known.lastTransitionTime ?? timestamp(at)) : timestamp(at);
  return [...(conditions ?? []).filter((other) => other.type !== condition.type), { ...condition, lastTransitionTime }];
};
