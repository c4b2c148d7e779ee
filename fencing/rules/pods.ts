import type { PodFacts } from '../model/cluster-facts.ts';
import { timing } from '../model/policy.ts';
import { because } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { type PodTarget, stepKey } from '../model/steps.ts';
import { type PlannedStep, type Rule, takeSteps, type View } from './view.ts';

/** Which pods of the Node are deleted, in which order, and which ones come back. */

/**
 * Returns the uids of the pods that the record named when the fence began. If one of them is finished now, Cloudfence
 * has set its phase to Failed.
 */
export const podsNamedByFence = ({ cluster }: Pick<View, 'cluster'>): ReadonlySet<string> =>
  new Set(cluster.node?.record?.pods.map((pod) => pod.uid));

/**
 * Returns why a pod of a dead Node is not force-deleted, or null if it is deleted. A pod that tolerates the taint stays
 * until someone else begins to delete it, as Kubernetes does after its `tolerationSeconds`. Cloudfence then deletes it:
 * the kubelet is dead and our taint is gone, so nothing else would end the pod, and its volume would stay attached.
 */
export const whyPodIsLeft = (pod: PodFacts, named: ReadonlySet<string>): string | null => {
  if (pod.kind === 'mirror') return 'a mirror pod, which its kubelet owns';
  if (pod.finished && pod.deleting && pod.finalizers) return 'its finalizers keep it, but it no longer uses a volume';
  if (pod.finished && !named.has(pod.uid)) return 'it has finished and uses no volume';
  if (pod.tolerates && !pod.deleting) return 'it tolerates the out-of-service taint';
  if (pod.kind === 'daemon' && pod.volumes.length === 0 && pod.unresolved.length === 0)
    return 'a DaemonSet pod without attachable volumes';
  return null;
};

/**
 * Sorts pods by urgency. System-critical pods come first. The CSI controllers, for which all other volumes wait, are
 * among them. Pods with volumes come next.
 */
const byUrgency = (a: PodFacts, b: PodFacts): number =>
  b.priority - a.priority ||
  Number(b.volumes.length > 0) - Number(a.volumes.length > 0) ||
  `${a.namespace}/${a.name}`.localeCompare(`${b.namespace}/${b.name}`);

export const targetPod = ({ namespace, name, uid }: PodFacts): PodTarget => ({ namespace, name, uid });

/**
 * Returns whether the pod must be set to Failed before it is deleted. A Job counts pods by their phase, and a finalizer
 * keeps a deleted pod visible. In both cases, the phase must show first that the pod has failed.
 */
const failsFirst = (pod: PodFacts): boolean => !pod.finished && (pod.kind === 'job' || pod.finalizers);

const stepFor = ({ sinceLook, declined, failedSinceLook }: View['memory'], pod: PodFacts) => {
  const fail = { do: 'fail-pod', pod: targetPod(pod) } as const;
  const remove = { do: 'delete-pod', pod: targetPod(pod) } as const;
  const isOver = (key: string): boolean => sinceLook.has(key) || declined.has(key);
  const step = failsFirst(pod) && !isOver(stepKey(fail)) ? fail : remove;
  return isOver(stepKey(step)) || failedSinceLook.has(stepKey(step)) ? null : step;
};

export const podsToDelete = (view: Pick<View, 'cluster'>): readonly PodFacts[] => {
  const named = podsNamedByFence(view);
  return view.cluster.pods.filter((pod) => whyPodIsLeft(pod, named) === null).sort(byUrgency);
};

/**
 * Returns whether only finalizers of others keep the pod. In that case, this run has deleted the pod, and has set it to
 * Failed unless that was rejected.
 */
export const isHeldByFinalizer = (
  { memory: { takenAt: asked, declined, deleted } }: Pick<View, 'memory'>,
  pod: PodFacts,
): boolean => {
  const fail = stepKey({ do: 'fail-pod', pod: targetPod(pod) });
  return pod.deleting && pod.finalizers && deleted.has(pod.uid) && (asked.has(fail) || declined.has(fail));
};

/**
 * Returns the pods without a volume that are recreated each time Cloudfence deletes them. No run waits for these pods.
 */
export const recurringPods = (view: Pick<View, 'cluster' | 'memory' | 'remembered'>): readonly PodFacts[] =>
  podsToDelete(view).filter((pod) => isRecurring(view, pod));

const isDue = (view: View, pod: PodFacts): boolean =>
  !isRecurring(view, pod) && isRested(view, pod) && !isHeldByFinalizer(view, pod);

/** Force-deletes the pods by uid. Pods of the same priority are deleted concurrently, after all more urgent ones. */
export const deletePods: Rule = (view) => {
  const due = podsToDelete(view).filter((pod) => stepFor(view.memory, pod) !== null && isDue(view, pod));
  const ofOnePriority = due.filter(({ priority }) => priority === due[0]?.priority);
  return takeSteps(
    ofOnePriority.flatMap((pod): readonly PlannedStep[] => {
      const step = stepFor(view.memory, pod);
      const reason = because('pod-on-dead-machine', `the machine of Pod ${pod.namespace}/${pod.name} is off`);
      return step ? [{ step, because: reason }] : [];
    }),
  );
};

