import type { PodFacts } from '../model/cluster-facts.ts';
import { patience } from '../model/policy.ts';
import { because } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { type PodTarget, stepKey } from '../model/steps.ts';
import { type Rule, take, type View } from './view.ts';

/** Uids of the pods that the fence named when it began: those of them that are finished now, were failed by us. */
export const namedBy = ({ cluster }: Pick<View, 'cluster'>): ReadonlySet<string> =>
  new Set(cluster.node?.record?.pods.map((pod) => pod.uid));

/**
 * Why a pod of a dead node is not force-deleted, or null when it is. One that tolerates the taint stays until somebody
 * else begins to delete it, as Kubernetes does after its `tolerationSeconds`: with the kubelet dead and our taint gone,
 * nobody else would end it, and its volume would stay attached.
 */
export const leftAlone = (pod: PodFacts, named: ReadonlySet<string>): string | null => {
  if (pod.kind === 'mirror') return 'a mirror pod: its kubelet owns it';
  if (pod.finished && pod.deleting && pod.finalizers) return 'held by its finalizers, but it wants no volume any more';
  if (pod.finished && !named.has(pod.uid)) return 'finished: it wants no volume';
  if (pod.tolerates && !pod.deleting) return 'it tolerates the out-of-service taint';
  if (pod.kind === 'daemon' && pod.volumes.length === 0 && pod.unresolved.length === 0)
    return 'a DaemonSet pod without attachable volumes';
  return null;
};

/**
 * System-critical pods first: among them are the CSI controllers that everybody else's volumes wait for. Then holders
 * of volumes.
 */
const byUrgency = (a: PodFacts, b: PodFacts): number =>
  b.priority - a.priority ||
  Number(b.volumes.length > 0) - Number(a.volumes.length > 0) ||
  `${a.namespace}/${a.name}`.localeCompare(`${b.namespace}/${b.name}`);

const targetPod = ({ namespace, name, uid }: PodFacts): PodTarget => ({ namespace, name, uid });

/**
 * A Job counts a pod by its phase, and a finalizer keeps a deleted pod in sight: both learn first that it has failed.
 */
const failsFirst = (pod: PodFacts): boolean => !pod.finished && (pod.kind === 'job' || pod.finalizers);

const stepFor = (pod: PodFacts, done: ReadonlySet<string>) => {
  const fail = { do: 'fail-pod', pod: targetPod(pod) } as const;
  const remove = { do: 'delete-pod', pod: targetPod(pod) } as const;
  if (failsFirst(pod) && !done.has(stepKey(fail))) return fail;
  return done.has(stepKey(remove)) ? null : remove;
};

export const podsToDelete = (view: Pick<View, 'cluster'>): readonly PodFacts[] => {
  const named = namedBy(view);
  return view.cluster.pods.filter((pod) => leftAlone(pod, named) === null).sort(byUrgency);
};

/**
 * This run has told it that it has failed, or was not let, and has deleted it: only its finalizers hold it, and they
 * are not ours.
 */
export const isHeld = ({ memory: { asked, declined, deleted } }: Pick<View, 'memory'>, pod: PodFacts): boolean => {
  const fail = stepKey({ do: 'fail-pod', pod: targetPod(pod) });
  return pod.deleting && pod.finalizers && deleted.has(pod.uid) && (asked.has(fail) || declined.has(fail));
};

/** Pods without a volume that are made anew as often as we delete them: nobody waits for them. */
export const recurringPods = (view: Pick<View, 'cluster' | 'memory' | 'remembered'>): readonly PodFacts[] =>
  podsToDelete(view).filter((pod) => isRecurring(view, pod));

/** Force-deletes, by uid, one pod after the other. */
export const deletePods: Rule = (view) => {
  for (const pod of podsToDelete(view)) {
    if (isRecurring(view, pod) || !isRested(view, pod) || isHeld(view, pod)) continue;
    const step = stepFor(pod, new Set([...view.memory.sinceLook, ...view.memory.declined.keys()]));
    if (step)
      return take(step, because('pod-on-dead-machine', `the machine below Pod ${pod.namespace}/${pod.name} is off`));
  }
  return null;
};

/**
 * The API server declined to delete it, or declined to fail one that only a finalizer still holds: the fence goes on
 * around it, and its end says so.
 */
