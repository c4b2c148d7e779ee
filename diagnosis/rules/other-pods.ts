import type { Cause } from '../model/cause.ts';
import { ifFound, type NodeLocation, type PodView, type Situation, type WorkloadView } from '../model/facts.ts';
import {
  attachmentAt,
  cause,
  formatTime,
  isHealthy,
  isInUse,
  describeKubelet,
  nameOf,
  nodeAt,
  podsAt,
  type CauseRule,
  formatDuration,
  firstLine,
  describeVolume,
} from './rule.ts';
import { needsNoAttachment } from './mounting.ts';
import { blockersOf, canBeShared, isNetworkStorage } from './storage.ts';

/** Another pod on a healthy Node has the volume. Nothing is broken there, so a fence is not allowed. */

/** The usual duration of a move: unmount, detach, and attach. */
const MOVE_MS = 60_000;

/** How the pod is on its Node, for people. */
const presence = ({ node, runs, waitsFor }: PodView): string =>
  runs ? `runs on ${node ?? ''}` : `is on ${node ?? ''}${waitsFor === null ? '' : ` (${firstLine(waitsFor)})`}`;

const recreate = ({ name }: WorkloadView, namespace: string): string =>
  `kubectl -n ${namespace} patch deploy ${name} -p '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}'`;

const inRollout = (situation: Situation, other: PodView, workload: WorkloadView): Cause =>
  cause('rollout-surge', 'proved', 'by-person', {
    says:
      `The rollout of Deployment ${workload.name} starts ${situation.pod.name} before it stops ${other.name}, ` +
      `and ${describeVolume(situation)} serves one Node at a time.${other.runs ? ' Nothing is broken.' : ''}`,
    proof: [
      `both pods belong to Deployment ${workload.name}` +
        (workload.revision === null
          ? ''
          : `, revisions ${workload.revision} and ${ifFound(situation.otherWorkload)?.revision ?? '?'}`),
      `${nameOf(other)} ${other.ready ? `is Ready on ${other.node ?? ''}` : presence(other)}`,
    ],
    waits:
      `${nameOf(situation.pod)} ← disk ← ${nameOf(other)} ← rollout ← ${nameOf(situation.pod)}: a circle, it ` +
      'never ends by itself.',
    next: [
      recreate(workload, situation.pod.namespace),
      'or maxSurge: 0 with maxUnavailable: 1, a StatefulSet, or a ReadWriteMany volume',
      other.runs
        ? `do not fence ${other.node ?? 'the Node'} and do not force-delete ${other.name}: it writes to the volume`
        : `do not fence ${other.node ?? 'the Node'}: it works`,
    ],
  });

const ownerInWords = (workload: WorkloadView | null, { owner }: PodView): string => {
  const above = workload ?? owner;
  return above === null ? 'nothing' : `${above.kind} ${above.name}`;
};

/** An access mode only says what Kubernetes may try. The cloud decides whether several machines may have a disk. */
const modeProof = (situation: Situation): readonly string[] =>
  canBeShared(situation)
    ? [
        `the PersistentVolume allows ${ifFound(situation.volume)?.accessModes.join('+') ?? ''}, but the cloud ` +
          'does not attach this disk to another machine',
      ]
    : [];

/** The workload that controls both pods, or null. */
const commonWorkload = ({ workload, otherWorkload }: Situation): WorkloadView | null => {
  const [own, theirs] = [ifFound(workload), ifFound(otherWorkload)];
  return own !== null && own.uid === theirs?.uid ? own : null;
};

const separate = (common: WorkloadView | null, { pod }: Situation, other: PodView): readonly string[] => {
  if (common === null)
    return [
      'give each workload a claim of its own, or use ReadWriteMany storage (a file share)',
      `or keep both on one Node with a podAffinity. For a Job: run it when ${other.name} is stopped`,
    ];
  const isScalable = ['Deployment', 'StatefulSet', 'ReplicaSet'].includes(common.kind);
  return [
    isScalable
      ? `kubectl -n ${pod.namespace} scale ${common.kind.toLowerCase()} ${common.name} --replicas=1      # and its ` +
        'autoscaler, if it has one'
      : `let ${common.kind} ${common.name} run one pod at a time`,
    'for several replicas: a StatefulSet with volumeClaimTemplates, or ReadWriteMany storage (a file share)',
    'or keep them on one Node with a podAffinity',
  ];
};

