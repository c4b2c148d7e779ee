import type { Cause } from '../model/cause.ts';
import { ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import {
  attachmentAt,
  cause,
  formatTime,
  holdersOf,
  isHealthy,
  isInUse,
  isKubeletSilent,
  describeKubelet,
  SILENT_MS,
  nameOf,
  nodeAt,
  podsAt,
  type CauseRule,
  describeVolume,
  storageNote,
} from './rule.ts';

/** The machine of the Node that has the volume: off, stopping, suspended, unreachable, gone, or unknown. */

const SIX_MINUTES = 360_000;
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const GRACE = 60_000;
const OFF = ['off', 'off-if-repeated'];

/** Says what Kubernetes' own timer does. It counts only for a volume that the kubelet listed as mounted. */
const timerWords = (place: NodeLocation, situation: Situation): string => {
  const { pod, now } = situation;
  const still = podsAt(place, situation);
  if (nodeAt(place)?.outOfService)
    return `By the taint ${OUT_OF_SERVICE}, Kubernetes deletes the pods there and detaches the disk at once.`;
  if (still.length > 0) return `No timer ends this while the pod ${still.map(nameOf).join(', ')} exists.`;
  if (pod.node === place.nodeName) return 'Kubernetes starts no timer while this pod exists.';
  if (attachmentAt(place)?.deletingSince) return 'Kubernetes detaches it already.';
  const fires = pod.created + SIX_MINUTES;
  if (nodeAt(place) !== null && !isInUse(place, situation)) return 'Kubernetes detaches it by itself soon.';
  return now > fires + GRACE
    ? "Kubernetes' six-minute timer did not fire: it may be switched off (--disable-force-detach-on-timeout), or its controller restarted."
    : `Kubernetes' six-minute timer fires about ${formatTime(fires)}, unless it is switched off (--disable-force-detach-on-timeout).`;
};

/** The kubelet itself says that its Node is not Ready. So it is not cut off. */
const reports = (place: NodeLocation, now: number): boolean => {
  const { ready, leaseRenewed } = nodeAt(place) ?? { ready: 'Unknown', leaseRenewed: null };
  return ready === 'False' && leaseRenewed !== null && now - leaseRenewed <= SILENT_MS;
};

const waiting = (place: NodeLocation, situation: Situation): string => {
  const { pod } = situation;
  const before = pod.node === place.nodeName ? [] : ['attach-detach controller'];
  const kubelet = `the kubelet of ${place.nodeName}${reports(place, situation.now) ? '' : ', which cannot answer'}`;
  const chain = [nameOf(pod), ...before, kubelet];
  return `${chain.join(' ← ')}. ${timerWords(place, situation)}`;
};

const cloudSays = ({ machine, evidence, power }: MachineFacts): string =>
  `the cloud says of ${machine}: ${Object.values(evidence)[0] ?? power}`;

const proofOf = (place: NodeLocation, situation: Situation, facts: MachineFacts | null): readonly string[] => [
  describeKubelet(place, situation.now),
  ...(facts ? [cloudSays(facts)] : []),
  ...(isInUse(place, situation) ? [`${place.nodeName} listed the volume as mounted when it last reported`] : []),
  ...(situation.shutDown.some(({ node }) => node === place.nodeName)
    ? ['its pods ended by a graceful shutdown, but the volume was not unmounted']
    : []),
];

const fenceIt = (node: string): readonly string[] => [`cloudfence fence ${node} --dry-run`, `cloudfence fence ${node}`];

/** The pod is bound to another Node whose machine is off: the disk alone does not help it. */
const fenceTargetToo = (place: NodeLocation, { target, pod }: Situation): readonly string[] =>
  target && target.nodeName !== place.nodeName && OFF.includes(ifFound(target.power)?.power ?? '')
    ? [`then also: cloudfence fence ${target.nodeName}      # its machine is off, too, and ${pod.name} is bound to it`]
    : [];

/** What Kubernetes may not do without knowing that the machine is off. Storage of the network is attached nowhere. */
const whatWaits = (situation: Situation): string =>
  ifFound(situation.driver)?.attachRequired === false
    ? `end the pods that use ${describeVolume(situation)} there`
    : `detach ${describeVolume(situation)}`;

const off = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const fenced = nodeAt(place)?.fenced ?? false;
  return cause('machine-off', 'proved', 'by-fence', {
    says: `The machine of ${place.nodeName} is off. Kubernetes may not ${whatWaits(situation)}, because it cannot know that.`,
    proof: [...proofOf(place, situation, facts), ...(fenced ? ['Cloudfence has fenced the Node'] : [])],
    machine: facts.machine,
    waits: waiting(place, situation),
    next: [...fenceIt(place.nodeName), ...fenceTargetToo(place, situation), ...storageNote(situation)],
  });
};

