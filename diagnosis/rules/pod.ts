import { ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import {
  cause,
  describeSlots,
  describeVolume,
  failedVolumeIn,
  isHealthy,
  lastEvent,
  firstLine,
  nameOf,
  type CauseRule,
} from './rule.ts';

/** The first questions: does the pod wait, and is the volume the reason? */

/** Returns whether the kubelet and the cloud report that the pod's Node works. */
const isWell = (location: NodeLocation | null, now: number): boolean =>
  location !== null &&
  isHealthy(location, now) &&
  ['running', 'unknown', null].includes(ifFound(location.power)?.power ?? null);

export const notWaiting: CauseRule = ({ pod, target, now }) => {
  if (pod.deletionEnds !== null || !(pod.finished || (pod.ready && isWell(target, now)))) return null;
  return cause('not-waiting', 'proved', 'over', {
    says: pod.finished ? `${nameOf(pod)} has ended.` : `${nameOf(pod)} runs. It waits for no volume.`,
    waits: 'nobody.',
    next: [],
  });
};

/** The driver promised more slots than the Node has. Its kubelet has counted again, and rejected the pod. */
export const rejectedByLimit: CauseRule = (situation) => {
  const { pod } = situation;
  if (!pod.finished || !pod.rejectedByLimit) return null;
  const node = pod.node ?? '';
  const isReplaced = pod.owner !== null;
  return cause('attach-limit', 'proved', isReplaced ? 'by-itself' : 'by-person', {
    says: `The kubelet of ${node} rejected ${nameOf(pod)}, because the Node has no free slot for its volume.`,
    proof: ['the reason of the pod is VolumeAttachmentLimitExceeded', ...describeSlots(situation)],
    waits: isReplaced ? `${pod.owner.kind} ${pod.owner.name} makes a new pod.` : `${nameOf(pod)} ← a new pod.`,
    next: [
      isReplaced
        ? `the scheduler has the correct number now. If new pods come back to ${node}: kubectl cordon ${node}`
        : `kubectl -n ${pod.namespace} delete pod ${pod.name}      # and create it again: the scheduler knows ` +
          'the right number by now',
    ],
  });
};

/** Returns what made the volume read-only, or null. */
const readOnlyBy = ({ pod, claimName, volume }: Situation): string | null => {
  if (claimName !== null && pod.readOnlyClaims.includes(claimName)) return 'the pod mounts it read-only';
  return ifFound(volume)?.readOnly ? 'the PersistentVolume is read-only' : null;
};

/** The pod's containers run, so its volumes are mounted, perhaps read-only. */
export const runsUnready: CauseRule = (situation) => {
  const { pod, target, now } = situation;
  if (pod.deletionEnds !== null || !pod.runs || !isWell(target, now)) return null;
  const describe = `kubectl -n ${pod.namespace} describe pod ${pod.name}`;
  const readOnly = readOnlyBy(situation);
  if (readOnly !== null)
    return cause('read-only', 'likely', 'by-person', {
      says: `${nameOf(pod)} runs but is not ready, and cannot write to ${describeVolume(situation)}: ${readOnly}.`,
      proof: [readOnly],
      waits: `${nameOf(pod)} ← its own readiness ← a volume that it cannot write to.`,
      next: ['if it has to write: remove readOnly from the pod and the PersistentVolume', describe],
    });
  return cause('not-the-volume', 'proved', 'by-person', {
    says: `${nameOf(pod)} runs but is not ready. Its volumes are mounted.`,
    waits: `${nameOf(pod)} ← its own readiness.`,
    next: [
      describe,
      "if its writes fail: after I/O errors, a file system is remounted read-only, which only the Node's " +
        'kernel log shows',
    ],
  });
};

const OTHER_REASONS = ['FailedCreatePodSandBox', 'ErrImagePull', 'ImagePullBackOff'];
const OTHER_OBJECTS = /configmap "|secret "|non-existent (?:secret|config) key|references non-existent/;

/** Returns whether the message is about a ConfigMap or a Secret that the pod names, and not about a volume. */
export const hasOtherObject = (says: string): boolean => OTHER_OBJECTS.test(says);

/** The kubelet repeats at least every two minutes what it waits for. Kubernetes keeps an event for an hour. */
const RECENT_MS = 300_000;

/** Something other than a volume blocks the pod. */
export const notTheVolume: CauseRule = (situation) => {
  const { pod, now } = situation;
  if (pod.deletionEnds !== null) return null;
  const found = lastEvent(
    situation,
    (reason, says) =>
      OTHER_REASONS.includes(reason) ||
      (reason === 'FailedMount' && (OTHER_OBJECTS.test(says) || pod.ownVolumes.includes(failedVolumeIn(says) ?? ''))),
  );
  const event = found && now - found.at <= RECENT_MS ? found : null;
  const reason = pod.waitsFor ?? (event && `${event.reason}: ${firstLine(event.says)}`);
  const isScheduling = pod.node === null && pod.claims.length === 0;
  if (reason === null && !isScheduling) return null;
  return cause('not-the-volume', 'proved', 'by-person', {
    says: `${nameOf(pod)} does not wait for a volume${reason === null ? '' : `: ${firstLine(reason)}`}.`,
    proof: pod.unscheduled === null ? [] : [`the scheduler: ${firstLine(pod.unscheduled)}`],
    waits: `${nameOf(pod)} ← ${reason === null ? 'scheduler' : 'what the message names'}.`,
    next: ['fix what the message names'],
  });
};

/** The pod names no claim. */
export const podWithoutClaim: CauseRule = ({ pod, claimName }) =>
  claimName !== null || pod.deletionEnds !== null
    ? null
    : cause('not-the-volume', 'likely', 'by-person', {
        says: `${nameOf(pod)} names no claim, so no volume of the cloud holds it.`,
        waits: `${nameOf(pod)} ← something other than a volume.`,
        next: [`kubectl -n ${pod.namespace} describe pod ${pod.name}`],
      });

/** A finalizer keeps a pod that has ended. */
export const podFinalizer: CauseRule = ({ pod, now }) =>
  pod.deletionEnds === null || pod.deletionEnds > now || pod.finalizers.length === 0 || pod.runs
    ? null
    : cause('pod-finalizer', 'proved', 'by-person', {
        says: `${nameOf(pod)} has ended, but a finalizer keeps it: ${pod.finalizers.join(', ')}.`,
        waits: `${nameOf(pod)} ← the controller that set the finalizer.`,
        next: ['see whether that controller runs. It removes the finalizer when its work is done'],
      });