const sharing = (situation: Situation, other: PodView): Cause => {
  const { pod, claimName } = situation;
  const common = commonWorkload(situation);
  const [own, theirs] = [ifFound(situation.workload), ifFound(situation.otherWorkload)];
  return cause('shared-claim', 'proved', 'by-person', {
    says:
      `${common ? `Several pods of ${common.kind} ${common.name}` : 'Two workloads'} share the claim ` +
      `${claimName ?? ''}, and ${describeVolume(situation)} serves one Node at a time.`,
    proof: [
      `${nameOf(other)} ${presence(other)}, controlled by ${ownerInWords(theirs, other)}`,
      `${nameOf(pod)} is controlled by ${ownerInWords(own, pod)}`,
      ...modeProof(situation),
    ],
    waits: `${nameOf(pod)} ← disk ← ${nameOf(other)}, which has no reason to end.`,
    next: [
      ...separate(common, situation, other),
      `do not fence ${other.node ?? 'the Node'}: ${other.runs ? `${other.name} is healthy` : 'it works'}`,
    ],
  });
};

/** The Deployment whose rollout makes the pods meet. Pods of one revision meet because it has several replicas. */
const rollingOut = (situation: Situation): WorkloadView | null => {
  const common = commonWorkload(situation);
  if (common?.kind !== 'Deployment' || !common.surges) return null;
  const revisions = [common.revision, ifFound(situation.otherWorkload)?.revision ?? null];
  return revisions[0] !== null && revisions[0] === revisions[1] ? null : common;
};

/** Whether the pod keeps the volume there. One that crashes or pulls its image does so if the volume is attached. */
const keepsVolume = ({ runs, deletionEnds }: PodView, location: NodeLocation): boolean =>
  deletionEnds === null && (runs || attachmentAt(location)?.attached === true);

/** A pod of the same Deployment, or of another workload, uses the volume on a healthy Node. */
export const anotherPod: CauseRule = (situation) => {
  const { now, pod, target } = situation;
  for (const location of blockersOf(situation)) {
    const other = podsAt(location, situation).find((one) => keepsVolume(one, location));
    if (!other || !isHealthy(location, now) || pod.node === null || target === null) continue;
    const deployment = rollingOut(situation);
    return deployment ? inRollout(situation, other, deployment) : sharing(situation, other);
  }
  return null;
};

/**
 * The containers have ended, but the kubelet does not unmount a volume. If a storage server is gone, processes that use
 * it hang.
 */
const notUnmounted = (situation: Situation, location: NodeLocation, other: PodView, waits: string): Cause => {
  const proof = [
    describeKubelet(location, situation.now),
    `its grace period ended at ${formatTime(other.deletionEnds ?? 0)}`,
  ];
  const { nodeName } = location;
  const says = `${nameOf(other)} has no running container any more, but ${nodeName} does not finish its deletion`;
  if (isNetworkStorage(situation))
    return cause('storage-server-gone', 'likely', 'by-person', {
      says: `${says}: most likely the server of ${describeVolume(situation)} does not answer, and the unmount hangs.`,
      proof,
      waits,
      next: [
        'start the server again, or repair its network: the unmount then ends by itself. Other pods of the Node with ' +
          'the same server are slow, too',
        `if it never comes back: drain and reboot ${location.nodeName}`,
      ],
    });
  return cause('unmount-stuck', 'likely', 'by-person', {
    says: `${says}: most likely it cannot unmount a volume.`,
    proof,
    waits,
    next: [
      `the kubelet's log on ${location.nodeName} has "UnmountVolume" and the reason, such as "device or resource busy"`,
      `end what holds the mount, restart the kubelet, or drain and reboot ${location.nodeName}. A forced ` +
        'deletion of the pod does not free the disk',
    ],
  });
};

/** A pod on a healthy Node is being deleted but does not end. */
const doesNotEnd = (situation: Situation, location: NodeLocation, other: PodView): Cause => {
  const late = situation.now - (other.deletionEnds ?? situation.now);
  const isItself = other.uid === situation.pod.uid;
  const waits = isItself
    ? `${nameOf(other)} ← the kubelet of ${location.nodeName}.`
    : `${nameOf(situation.pod)} ← disk ← ${nameOf(other)} ← the kubelet of ${location.nodeName}. ` +
      'No timer ends this.';
  return other.runs
    ? cause('pod-does-not-end', 'proved', 'by-person', {
        says:
          `${nameOf(other)} should have ended ${formatDuration(late)} ago, but a container of it still runs on ` +
          `${location.nodeName}.`,
        proof: [
          describeKubelet(location, situation.now),
          `its grace period ended at ${formatTime(other.deletionEnds ?? 0)}`,
        ],
        waits,
        next: [
          `look at the container on ${location.nodeName}: crictl ps, then why it does not stop`,
          `restart the kubelet of ${location.nodeName}. A forced deletion of the pod frees nothing`,
        ],
      })
    : notUnmounted(situation, location, other, waits);
};