const gone = (place: NodeLocation, situation: Situation, facts: MachineFacts | null): Cause => {
  const attachment = attachmentAt(place);
  const proven = facts !== null && (facts.power === 'missing' || facts.power === 'off');
  const remove = attachment
    ? `or check that nothing runs on ${place.machine ?? place.nodeName}, then: kubectl delete volumeattachment ${attachment.name}`
    : 'or look at the disk in the cloud: nothing in the cluster names its holder';
  return cause('node-gone', proven ? 'proved' : 'likely', 'by-fence', {
    says: `Node ${place.nodeName} no longer exists${proven ? ', and its machine is gone or off' : ''}, but ${describeVolume(situation)} is still attached to it.`,
    proof: [
      ...proofOf(place, situation, facts),
      ...(attachment ? [`VolumeAttachment ${attachment.name} is left`] : []),
    ],
    machine: facts?.machine ?? place.machine,
    waits: `${nameOf(situation.pod)} ← attach-detach controller ← a Node that does not exist. ${timerWords(place, situation)}`,
    next: [proven ? `cloudfence fence ${facts.machine}` : 'cloudfence sweep', remove, ...storageNote(situation)],
  });
};

const goneButRuns = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('node-gone-machine-runs', 'proved', 'by-person', {
    says: `Node ${place.nodeName} no longer exists, but its machine ${facts.machine} runs and may still write to ${describeVolume(situation)}.`,
    proof: proofOf(place, situation, facts),
    waits: `${nameOf(situation.pod)} ← disk ← ${facts.machine}, which Kubernetes no longer knows.`,
    next: [
      `stop ${facts.machine} in its cloud, then: cloudfence fence ${facts.machine}`,
      'or start its kubelet again, so that it registers and unmounts the volume',
      'do not delete the VolumeAttachment before: two machines could write to the disk',
    ],
  });

/** Kubernetes' timer does not ask whether the machine is off. */
const forcedDetach = (place: NodeLocation, situation: Situation): readonly string[] =>
  timerWords(place, situation).includes('timer fires')
    ? [
        `stop it before Kubernetes' timer fires, which detaches the disk by force, even from a machine that writes to it`,
      ]
    : [];

/** Somebody has told Kubernetes that the machine is off. Cloudfence takes back its own taint by itself. */
const wronglyTainted = (place: NodeLocation): boolean => nodeAt(place)?.outOfService === 'foreign';

const unreachable = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const isTainted = wronglyTainted(place);
  const isReporting = reports(place, situation.now);
  return cause('machine-unreachable', 'proved', 'by-person', {
    says: `${place.nodeName} ${isReporting ? 'is not Ready, but its kubelet reports' : 'is cut off or hangs, but its machine runs'}, and it may still write to ${describeVolume(situation)}. Do not fence it as it is.`,
    proof: [
      ...proofOf(place, situation, facts),
      ...(isTainted ? [`${place.nodeName} has the taint ${OUT_OF_SERVICE}, which says that its machine is off`] : []),
      ...(isReporting ? [] : ['it is unknown why its kubelet is silent']),
    ],
    waits: waiting(place, situation),
    next: [
      ...(isTainted
        ? [
            `kubectl taint node ${place.nodeName} ${OUT_OF_SERVICE}-      # now: the taint lets two machines write to the disk`,
          ]
        : []),
      isReporting
        ? `kubectl describe node ${place.nodeName}      # the condition Ready says why: the container runtime, the network plugin`
        : `repair the network or the kubelet of ${place.nodeName}: the pod then moves by itself`,
      `or stop ${facts.machine} in its cloud, then: cloudfence fence ${place.nodeName}`,
      ...forcedDetach(place, situation),
    ],
  });
};

const onItsWay = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-stopping', 'proved', 'by-fence', {
    says: `The machine of ${place.nodeName} is ${facts.power}. Until that ends, its guest may still write to ${describeVolume(situation)}.`,
    proof: proofOf(place, situation, facts),
    waits: `${nameOf(situation.pod)} ← ${facts.machine}, which is ${facts.power}.`,
    next: ['look again in a minute', `when it is off: cloudfence fence ${place.nodeName}`],
  });

const suspended = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-suspended', 'proved', 'by-person', {
    says: `The machine of ${place.nodeName} is suspended. Its memory continues to write to ${describeVolume(situation)} within seconds of a resume, so it counts as running.`,
    proof: proofOf(place, situation, facts),
    waits: waiting(place, situation),
    next: [
      `resume ${facts.machine}: the pod then moves by itself`,
      `or stop it for good in its cloud, then: cloudfence fence ${place.nodeName}`,
    ],
  });