/**
 * Returns whether the API server rejected the deletion of the pod, or rejected the phase Failed for a pod that only a
 * finalizer keeps. The fence then continues without the pod, and its end reports that.
 */
export const isDeletionDeclined = ({ memory: { declined } }: Pick<View, 'memory'>, pod: PodFacts): boolean => {
  const target = targetPod(pod);
  const heldUnfailed = pod.deleting && pod.finalizers && declined.has(stepKey({ do: 'fail-pod', pod: target }));
  return heldUnfailed || declined.has(stepKey({ do: 'delete-pod', pod: target }));
};

/** Returns the pods of the Node that are known to use this volume. */
export const podsUsing = ({ cluster }: Pick<View, 'cluster'>, key: string): readonly PodFacts[] =>
  cluster.pods.filter((pod) => !pod.finished && pod.volumes.includes(key));

/**
 * Returns whether a claim of the pod cannot be resolved and may therefore be the claim of this volume. A volume has
 * only one claim at a time.
 */
const mayUse = ({ unresolved }: PodFacts, claim: string | null): boolean =>
  unresolved.some((other) => claim === null || claim === other);

/**
 * Returns the pods of the Node that use this volume or may use it. While there is one, Cloudfence must not free the
 * volume.
 */
export const podsWanting = ({ cluster }: Pick<View, 'cluster'>, key: string): readonly PodFacts[] => {
  const claim = cluster.volumes.find((volume) => volume.key === key)?.pvc ?? null;
  return cluster.pods.filter((pod) => !pod.finished && (pod.volumes.includes(key) || mayUse(pod, claim)));
};

/**
 * The functions below find pods that are recreated on the dead Node each time Cloudfence deletes them, such as those of
 * a workload whose template names the Node (`spec.nodeName`). They bypass the scheduler, so a taint cannot prevent
 * them.
 */

type PodView = Pick<View, 'cluster' | 'memory' | 'remembered'>;

/** Returns what creates the pod: its controller, or its own name if it has no controller. */
export const originOf = ({ namespace, name, owner }: Pick<PodFacts, 'namespace' | 'name' | 'owner'>): string =>
  `${namespace}/${owner ?? name}`;

const recordOf = ({ cluster: { node }, remembered }: PodView): FenceRecord | null => (node ? node.record : remembered);

/** Returns whether the pod was created after our mark. */
const isLate = (record: FenceRecord | null, uid: string): boolean =>
  record !== null && !record.pods.some((pod) => pod.uid === uid);

/**
 * Returns the late pods that this run has deleted and that are gone, or that will be gone as soon as their finalizers
 * allow it.
 */
const chased = (view: PodView): readonly { readonly origin: string; readonly at: number }[] => {
  const standing = new Set(view.cluster.pods.filter(({ deleting }) => !deleting).map(({ uid }) => uid));
  return [...view.memory.deleted]
    .filter(([uid]) => isLate(recordOf(view), uid) && !standing.has(uid))
    .map(([, deleted]) => deleted);
};

const cameBack = (view: PodView, pod: PodFacts): readonly { readonly at: number }[] =>
  isLate(recordOf(view), pod.uid) ? chased(view).filter(({ origin }) => origin === originOf(pod)) : [];

const holdsNothing = ({ volumes, unresolved }: PodFacts): boolean => volumes.length === 0 && unresolved.length === 0;

/**
 * The maximum number of late pods that a run deletes. So pods that appear under new names each time do not block the
 * run.
 */
const MOST_CHASED = 50;

/** Returns whether an earlier run deleted pods of the same origin and they came back. */
export const isKnownToRecur = (record: FenceRecord, pod: PodFacts): boolean =>
  holdsNothing(pod) && isLate(record, pod.uid) && record.recurring.includes(originOf(pod));

/**
 * Returns whether the pod is known to recur and nobody else is deleting it. If someone else deletes a pod, it may be
 * the last one, and on a dead Node only Cloudfence can finish the deletion.
 */
const isKnown = (record: FenceRecord | null, pod: PodFacts): boolean =>
  record !== null && !pod.deleting && isKnownToRecur(record, pod);

/**
 * Returns whether the pod came back after this run or an earlier one deleted a pod of the same origin. Such a pod uses
 * no volume, so it blocks nothing. Cloudfence leaves it and reports it. A pod that may use a volume never counts as
 * recurring. After this run has deleted `MOST_CHASED` late pods, every late pod without a volume counts as recurring.
 */
export const isRecurring = (view: PodView, pod: PodFacts): boolean => {
  const record = recordOf(view);
  if (!holdsNothing(pod) || !isLate(record, pod.uid)) return false;
  return isKnown(record, pod) || hasComeBack(view, pod) || chased(view).length >= MOST_CHASED;
};

/** Returns whether the pod came back although this run has deleted one of the same origin. */
export const hasComeBack = (view: PodView, pod: PodFacts): boolean => cameBack(view, pod).length > 0;

/**
 * Returns whether a pod that came back may be deleted again. A pod that comes back with a volume is deleted each time,
 * but only after a pause.
 */
const isRested = (view: PodView & Pick<View, 'now'>, pod: PodFacts): boolean =>
  cameBack(view, pod).every(({ at }) => view.now.mono - at >= timing.pollLongest);