/** The pods on healthy Nodes that have the volume: the pod itself if it is being deleted, and those that hold it. */
const podsThatHold = (situation: Situation): readonly (readonly [NodeLocation, PodView])[] => {
  const { now, pod, target } = situation;
  const own = target !== null && pod.deletionEnds !== null ? [[target, pod] as const] : [];
  const others = blockersOf(situation).flatMap((location) =>
    podsAt(location, situation).map((other) => [location, other] as const),
  );
  return [...own, ...others].filter(([location]) => isHealthy(location, now));
};

export const podDoesNotEnd: CauseRule = (situation) => {
  const { now } = situation;
  const late = podsThatHold(situation).find(
    ([, { deletionEnds, finalizers }]) => (deletionEnds ?? now) < now && finalizers.length === 0,
  );
  return late ? doesNotEnd(situation, ...late) : null;
};

/** A pod that is being deleted still has time to end. */
export const podEnds: CauseRule = (situation) => {
  const { now, pod } = situation;
  const found = podsThatHold(situation).find(([, { deletionEnds }]) => (deletionEnds ?? 0) >= now);
  if (!found) return null;
  const [{ nodeName }, other] = found;
  const until = formatTime(other.deletionEnds ?? now);
  const before = other.uid === pod.uid ? '' : `${nameOf(pod)} ← disk ← `;
  return cause('moving-now', 'proved', 'by-itself', {
    says: `${nameOf(other)} is being deleted, and has time until ${until} to end on ${nodeName}.`,
    proof: [`its grace period ends at ${until}`],
    waits: `${before}${nameOf(other)} ← its grace period, until ${until}.`,
    next: [`look again after ${until}; do not force its deletion: it may still write to the volume`],
  });
};

/** No pod uses the volume on a Ready Node, but the kubelet still lists it as mounted. */
export const staysMounted: CauseRule = (situation) => {
  const { now, volume, pod } = situation;
  for (const location of blockersOf(situation)) {
    const attachment = attachmentAt(location);
    const isFree = podsAt(location, situation).length === 0 && attachment !== null && attachment.deletingSince === null;
    const since = pod.created;
    if (!isFree || !isHealthy(location, now) || !isInUse(location, situation) || now - since < MOVE_MS) continue;
    const driver = ifFound(volume)?.handle?.driver ?? '';
    const drivers = nodeAt(location)?.drivers ?? 'unread';
    const lacks = drivers !== 'unread' && !drivers.some(({ name }) => name === driver);
    return cause(lacks ? 'driver-missing-on-holder' : 'unmount-stuck', lacks ? 'proved' : 'likely', 'by-person', {
      says: lacks
        ? `No pod on ${location.nodeName} uses ${describeVolume(situation)}, but its kubelet cannot unmount it: ` +
          `the driver ${driver} is not registered there any more.`
        : `No pod on ${location.nodeName} uses ${describeVolume(situation)}, but its kubelet still lists it as ` +
          'mounted.',
      proof: [describeKubelet(location, now), `the Node's volumesInUse lists the volume`],
      waits:
        `${nameOf(pod)} ← attach-detach controller ← the kubelet of ${location.nodeName}. The Node is Ready, so ` +
        'no timer ends this.',
      next: [
        ...(lacks ? [`start the node plugin of ${driver} on ${location.nodeName} again`] : []),
        `restart the kubelet of ${location.nodeName}, or drain and reboot it`,
      ],
    });
  }
  return null;
};

/** The first seconds of a move, in which waiting is normal. */
export const movingNow: CauseRule = (situation) => {
  const { now, pod, target } = situation;
  const attachment = attachmentAt(target);
  if (target === null || attachment?.attached || needsNoAttachment(situation)) return null;
  const going = blockersOf(situation).find((location) => attachmentAt(location)?.deletingSince);
  const since = attachmentAt(going ?? null)?.deletingSince ?? attachment?.created ?? pod.created;
  const own = attachment?.attachError ?? null;
  const isEcho = own?.fault === 'attached-elsewhere' && going !== undefined;
  const errors = (own !== null && !isEcho) || Boolean(attachmentAt(going ?? null)?.detachError);
  if (errors || now - since > MOVE_MS || now - pod.created > 2 * MOVE_MS) return null;
  return cause('moving-now', 'likely', 'by-itself', {
    says:
      `${describeVolume(situation)} is on its way to ${target.nodeName}. Some seconds of "Multi-Attach error" or ` +
      '"Waiting for detach" are normal on every move.',
    proof: [
      going
        ? `the detach from ${going.nodeName} began ${formatDuration(now - since)} ago`
        : `nothing has failed so far`,
    ],
    waits: `${nameOf(pod)} ← attach-detach controller.`,
    next: [`look again after ${formatTime(since + MOVE_MS)}`],
  });
};