/** The cloud answered, and what it says is neither off nor running, such as a repair of the host. */
const betweenStates = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-unknown', 'cannot-tell', 'by-person', {
    says: `${place.nodeName} is silent, and its machine is neither off nor running by the word of the cloud. Its guest may still write to ${describeVolume(situation)}.`,
    proof: proofOf(place, situation, facts),
    waits: waiting(place, situation),
    next: [
      `look again in a few minutes: the cloud may be repairing or moving ${facts.machine}`,
      `if it stays so: stop it in its cloud, then: cloudfence fence ${place.nodeName}`,
      ...storageNote(situation),
    ],
  });

const unknownPower = (place: NodeLocation, situation: Situation): Cause =>
  cause('machine-unknown', 'cannot-tell', 'by-person', {
    says:
      place.machine === null
        ? `${place.nodeName} is silent, and nothing on it names a machine of a supported cloud. So it is unknown whether the machine is off or only cut off.`
        : `${place.nodeName} is silent, and the cloud did not say whether ${place.machine} is off or runs. Both look the same from the cluster.`,
    proof: proofOf(place, situation, null),
    waits: waiting(place, situation),
    next: [
      place.machine === null
        ? `look at the machine of ${place.nodeName} yourself: off, or only unreachable?`
        : `run this again with credentials that may read ${place.machine}`,
      `off: cloudfence fence ${place.nodeName} (docs/safety.md says when a person may vouch). Running: repair it, or stop it first`,
      ...storageNote(situation),
    ],
  });

const missing = (place: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const { disk } = situation;
  const view = ifFound(disk);
  const held = view?.holders.some(({ machine }) => machine === facts.machine) ?? false;
  return cause('machine-off', view && !held ? 'proved' : 'likely', 'by-fence', {
    says: `The cloud no longer knows the machine of ${place.nodeName}. Kubernetes keeps ${describeVolume(situation)} attached to it.`,
    proof: [...proofOf(place, situation, facts), ...(held ? ['but its disk still names the machine'] : [])],
    machine: facts.machine,
    waits: waiting(place, situation),
    next: [
      ...(held
        ? [
            `look at ${facts.machine} in its cloud: if it is being deleted, its disk goes free; if it is only hidden from these credentials, it may run`,
          ]
        : []),
      ...fenceIt(place.nodeName),
      ...storageNote(situation),
    ],
  });
};

/** Judges one place by what the cloud says. */
const judge = (place: NodeLocation, situation: Situation): Cause | null => {
  const facts = ifFound(place.power);
  const silent = isKubeletSilent(place, situation.now);
  if (place.node === null) return judgeWithoutNode(place, situation, facts);
  if (facts === null) return silent ? unknownPower(place, situation) : null;
  switch (facts.power) {
    case 'off':
    case 'off-if-repeated':
      return off(place, situation, facts);
    case 'missing':
      return silent ? missing(place, situation, facts) : null;
    case 'stopping':
    case 'starting':
      return onItsWay(place, situation, facts);
    case 'suspended':
      return suspended(place, situation, facts);
    case 'running':
      return silent ? unreachable(place, situation, facts) : null;
    case 'unknown':
      return silent ? betweenStates(place, situation, facts) : null;
  }
};

const judgeWithoutNode = (place: NodeLocation, situation: Situation, facts: MachineFacts | null): Cause | null => {
  if (attachmentAt(place) === null && facts === null) return null;
  const alive = facts !== null && !['off', 'off-if-repeated', 'missing', 'unknown'].includes(facts.power);
  return alive ? goneButRuns(place, situation, facts) : gone(place, situation, facts);
};

/** The machine of a Node that has the volume, or of the Node on which a pod does not end. */
export const machineOfHolder: CauseRule = (situation) => {
  const { pod, target } = situation;
  const own = target !== null && (pod.deletionEnds !== null || pod.runs) ? [target] : [];
  for (const place of [...holdersOf(situation), ...own]) {
    const found = judge(place, situation);
    if (found) return found;
  }
  return null;
};

/** The pod is bound to a Node whose machine cannot start it. A fence deletes the pod, too. */
export const machineOfTarget: CauseRule = (situation) => {
  const { target, pod } = situation;
  const facts = ifFound(target?.power ?? null);
  if (!target || !facts || !['off', 'off-if-repeated', 'missing'].includes(facts.power)) return null;
  // A fence is refused while a kubelet speaks for a machine that the cloud does not know.
  if (facts.power === 'missing' && isHealthy(target, situation.now)) return null;
  return cause('target-machine-gone', 'proved', 'by-fence', {
    says: `${nameOf(pod)} was placed on ${target.nodeName}, whose machine is ${facts.power === 'missing' ? 'gone' : 'off'}.`,
    proof: proofOf(target, situation, facts),
    machine: facts.machine,
    waits: `${nameOf(pod)} ← ${target.nodeName}, which cannot start it.`,
    next: [...fenceIt(target.nodeName), 'its controller then makes a new pod for a Node that runs'],
  });
};
