import { isPoweredOff, type MachineFacts } from '../../fencing/model/machine.ts';
import { ifFound, type NodeLocation, type Situation, type VolumeView } from '../model/facts.ts';
import { keepData } from './holder.ts';
import { isAboutBinding } from './provisioning.ts';
import {
  cause,
  cloudSays,
  describeKubelet,
  describeSlots,
  firstLine,
  formatDuration,
  holdersOf,
  isHealthy,
  isKubeletSilent,
  nameOf,
  nodeAt,
  type CauseRule,
  isOffOrMissing,
} from './rule.ts';

/** Pods for which the scheduler finds no Node, and volumes that live on one Node only. */

/** Returns whether the machine is off, and can be started again. */
const isOffForNow = (facts: MachineFacts | null): boolean => isPoweredOff(facts) && facts?.forGood !== true;

/** If a Node works, or could not be read, it still has the data. The answer never advises giving up such data. */
const bringBack = (homes: readonly NodeLocation[], hosts: string): readonly string[] => {
  const off = homes.find(({ power }) => isOffForNow(ifFound(power)));
  const nameless = homes.some(({ node }) => node === null);
  return [
    ...(nameless
      ? [`kubectl get nodes --show-labels | grep ${hosts}      # a Node with another name may have it`]
      : []),
    off
      ? `start ${off.machine ?? hosts}: its data is there again, unless a stop empties its disks (instance store)`
      : `repair ${hosts}, so that it is Ready again`,
    'only if it never comes back, the data is lost: in that case, delete the claim and the pod, and let the ' +
      'application replicate from its other members',
  ];
};

const keepOn = (homes: readonly NodeLocation[], hosts: string): readonly string[] => [
  ...(homes.some((location) => nodeAt(location)?.fenced)
    ? [`Cloudfence has fenced ${hosts}: \`cloudfence status\` says what its release still waits for`]
    : []),
  `fix what prevents the pod from running on ${hosts}: a cordon, a taint, or too little free CPU or memory`,
  `keep the claim: its data is on ${hosts}`,
];

/** The data of a local volume. */
const NOTHING_MOVES_IT = 'Neither Kubernetes, nor the cloud, nor Cloudfence can move its data';

/** The volume cannot move to another Node. The state of its Node decides whether the data is out of reach. */
const pinned = (situation: Situation, volume: VolumeView) => {
  const { pod, homes, now } = situation;
  const hosts = volume.hosts.join(', ');
  const there = homes.filter((location) => location.node === 'unread' || isHealthy(location, now));
  const only = `${volume.name} exists only on ${hosts}. ${NOTHING_MOVES_IT}`;
  return cause('local-volume', 'proved', 'by-person', {
    says: there.length === 0 ? `${only}.` : `${only}. Something else prevents the pod from running on that Node.`,
    proof: [
      `its node affinity names ${hosts}`,
      ...homes.map((location) => describeKubelet(location, now)),
      `the scheduler: ${firstLine(pod.unscheduled ?? '')}`,
    ],
    waits: `${nameOf(pod)} ← ${there.length === 0 ? '' : 'scheduler ← '}${hosts}.`,
    next: there.length === 0 ? bringBack(homes, hosts) : keepOn(there, hosts),
  });
};

/**
 * The pod is on a Node whose machine is off, and its volume lives there. A fence deletes the pod, but its replacement
 * waits for the same Node.
 */
export const pinnedToMachineOff: CauseRule = (situation) => {
  const { pod, target, now } = situation;
  const volume = ifFound(situation.volume);
  if (!target || !volume || volume.hosts.length === 0 || !isOffOrMissing(ifFound(target.power))) return null;
  if (isHealthy(target, now)) return null;
  const facts = ifFound(target.power);
  return cause('local-volume', 'proved', 'by-person', {
    says:
      `${volume.name} exists only on ${volume.hosts.join(', ')}, and the machine of ${target.nodeName} is ` +
      `off. ${NOTHING_MOVES_IT}.`,
    proof: [
      `its node affinity names ${volume.hosts.join(', ')}`,
      describeKubelet(target, now),
      ...(facts ? [cloudSays(facts)] : []),
    ],
    waits: `${nameOf(pod)} ← ${target.nodeName}.`,
    next: [
      ...bringBack([target], target.nodeName),
      'a fence ends this pod, but its replacement waits for the same Node',
      ...keepData(target, situation),
    ],
  });
};

