import type { PodFacts, VolumeFacts } from '../model/cluster-facts.ts';
import type { DiskAttachment } from '../model/machine.ts';
import { because, pluralize, listSome, type Reason } from '../model/reason.ts';
import { type AwaitedAttachments, type Decision, type Memory, type Rule, type View, wait } from './view.ts';
import { timing } from '../model/policy.ts';
import { isUnmarked } from './mark.ts';
import {
  unwantedForMs,
  attachedDiskOf,
  detachesDueIn,
  isDetachDeclined,
  isDiskWanted,
  nudgeLastsFor,
} from './volumes.ts';
import {
  hasComeBack,
  isDeletionDeclined,
  isHeldByFinalizer,
  isRecurring,
  whyPodIsLeft,
  podsNamedByFence,
  podsToDelete,
  podsWanting,
} from './pods.ts';

/** What a fence waits for, and how long it waits until the next look. */

const growing = ({ polls }: Pick<Memory, 'polls'>): number => Math.round(timing.pollShortest * 1.33 ** polls);

/**
 * Returns the time until the next read of a single object (ms). The reads are frequent at first and rare later, because
 * objects disappear either within a second or within minutes.
 */
export const pollDelay = ({ memory }: Pick<View, 'memory'>): number => Math.min(timing.pollLongest, growing(memory));

/** The maximum number of calls per second while a run waits. */
const CALLS_PER_SECOND = 2;

/** The number of calls that every look makes, however many volumes it reads. */
const BASE_CALLS_OF_LOOK = 7;

/**
 * Returns the number of calls of a look. One call reads an existing attachment. If it does not exist, another call
 * reads the PersistentVolume.
 */
const lookTakes = ({ cluster }: View): number =>
  cluster.volumes.reduce(
    (calls, { attachment }) => calls + (attachment ? 1 : 2),
    BASE_CALLS_OF_LOOK + cluster.attachmentsOfOthers.length,
  );

/** Returns the time (ms) between two looks at which looks do not exceed this number of calls per second. */
const affordable = (view: View, callsPerSecond: number): number =>
  Math.min(timing.lookLongest, (lookTakes(view) / callsPerSecond) * 1_000);

/** Returns the time until the next look (ms). The more volumes a look reads, the rarer the looks are. */
const lookDelay = (view: View): number =>
  Math.min(Math.max(timing.pollLongest, affordable(view, CALLS_PER_SECOND)), growing(view.memory));

/**
 * Waits for a second read if one read is not sufficient. Some clouds briefly report "stopped" while a machine starts,
 * so two reads must agree. The time between them counts from the first answer to the second request. If the process
 * was frozen while the second answer was on its way, the run reads the machine once more.
 */
export const secondReadPending: Rule = ({ machine, machineRequestedAt, memory: { firstOff }, now }) => {
  if (machine.power !== 'off-if-repeated' || !firstOff) return null;
  const reason = because('second-read', 'a starting machine also shows this state: a second read must confirm it');
  const left = timing.secondRead - (now.mono - firstOff.mono);
  if (left > 0) return wait(left, reason);
  return machineRequestedAt - firstOff.mono < timing.secondRead ? { do: 'reread', because: reason } : null;
};

/** Waits for pods that Cloudfence deleted but that still exist. */
export const waitForPods: Rule = (view) => {
  const named = podsNamedByFence(view);
  const going = view.cluster.pods.filter(
    (pod) => whyPodIsLeft(pod, named) === null && !isDeletionDeclined(view, pod) && !isRecurring(view, pod),
  );
  if (going.length === 0) return null;
  const sentenceAbout = (which: (view: View, pod: PodFacts) => boolean, one: string, many: string): string => {
    const pods = going.filter((pod) => which(view, pod)).map(({ namespace, name }) => `pod ${namespace}/${name}`);
    return pods.length === 0 ? '' : `; ${listSome(pods)} ${pods.length === 1 ? one : many}`;
  };
  const back = sentenceAbout(
    hasComeBack,
    'is recreated after each deletion and uses a volume',
    'are recreated after each deletion and use a volume',
  );
  const held = sentenceAbout(isHeldByFinalizer, 'is kept by its finalizers', 'are kept by their finalizers');
  const says = `${pluralize(going.length, 'pod is', 'pods are')} being deleted${back}${held}`;
  return wait(lookDelay(view), because('pods-going', says));
};

