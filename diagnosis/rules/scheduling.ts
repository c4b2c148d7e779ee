import {
  ifFound,
  type NodeLocation,
  type PvcView,
  type EventView,
  type Situation,
  type VolumeView,
} from '../model/facts.ts';
import {
  cause,
  describeSlots,
  holdersOf,
  isHealthy,
  isKubeletSilent,
  describeKubelet,
  firstLine,
  keepDisk,
  nameOf,
  nodeAt,
  type CauseRule,
} from './rule.ts';
import { remedyOfRefusal } from './provisioning.ts';

/** Causes in the claim and the PersistentVolume, and pods for which the scheduler finds no Node. */

const eventOf = ({ events }: PvcView, reasons: readonly string[]): EventView | null =>
  events.find(({ reason }) => reasons.includes(reason)) ?? null;

const claimOf = ({ pod, claimName }: Situation): string => `${pod.namespace}/${claimName ?? ''}`;

/**
 * Returns whether the pod already runs. In that case it has its volumes, and neither the claim nor the volume is the
 * cause.
 */
const isPast = ({ pod }: Situation): boolean => pod.runs || pod.deletionEnds !== null;

/** The claim does not exist, is lost, or is being deleted. */
export const pvcUnusable: CauseRule = (situation) => {
  const { claim, claimName, pod } = situation;
  if (claimName === null || claim === 'unread' || isPast(situation)) return null;
  const waits = `${nameOf(pod)} ← claim ${claimName}.`;
  if (claim === null)
    return cause('claim-missing', 'proved', 'by-person', {
      says: `The claim ${claimOf(situation)} does not exist.`,
      waits,
      next: ['create the claim, or correct its name in the pod'],
    });
  if (claim.phase === 'Lost')
    return cause('claim-lost', 'proved', 'by-person', {
      says: `The claim ${claimOf(situation)} has lost its PersistentVolume ${claim.volumeName}.`,
      waits,
      next: [
        'if the disk still exists: create a PersistentVolume with the same handle and the reclaim policy ' +
          'Retain, and bind the claim to it again',
      ],
    });
  if (!claim.deleting) return null;
  return cause('claim-going', 'proved', 'by-person', {
    says: `The claim ${claimOf(situation)} is being deleted. It stays as long as a pod names it, even a Completed one.`,
    proof: [`finalizers: ${claim.finalizers.join(', ') || 'none'}`],
    waits,
    next: [
      ...(claim.volumeName === '' ? [] : [keepDisk(claim.volumeName)]),
      'then delete the pods that name the claim, and create the claim again: a deletion cannot be taken back',
    ],
  });
};

const PENDING_EVENTS = ['ProvisioningFailed'];

/** The claim is not bound yet. */
export const pvcPending: CauseRule = (situation) => {
  const claim = ifFound(situation.claim);
  if (!claim || claim.phase !== 'Pending') return null;
  const { pod, claimName } = situation;
  const waits = `${nameOf(pod)} ← claim ${claimName ?? ''}`;
  const refused = eventOf(claim, PENDING_EVENTS);
  if (refused) {
    const { ending, next } = remedyOfRefusal(refused.says, claim);
    return cause('provisioning-refused', 'proved', ending, {
      says: `No volume could be made for the claim: ${firstLine(refused.says)}`,
      waits: `${waits} ← provisioner ${claim.provisioner ?? ''}.`,
      next,
    });
  }
  const asked = eventOf(claim, ['ExternalProvisioning', 'Provisioning']);
  if (asked)
    return cause('no-provisioner', 'likely', 'by-person', {
      says: `The provisioner ${claim.provisioner ?? ''} should create a volume, but does not answer.`,
      proof: [firstLine(asked.says)],
      waits: `${waits} ← provisioner ${claim.provisioner ?? ''}.`,
      next: [
        `see whether it runs: kubectl get csidriver ${claim.provisioner ?? ''}; kubectl get pods -A | grep -i csi`,
      ],
    });
  const unbound = eventOf(claim, ['FailedBinding', 'VolumeMismatch']);
  return (unbound ? null : waitsForConsumer(situation, claim, waits)) ?? noVolume(unbound, waits);
};

