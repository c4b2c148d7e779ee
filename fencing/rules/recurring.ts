import type { PodFacts } from '../cluster-facts.ts';
import { patience } from '../policy.ts';
import type { FenceRecord } from '../record.ts';
import type { View } from '../view.ts';

/**
 * Pods that are made anew on the dead Node as often as we delete them, such as those of a workload whose template names the
 * Node (`spec.nodeName`). No scheduler is asked, so no taint keeps them out.
 */

type Seen = Pick<View, 'cluster' | 'memory' | 'remembered'>;

/** What makes the pod: its controller, or whoever makes it under this name. */
export const originOf = ({ namespace, name, owner }: Pick<PodFacts, 'namespace' | 'name' | 'owner'>): string => `${namespace}/${owner ?? name}`;

const recordOf = ({ cluster: { node }, remembered }: Seen): FenceRecord | null => (node ? node.record : remembered);

/** It came after our mark. */
const isLate = (record: FenceRecord | null, uid: string): boolean => record !== null && !record.pods.some((pod) => pod.uid === uid);

/** Late pods that this run has deleted, and that are gone, or go as soon as their finalizers let them. */
const chased = (view: Seen): readonly { readonly origin: string; readonly at: number }[] => {
  const standing = new Set(view.cluster.pods.filter(({ deleting }) => !deleting).map(({ uid }) => uid));
  return [...view.memory.deleted].filter(([uid]) => isLate(recordOf(view), uid) && !standing.has(uid)).map(([, deleted]) => deleted);
};

const cameBack = (view: Seen, pod: PodFacts): readonly { readonly at: number }[] =>
  isLate(recordOf(view), pod.uid) ? chased(view).filter(({ origin }) => origin === originOf(pod)) : [];

const holdsNothing = ({ volumes, unresolved }: PodFacts): boolean => volumes.length === 0 && unresolved.length === 0;

/** So many late pods are deleted in a run: whoever makes pods under ever new names does not hold it up. */
const MOST_CHASED = 50;

/** A run before this one has deleted the like of it in vain. */
export const isKnownToRecur = (record: FenceRecord, pod: PodFacts): boolean => holdsNothing(pod) && isLate(record, pod.uid) && record.recurring.includes(originOf(pod));

/** One that somebody else deletes may be the last: only we can end it on a dead Node. */
const isKnown = (record: FenceRecord | null, pod: PodFacts): boolean => record !== null && !pod.deleting && isKnownToRecur(record, pod);

/**
 * A pod that came back after this run, or the fence before, had deleted one like it. It wants no volume, so nothing is kept
 * from anybody: it is left, and named. One that may want a volume is none, however often it comes back.
 */
export const isRecurring = (view: Seen, pod: PodFacts): boolean => {
  const record = recordOf(view);
  if (!holdsNothing(pod) || !isLate(record, pod.uid)) return false;
  return isKnown(record, pod) || isBack(view, pod) || chased(view).length >= MOST_CHASED;
};

/** One that came back although this run has deleted the like of it. */
export const isBack = (view: Seen, pod: PodFacts): boolean => cameBack(view, pod).length > 0;

/** One that came back with a volume is deleted again and again, but not in a hurry. */
export const isRested = (view: Seen & Pick<View, 'now'>, pod: PodFacts): boolean => cameBack(view, pod).every(({ at }) => view.now.mono - at >= patience.pollLongest);