/** Returns the conditions that end the wait for the attachments of these volumes. */
const awaited = (view: View, volumes: readonly VolumeFacts[]): AwaitedAttachments => ({
  attachments: volumes.flatMap(({ attachment }) => attachment ?? []),
  deletedBy: Math.min(...volumes.map(({ key }) => view.now.mono + timing.attachmentLingers - unwantedForMs(view, key))),
  // If a look after a wait has shown that some attachments remain, the wait lasts until all are gone.
  fewTellAll: view.memory.polls === 0,
});

/**
 * Returns how long (ms) the run may read only the machine and the attachments before a full look. This time is limited.
 * These reads use half of the allowed calls.
 */
const lookAgainIn = (view: View): number => Math.max(timing.lookAgain, affordable(view, CALLS_PER_SECOND / 2));

/** Returns the same time, limited by the next detach through the cloud. */
const untilLook = (view: View, volumes: readonly VolumeFacts[]): number => {
  const detached = view.policy.detach === 'never' ? [] : volumes;
  const times = detached.flatMap((volume) => detachesDueIn(view, volume)).filter((ms) => ms > 0);
  return Math.max(pollDelay(view), Math.min(lookAgainIn(view), ...times));
};

/** Returns the volumes that Kubernetes still has to detach. It never does so under a name that is in use again. */
const volumesGoing = (view: View): readonly VolumeFacts[] =>
  view.cluster.volumes.filter(
    ({ attachment, key, nameTaken }) => attachment && !nameTaken && podsWanting(view, key).length === 0,
  );

/**
 * Waits for the end of an operation on a machine that is off by its power state. If attachments are being deleted, the
 * operation is the driver's detach, and no rule acts on them before it ends. Before the mark, nothing is detached, and
 * the mark waits for the end of the operation.
 */
export const waitForOperation = (view: View, reason: Reason): Decision => {
  const attachments = volumesGoing(view).flatMap(({ attachment }) => attachment ?? []);
  return attachments.length > 0 && !isUnmarked(view)
    ? wait(lookAgainIn(view), reason, { attachments, deletedBy: Infinity, fewTellAll: view.memory.polls === 0 })
    : wait(pollDelay(view), reason);
};

/** Waits for attachments that no pod uses. Attach-detach and the attacher remove them, or the rules above act. */
export const waitForAttachments: Rule = (view) => {
  const going = volumesGoing(view);
  if (going.length === 0) return null;
  const errors = going.map((volume) => volume.attachment?.detachError).filter((error) => error != null);
  const driverErrors = errors.length > 0 ? `; the driver says: ${errors.join('; ')}` : '';
  const says =
    `Kubernetes detaches ${pluralize(going.length, 'volume')} (${going.map((v) => v.key).join(', ')})` + driverErrors;
  return wait(untilLook(view, going), because('attachments-going', says), awaited(view, going));
};

/** Returns the disks that no pod uses, and that Kubernetes or Cloudfence still has to detach. */
const disksGoing = (view: View): readonly DiskAttachment[] =>
  view.policy.detach === 'never'
    ? []
    : view.cluster.volumes
        .filter(({ persistentVolume }) => persistentVolume !== null)
        .flatMap((volume) => attachedDiskOf(view, volume) ?? [])
        .filter((disk) => disk.keep === null && !isDiskWanted(view, disk) && !isDetachDeclined(view, disk));

/** Waits for disks that the cloud still reports as attached although Kubernetes has released them. */
export const waitForDisks: Rule = (view) => {
  const going = disksGoing(view);
  return going.length > 0
    ? wait(lookDelay(view), because('disks-going', `${pluralize(going.length, 'disk is', 'disks are')} still attached`))
    : null;
};

/**
 * Returns whether Cloudfence has done its part of the fence, and only others can remove what is left. Examples are an
 * attachment with the finalizer of a CSI attacher that is down, a pod whose deletion the API server rejects, and an
 * attachment to a Node whose name is in use again.
 */
export const isLeftToOthers = (view: View): boolean =>
  podsToDelete(view).every(
    (pod) => isHeldByFinalizer(view, pod) || isRecurring(view, pod) || isDeletionDeclined(view, pod),
  ) &&
  volumesGoing(view).every(({ attachment }) => attachment?.deletingSince != null) &&
  disksGoing(view).length === 0;

/** Waits while a new attachment has a nudge, so that the run can remove it. */
export const waitForNudge: Rule = (view) => {
  const times = view.cluster.volumes.flatMap(({ successor }) =>
    successor?.nudged ? nudgeLastsFor(view, successor) : [],
  );
  return times.length > 0
    ? wait(Math.max(pollDelay(view), ...times), because('attacher-nudged', 'the CSI attacher is handling a nudge'))
    : null;
};