const waitsForConsumer = ({ pod }: Situation, claim: PvcView, waits: string) => {
  const told = eventOf(claim, ['WaitForFirstConsumer', 'WaitForPodScheduled']);
  if (!told && pod.unscheduled === null) return null;
  if (pod.node !== null && claim.selectedNode === null)
    return cause('waits-for-consumer', 'likely', 'by-person', {
      says:
        'The claim waits for the scheduler, but the pod has spec.nodeName set by hand: the scheduler never sees ' +
        'it.',
      waits: `${waits} ← scheduler, which is not asked.`,
      next: ['use a nodeSelector instead of spec.nodeName'],
    });
  return cause('waits-for-consumer', 'likely', 'by-person', {
    says:
      'The claim waits until the pod is placed, and the scheduler finds no ' +
      `Node${pod.unscheduled ? `: ${firstLine(pod.unscheduled)}` : '.'}`,
    waits: `${waits} ← scheduler.`,
    next: ['fix what the scheduler names. The volume is not the cause'],
  });
};

const noVolume = (told: EventView | null, waits: string) =>
  cause('no-volume', told ? 'proved' : 'likely', 'by-person', {
    says: `The claim has no PersistentVolume${told ? `: ${firstLine(told.says)}` : '.'}`,
    waits: `${waits} ← a PersistentVolume that fits.`,
    next: [
      'set a StorageClass, or create a PersistentVolume of its class, size, and mode',
      'a Released PersistentVolume serves again when its claimRef is removed; look at its data first',
    ],
  });

/** The PersistentVolume does not exist, or is being deleted. */
export const volumeUnusable: CauseRule = (situation) => {
  const { volume, pod } = situation;
  const claim = ifFound(situation.claim);
  if (!claim || claim.volumeName === '' || volume === 'unread' || isPast(situation)) return null;
  if (volume === null)
    return cause('volume-missing', 'proved', 'by-person', {
      says: `The claim ${claim.name} names the PersistentVolume ${claim.volumeName}, which does not exist.`,
      waits: `${nameOf(pod)} ← claim ${claim.name} ← a PersistentVolume that does not exist.`,
      next: [
        'if the disk still exists: create a PersistentVolume of that name with the same handle and the reclaim ' +
          'policy Retain',
      ],
    });
  if (!volume.deleting) return null;
  return cause('volume-going', 'proved', 'by-person', {
    says: `The PersistentVolume ${volume.name} is being deleted, so it cannot be attached to another Node.`,
    proof: [`finalizers: ${volume.finalizers.join(', ') || 'none'}`],
    waits: `${nameOf(pod)} ← ${volume.name}.`,
    next: [
      keepDisk(volume.name),
      'then bind a new PersistentVolume to the same disk, or restore the claim from a snapshot or a backup',
    ],
  });
};

const powerOf = ({ power }: NodeLocation): string | null => ifFound(power)?.power ?? null;

/** If a Node works, or could not be read, it still has the data. The answer never advises giving up such data. */
const bringBack = (homes: readonly NodeLocation[], hosts: string): readonly string[] => {
  const off = homes.find((location) => ['off', 'off-if-repeated'].includes(powerOf(location) ?? ''));
  return [
    off
      ? `start ${off.machine ?? hosts}: its data is there again, unless a stop empties its disks`
      : `bring ${hosts} back`,
    'if it never comes back, the data is lost: in that case, delete the claim and the pod, and let the ' +
      'application replicate from its other members',
  ];
};

const keepOn = (homes: readonly NodeLocation[], hosts: string): readonly string[] => [
  ...(homes.some((location) => nodeAt(location)?.fenced)
    ? [`Cloudfence has fenced ${hosts}: \`cloudfence status\` says what its release still lacks`]
    : []),
  `fix what keeps the pod off ${hosts}: a cordon, a taint, or too little free CPU or memory there`,
  `keep the claim: its data is on ${hosts}`,
];

