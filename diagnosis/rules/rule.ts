import { type MachineFacts, offStates, powerInWords, type VolumeHandle } from '../../fencing/model/machine.ts';
import type { Cause, CauseKind, Confidence, WaitEnd } from '../model/cause.ts';
import {
  ifFound,
  type AttachmentView,
  type NodeView,
  type NodeLocation,
  type PodView,
  type Situation,
} from '../model/facts.ts';

/** Returns the cause if the rule applies, or else null. Pure. */
export type CauseRule = (situation: Situation) => Cause | null;

/** The texts of a cause that every rule provides. */
type CauseText = Pick<Cause, 'says' | 'waits' | 'next'> & Partial<Pick<Cause, 'proof' | 'machine'>>;

export const cause = (kind: CauseKind, confidence: Confidence, ending: WaitEnd, texts: CauseText): Cause => ({
  kind,
  confidence,
  ending,
  proof: [],
  machine: null,
  ...texts,
});

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** Returns a time span for people, such as `4m12s`, `3h05m`, or `2d4h`. */
export const formatDuration = (ms: number): string => {
  if (ms < 0) return '0s';
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m${two((ms % MINUTE) / SECOND)}s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h${two((ms % HOUR) / MINUTE)}m`;
  return `${Math.floor(ms / DAY)}d${Math.floor((ms % DAY) / HOUR)}h`;
};

/** Returns the time of day in UTC. */
export const formatTime = (at: number): string => `${new Date(at).toISOString().slice(11, 19)}Z`;

const LONGEST = 300;
/** Longer texts are cut before the search for long paths, so that a hostile server cannot slow it down. */
const READS_AT_MOST = 2_000;

/** The clouds' long ids make a message hard to read. The last two parts of an id name the object. */
const LONG_PATH = /(?:https?:\/\/)?\/?(?:[\w.~-]+\/){5,}(?=[\w.~-]+\/[\w.~-]+)/g;

/** Returns the first line of a driver's message, shortened for people. */
export const firstLine = (says: string): string => {
  const [whole = ''] = says.split('\n');
  const first = whole.slice(0, READS_AT_MOST).replaceAll(LONG_PATH, '…/');
  return first.length > LONGEST ? `${first.slice(0, LONGEST)}…` : first;
};

export const nameOf = ({ namespace, name }: Pick<PodView, 'namespace' | 'name'>): string => `${namespace}/${name}`;

/** How long a kubelet may take to renew its Lease: leaseDurationSeconds. */
export const SILENT_MS = 40_000;

/** The longest pause between two tries of the attacher (ms). An older error may no longer apply. */
export const RETRY_MS = 300_000;

export const nodeAt = (location: NodeLocation | null): NodeView | null =>
  location === null ? null : ifFound(location.node);
export const attachmentAt = (location: NodeLocation | null): AttachmentView | null =>
  location === null ? null : ifFound(location.attachment);

/** Returns whether the Node exists but its kubelet does not report. */
export const isKubeletSilent = (location: NodeLocation, now: number): boolean => {
  const node = nodeAt(location);
  if (node === null) return false;
  return node.ready !== 'True' || (node.leaseRenewed !== null && now - node.leaseRenewed > SILENT_MS);
};

export const isHealthy = (location: NodeLocation, now: number): boolean =>
  nodeAt(location) !== null && !isKubeletSilent(location, now);

/** Returns the pods that still use the volume at that location. */
export const podsAt = (location: NodeLocation, { others }: Situation): readonly PodView[] =>
  others.filter(({ node }) => node === location.nodeName);

/**
 * Returns the locations that have the volume: according to an attachment, to the disk itself, or to a pod that runs
 * there.
 */
export const holdersOf = (situation: Situation): readonly NodeLocation[] => {
  const named = new Set((ifFound(situation.disk)?.holders ?? []).map(({ machine }) => machine));
  return situation.holders.filter(
    (location) =>
      attachmentAt(location) !== null ||
      (location.machine !== null && named.has(location.machine)) ||
      podsAt(location, situation).some(({ runs, deletionEnds }) => runs || deletionEnds !== null),
  );
};

export const handleOf = ({ volume }: Situation): VolumeHandle | null => ifFound(volume)?.handle ?? null;

/** Returns whether the kubelet listed the volume as mounted in its last report. */
export const isInUse = (location: NodeLocation, situation: Situation): boolean =>
  isAmong(nodeAt(location)?.inUse ?? [], handleOf(situation));

/** Returns whether the controller lists the volume as attached, so that the kubelet may mount it. */
export const isListedAttached = (location: NodeLocation, situation: Situation): boolean =>
  isAmong(nodeAt(location)?.attached ?? [], handleOf(situation));

const isAmong = (volumes: readonly VolumeHandle[], wanted: VolumeHandle | null): boolean =>
  volumes.some(({ driver, handle }) => driver === wanted?.driver && handle === wanted.handle);

export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const SIX_MINUTES = 360_000;
const GRACE = 60_000;

/** Describes what Kubernetes' own timer does. The timer applies only to a volume that the kubelet listed as mounted. */
export const describeTimer = (location: NodeLocation, situation: Situation): string => {
  const { pod, now } = situation;
  const still = podsAt(location, situation);
  if (nodeAt(location)?.outOfService)
    return (
      'Kubernetes deletes the pods there and detaches the disk at once, because the Node has the taint ' +
      `${OUT_OF_SERVICE}.`
    );
  if (still.length > 0) return `No timer ends this while the pod ${still.map(nameOf).join(', ')} exists.`;
  if (pod.node === location.nodeName) return 'Kubernetes starts no timer while this pod exists.';
  if (attachmentAt(location)?.deletingSince) return 'Kubernetes detaches it already.';
  const fires = pod.created + SIX_MINUTES;
  if (nodeAt(location) !== null && !isInUse(location, situation)) return 'Kubernetes detaches it by itself soon.';
  return now > fires + GRACE
    ? "Kubernetes' six-minute timer did not fire: it may be switched off (--disable-force-detach-on-timeout), or " +
        'its controller restarted.'
    : `Kubernetes' six-minute timer fires about ${formatTime(fires)}, unless it is switched off ` +
        '(--disable-force-detach-on-timeout).';
};