export const isDeclined = ({ memory: { declined } }: Pick<View, 'memory'>, pod: PodFacts): boolean => {
  const target = targetPod(pod);
  const heldUnfailed = pod.deleting && pod.finalizers && declined.has(stepKey({ do: 'fail-pod', pod: target }));
  return heldUnfailed || declined.has(stepKey({ do: 'delete-pod', pod: target }));
};

/** Pods of the Node that are known to use this volume. */
export const usedBy = ({ cluster }: Pick<View, 'cluster'>, key: string): readonly PodFacts[] =>
  cluster.pods.filter((pod) => !pod.finished && pod.volumes.includes(key));

/**
 * A claim of the pod cannot be resolved, and nothing speaks against its being this volume: a volume has one claim at a
 * time.
 */
const mayUse = ({ unresolved }: PodFacts, claim: string | null): boolean =>
  unresolved.some((other) => claim === null || claim === other);

/** Pods of the Node that still want this volume, or may: as long as there is one, the volume is not ours to free. */
export const wantedBy = ({ cluster }: Pick<View, 'cluster'>, key: string): readonly PodFacts[] => {
  const claim = cluster.volumes.find((volume) => volume.key === key)?.claim ?? null;
  return cluster.pods.filter((pod) => !pod.finished && (pod.volumes.includes(key) || mayUse(pod, claim)));
};

/**
 * Pods that are made anew on the dead Node as often as we delete them, such as those of a workload whose template names
 * the Node (`spec.nodeName`). No scheduler is asked, so no taint keeps them out.
 */

type Seen = Pick<View, 'cluster' | 'memory' | 'remembered'>;

/** What makes the pod: its controller, or whoever makes it under this name. */
export const originOf = ({ namespace, name, owner }: Pick<PodFacts, 'namespace' | 'name' | 'owner'>): string =>
  `${namespace}/${owner ?? name}`;

const recordOf = ({ cluster: { node }, remembered }: Seen): FenceRecord | null => (node ? node.record : remembered);

/** It came after our mark. */
const isLate = (record: FenceRecord | null, uid: string): boolean =>
  record !== null && !record.pods.some((pod) => pod.uid === uid);

/** Late pods that this run has deleted, and that are gone, or go as soon as their finalizers let them. */
const chased = (view: Seen): readonly { readonly origin: string; readonly at: number }[] => {
  const standing = new Set(view.cluster.pods.filter(({ deleting }) => !deleting).map(({ uid }) => uid));
  return [...view.memory.deleted]
    .filter(([uid]) => isLate(recordOf(view), uid) && !standing.has(uid))
    .map(([, deleted]) => deleted);
};

const cameBack = (view: Seen, pod: PodFacts): readonly { readonly at: number }[] =>
  isLate(recordOf(view), pod.uid) ? chased(view).filter(({ origin }) => origin === originOf(pod)) : [];

const holdsNothing = ({ volumes, unresolved }: PodFacts): boolean => volumes.length === 0 && unresolved.length === 0;

/** So many late pods are deleted in a run: whoever makes pods under ever new names does not hold it up. */
const MOST_CHASED = 50;

/** A run before this one has deleted the like of it in vain. */
export const isKnownToRecur = (record: FenceRecord, pod: PodFacts): boolean =>
  holdsNothing(pod) && isLate(record, pod.uid) && record.recurring.includes(originOf(pod));

/** One that somebody else deletes may be the last: only we can end it on a dead Node. */
const isKnown = (record: FenceRecord | null, pod: PodFacts): boolean =>
  record !== null && !pod.deleting && isKnownToRecur(record, pod);

/**
 * A pod that came back after this run, or the fence before, had deleted one like it. It wants no volume, so nothing is
 * kept from anybody: it is left, and named. One that may want a volume is none, however often it comes back.
 */
export const isRecurring = (view: Seen, pod: PodFacts): boolean => {
  const record = recordOf(view);
  if (!holdsNothing(pod) || !isLate(record, pod.uid)) return false;
  return isKnown(record, pod) || isBack(view, pod) || chased(view).length >= MOST_CHASED;
};

/** One that came back although this run has deleted the like of it. */
export const isBack = (view: Seen, pod: PodFacts): boolean => cameBack(view, pod).length > 0;

/** One that came back with a volume is deleted again and again, but not in a hurry. */
const isRested = (view: Seen & Pick<View, 'now'>, pod: PodFacts): boolean =>
  cameBack(view, pod).every(({ at }) => view.now.mono - at >= patience.pollLongest);