/** The volume cannot move to another Node. The state of its Node decides whether the data is out of reach. */
const pinned = (situation: Situation, volume: VolumeView) => {
  const { pod, homes, now } = situation;
  const hosts = volume.hosts.join(', ');
  const there = homes.filter((location) => location.node === 'unread' || isHealthy(location, now));
  const only =
    `${volume.name} lives on ${hosts} and nowhere else. Neither Kubernetes, nor the cloud, nor Cloudfence can ` +
    'move its data';
  return cause('local-volume', 'proved', 'by-person', {
    says: there.length === 0 ? `${only}.` : `${only}. Something else keeps the pod off that Node.`,
    proof: [
      `its node affinity names ${hosts}`,
      ...homes.map((location) => describeKubelet(location, now)),
      `the scheduler: ${firstLine(pod.unscheduled ?? '')}`,
    ],
    waits: `${nameOf(pod)} ← ${there.length === 0 ? '' : 'scheduler ← '}${hosts}.`,
    next: there.length === 0 ? bringBack(homes, hosts) : keepOn(there, hosts),
  });
};

const TEXTS = {
  affinity: /didn't match PersistentVolume's node affinity|volume node affinity conflict/,
  zone: /no available volume zone|didn't find available persistent volumes to bind/,
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

/** Some versions of the scheduler name the taint. If a person removes it by hand, the fence ends. */
const fencedNote = (says: string): readonly string[] =>
  says.includes('cloudfence.dev/quarantine')
    ? [
        'Cloudfence has fenced a Node: `cloudfence status` says what its release still lacks. Do not remove ' +
          'its taint by hand',
      ]
    : [];

const inAnotherZone = (situation: Situation, says: string) => {
  const { pod, now } = situation;
  const zones = ifFound(situation.volume)?.zones ?? [];
  const silent = holdersOf(situation).filter((location) => isKubeletSilent(location, now));
  return cause('wrong-zone', 'proved', 'by-person', {
    says:
      'No Node where the pod may run is in the zone of the ' +
      `volume${zones.length > 0 ? ` (${zones.join(', ')})` : ''}.`,
    proof: [firstLine(says), ...silent.map((location) => `${describeKubelet(location, now)}, and has the volume`)],
    waits: `${nameOf(pod)} ← scheduler ← a Node in the zone of the volume.`,
    next: [
      ...fencedNote(says),
      'add a Node in that zone, or fix what keeps the pod off the Nodes there',
      'or restore a snapshot of the disk in another zone',
      ...(silent.length > 0 ? ['a fence frees the volume, but brings no Node into its zone'] : []),
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
      'a Node that is a minute old: look again in a minute',
      `else find out why the plugin does not start there: kubectl get pods -A -o wide | grep -i csi`,
      'Do not remove the taint by hand: the pod would then wait on that Node',
    ],
  });

/** The scheduler finds no Node. */
export const unscheduled: CauseRule = (situation) => {
  const { pod } = situation;
  const says = pod.unscheduled;
  const volume = ifFound(situation.volume);
  if (pod.node !== null || says === null || TEXTS.once.test(says)) return null;
  if (volume && volume.hosts.length > 0) return pinned(situation, volume);
  if (TEXTS.affinity.test(says) || TEXTS.zone.test(says)) return inAnotherZone(situation, says);
  const [, starting] = AGENT_NOT_READY.exec(says) ?? [];
  if (starting !== undefined) return agentNotReady(situation, starting, says);
  const isFull = TEXTS.full.test(says);
  return cause(isFull ? 'node-full' : 'not-the-volume', 'proved', 'by-person', {
    says: isFull
      ? 'The Nodes where the pod may run can attach no further volume.'
      : `${nameOf(pod)} does not wait for a volume: the scheduler finds no Node for it.`,
    proof: [firstLine(says), ...describeSlots(situation)],
    waits: `${nameOf(pod)} ← scheduler.`,
    next: isFull
      ? ['add a Node', 'look for VolumeAttachments that no pod needs: kubectl get volumeattachments']
      : [...fencedNote(says), 'fix what the scheduler names'],
  });
};