/** Describes the volume for people. */
export const describeVolume = ({ volume, claimName }: Situation): string =>
  ifFound(volume)?.name ?? (claimName === null ? 'its data' : `the volume of claim ${claimName}`);

export const describeKubelet = (location: NodeLocation, now: number): string => {
  const node = nodeAt(location);
  if (node === null)
    return location.node === 'unread'
      ? `Node ${location.nodeName} could not be read`
      : `Node ${location.nodeName} does not exist`;
  const state = node.ready === 'True' ? 'Ready' : 'NotReady';
  const lease = node.leaseRenewed === null ? 'no Lease' : `last Lease ${formatTime(node.leaseRenewed)}`;
  return `Node ${node.name} is ${state} for ${formatDuration(now - node.readySince)}, ${lease}`;
};

/**
 * Events which say that another Node has the volume. The first text is used before 1.36.4, the second one since then.
 */
const ELSEWHERE = /^(?:Multi-Attach error|Waiting for detach) for volume "/;

export const hasMultiAttachEvent = ({ events }: Situation): boolean => events.some(({ says }) => ELSEWHERE.test(says));

/** Returns the latest event that matches. */
export const lastEvent = ({ events }: Situation, wanted: (reason: string, says: string) => boolean) =>
  events.find(({ reason, says }) => wanted(reason, says)) ?? null;

/** Returns the volume that the kubelet names: a PersistentVolume, or one of the pod's own. Null if it names none. */
export const failedVolumeIn = (says: string): string | null => / for volume "([^"]+)"/.exec(says)?.[1] ?? null;

export const cloudSays = ({ machine, evidence, power }: MachineFacts): string =>
  `the cloud says of ${machine}: ${Object.values(evidence)[0] ?? powerInWords(power)}`;

/** For advice, one look is sufficient. */
export const isOffOrMissing = (facts: MachineFacts | null): boolean => facts !== null && offStates.has(facts.power);

/** Says how a person fences a Node or a machine. */
export const fenceAdvice = (name: string): readonly string[] => [
  `cloudfence fence ${name} --dry-run`,
  `cloudfence fence ${name}`,
];

/** Describes how a person keeps a disk whose claim or PersistentVolume is being deleted. */
export const keepDisk = (volume: string): string =>
  `kubectl patch pv ${volume} -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'      # first, if the ` +
  'data has to stay: else its disk is deleted, too';

/** Describes how a new claim gets a volume whose earlier claim is gone. Without its name, it gets an empty disk. */
export const bindAgain = (volume: string): string =>
  `kubectl patch pv ${volume} --type json -p '[{"op":"remove","path":"/spec/claimRef"}]'      # once the old ` +
  `claim is gone; then make the claim with spec.volumeName: ${volume}, else it gets a new, empty disk`;

/** Returns a command that makes the attacher try again. Any change of the object ends the attacher's back-off. */
export const retryCommand = ({ name }: AttachmentView): string =>
  `at once: kubectl annotate volumeattachment ${name} nudge=1`;

/** Describes the used and available attach slots of Nodes that may be full. Empty if no Node may be full. */
export const describeSlots = ({ slots }: Situation): readonly string[] =>
  slots.map(({ node, promised, taken }) => {
    const has = `${node} has ${taken} of the driver's volumes`;
    if (promised === null) return `${has}, and its CSINode names no limit`;
    const free = promised - taken;
    return `${has}, and its CSINode promises ${promised}: ${free > 0 ? `${free} free` : 'none free'}`;
  });