const TEXTS = {
  affinity: /didn't match PersistentVolume's node affinity|volume node affinity conflict/,
  zone: /no available volume zone/,
  full: /exceed max volume count/,
  once: /ReadWriteOncePod access mode already in-use/,
};

/** The claim allows only one pod, and another pod uses it. */
export const readWriteOncePodInUse: CauseRule = ({ pod, others }) => {
  if (pod.node !== null || !TEXTS.once.test(pod.unscheduled ?? '')) return null;
  const users = others.map(nameOf).join(', ');
  return cause('read-write-once-pod', 'proved', 'by-person', {
    says: `The claim is ReadWriteOncePod, and another pod uses it: ${users || 'one of this namespace'}.`,
    proof: [firstLine(pod.unscheduled ?? '')],
    waits: `${nameOf(pod)} ← ${users || 'the other pod'}.`,
    next: ['stop the other pod first; for a Deployment: strategy Recreate', 'or use ReadWriteOnce'],
  });
};

/** Since 1.36, the scheduler does not name the taint (plugins/tainttoleration: "node(s) had untolerated taint(s)"). */
const UNNAMED_TAINT = /had untolerated taint\(s\)/;

/**
 * Warns about two taints that a person must not remove. Without the taint of Cloudfence, a fence ends. Without that of
 * a driver, the pod waits on that Node.
 */
const taintNote = (says: string): readonly string[] => {
  if (says.includes('cloudfence.dev/quarantine'))
    return [
      'Cloudfence has fenced a Node: `cloudfence status` says what its release still waits for. Do not remove ' +
        'its taint by hand',
    ];
  if (!UNNAMED_TAINT.test(says)) return [];
  return [
    'kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints[*].key      # which taints they are',
    'leave these on the Node: <driver>/agent-not-ready (the node plugin of the driver has not started there) and ' +
      'cloudfence.dev/quarantine (`cloudfence status` says what the release waits for)',
  ];
};

const inAnotherZone = (situation: Situation, says: string) => {
  const { pod, now } = situation;
  const zones = ifFound(situation.volume)?.zones ?? [];
  const silent = holdersOf(situation).filter((location) => isKubeletSilent(location, now));
  const cordoned = /were unschedulable/.test(says);
  return cause('wrong-zone', 'proved', 'by-person', {
    says:
      'No Node where the pod may run is in the zone of the ' +
      `volume${zones.length > 0 ? ` (${zones.join(', ')})` : ''}.`,
    proof: [firstLine(says), ...silent.map((location) => `${describeKubelet(location, now)}, and has the volume`)],
    waits: `${nameOf(pod)} ← scheduler ← a Node in the zone of the volume.`,
    next: [
      ...taintNote(says),
      ...(cordoned
        ? ['kubectl get nodes      # one is cordoned: uncordon it, if it is in the zone of the volume']
        : []),
      'kubectl get nodes -L topology.kubernetes.io/zone      # a Node without the label of its zone does not count',
      'add a Node in that zone, or fix what prevents the pod from running on the Nodes there',
      'or restore a snapshot of the disk in another zone',
      ...(silent.length > 0 ? ['a fence frees the volume, but adds no Node in its zone'] : []),
    ],
  });
};

/** A driver's node plugin removes this taint from a new Node when it has started there. */
const AGENT_NOT_READY = /untolerated taint \{([\w.-]+)\/agent-not-ready/;

const agentNotReady = ({ pod }: Situation, driver: string, says: string) =>
  cause('driver-not-on-node', 'proved', 'by-person', {
    says: `The node plugin of the CSI driver ${driver} has not started on the Nodes where the pod may run.`,
    proof: [firstLine(says)],
    waits: `${nameOf(pod)} ← scheduler ← the node plugin of ${driver}.`,
    next: [
      'if the Node was created a minute ago, look again in a minute',
      `otherwise, find out why the plugin does not start there: kubectl get pods -A -o wide | grep -i csi`,
      'do not remove the taint by hand: the pod would then wait on that Node',
    ],
  });

/** A scheduler looks at a new pod within seconds. */
const NOTICED_WITHIN_MS = 60_000;

/** No scheduler has said anything about the pod. */
const unnoticed = ({ pod, now }: Situation) =>
  now - pod.created <= NOTICED_WITHIN_MS
    ? null
    : cause('not-the-volume', 'likely', 'by-person', {
        says: `${nameOf(pod)} has no Node, and no scheduler has reported why for ${formatDuration(now - pod.created)}.`,
        waits: `${nameOf(pod)} ← its scheduler.`,
        next: [
          `kubectl -n ${pod.namespace} get pod ${pod.name} -o jsonpath='{.spec.schedulerName}'      # check that ` +
            'this scheduler runs, and that one of its pods is the leader',
        ],
      });

const GATED = /^Scheduling is blocked due to non-empty scheduling gates/;

const noNode = (situation: Situation, says: string) => {
  const { pod } = situation;
  const isFull = TEXTS.full.test(says);
  const isGated = GATED.test(says);
  return cause(isFull ? 'node-full' : 'not-the-volume', 'proved', 'by-person', {
    says: isFull
      ? 'The Nodes where the pod may run cannot attach more volumes.'
      : `${nameOf(pod)} does not wait for a volume: ` +
        (isGated ? 'its scheduling gates prevent its scheduling.' : 'the scheduler finds no Node for it.'),
    proof: [firstLine(says), ...describeSlots(situation)],
    waits: `${nameOf(pod)} ← ${isGated ? 'whatever removes its scheduling gates' : 'scheduler'}.`,
    next: isFull
      ? ['add a Node', 'look for VolumeAttachments that no pod needs: kubectl get volumeattachments']
      : [
          ...taintNote(says),
          isGated ? 'find out what should remove spec.schedulingGates' : 'fix what the scheduler names',
        ],
  });
};

/**
 * What the scheduler says if a claim or its PersistentVolume is missing or is being deleted. The group is
 * the kind of the object.
 */
const UNUSABLE_STORAGE =
  /(persistentvolumeclaim|persistentvolume) "[^"]*" (?:not found|is being deleted)|non-existent pv/;

/**
 * The scheduler finds the storage of a claim unusable. If that is another claim of the pod, its own cause is proved and
 * comes first.
 */
const unusableStorage = ({ pod }: Situation, says: string, isClaim: boolean) => {
  const what = isClaim ? 'claim' : 'PersistentVolume';
  return cause(isClaim ? 'claim-missing' : 'volume-missing', 'likely', 'by-person', {
    says: `${nameOf(pod)} needs a ${what} that is missing or is being deleted.`,
    proof: [`the scheduler: ${firstLine(says)}`],
    waits: `${nameOf(pod)} ← scheduler ← a ${what}.`,
    next: [`kubectl -n ${pod.namespace} get pvc      # compare the column VOLUME with: kubectl get pv`],
  });
};

/** The scheduler finds no Node. */
export const unscheduled: CauseRule = (situation) => {
  const { pod } = situation;
  const says = pod.unscheduled;
  const volume = ifFound(situation.volume);
  if (pod.node !== null || pod.deletionEnds !== null) return null;
  if (says === null) return unnoticed(situation);
  if (TEXTS.once.test(says) || isAboutBinding(says)) return null;
  if (volume && volume.hosts.length > 0) return pinned(situation, volume);
  const unusable = UNUSABLE_STORAGE.exec(says);
  if (unusable) return unusableStorage(situation, says, unusable[1] === 'persistentvolumeclaim');
  if (TEXTS.affinity.test(says) || TEXTS.zone.test(says)) return inAnotherZone(situation, says);
  const [, starting] = AGENT_NOT_READY.exec(says) ?? [];
  if (starting !== undefined) return agentNotReady(situation, starting, says);
  return noNode(situation, says);
};
