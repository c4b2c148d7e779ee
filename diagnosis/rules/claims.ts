import type { Cause } from '../model/cause.ts';
import { ifFound, type EventView, type PvcView, type Situation } from '../model/facts.ts';
import { bindAgain, cause, firstLine, keepDisk, nameOf, type CauseRule } from './rule.ts';
import { causeBeforeBinding, isAboutBinding, remedyOfRefusal, stateOfProvisioner } from './provisioning.ts';

/** Causes in the claim and the PersistentVolume: missing, lost, being deleted, or not bound yet. */

const eventOf = ({ events }: PvcView, reasons: readonly string[]): EventView | null =>
  events.find(({ reason }) => reasons.includes(reason)) ?? null;

const claimOf = ({ pod, claimName }: Situation): string => `${pod.namespace}/${claimName ?? ''}`;

/**
 * Returns whether the pod already runs. In that case it has its volumes, and neither the claim nor the volume is the
 * cause.
 */
const isPast = ({ pod }: Situation): boolean => pod.runs || pod.deletionEnds !== null;

/** A claim of a generic ephemeral volume, which Kubernetes itself makes for the pod. */
const ephemeralMissing = (situation: Situation): Cause => {
  const { pod } = situation;
  return cause('claim-missing', 'proved', 'by-person', {
    says: `The claim ${claimOf(situation)} does not exist. Kubernetes makes it for the pod (generic ephemeral volume).`,
    waits: `${nameOf(pod)} ← claim ${claimOf(situation)} ← the ephemeral volume controller.`,
    next: [
      `kubectl -n ${pod.namespace} get events --field-selector involvedObject.uid=${pod.uid}      # says why it ` +
        'could not: a quota, an admission webhook',
      'do not create the claim by hand: the pod then refuses it, because it does not belong to the pod',
    ],
  });
};

/** A claim with the name of a generic ephemeral volume that was not made for this pod. */
const ephemeralOfOther = (situation: Situation, claim: PvcView): Cause => {
  const { pod } = situation;
  return cause('claim-missing', 'proved', 'by-person', {
    says:
      `The claim ${claimOf(situation)} exists, but it was not made for this pod, and the pod's generic ephemeral ` +
      'volume needs a claim of that name of its own.',
    proof: [`its owner: ${claim.owners.map(({ kind, name }) => `${kind} ${name}`).join(', ') || 'nobody'}`],
    waits: `${nameOf(pod)} ← a claim of its own.`,
    next: [
      'rename the volume in the pod, or the pod: the claim is called <pod>-<volume>',
      'keep the claim until somebody has looked at its data: it may belong to something else',
    ],
  });
};

const isForeign = ({ pod, claimName }: Situation, { owners }: PvcView): boolean =>
  claimName !== null && pod.ephemeralClaims.includes(claimName) && !owners.some(({ uid }) => uid === pod.uid);

const missing = (situation: Situation, waits: string): Cause =>
  situation.pod.ephemeralClaims.includes(situation.claimName ?? '')
    ? ephemeralMissing(situation)
    : cause('claim-missing', 'proved', 'by-person', {
        says: `The claim ${claimOf(situation)} does not exist.`,
        waits,
        next: ['create the claim, or correct its name in the pod'],
      });

/** The claim does not exist, is lost, or is being deleted. */
export const pvcUnusable: CauseRule = (situation) => {
  const { claim, claimName, pod } = situation;
  if (claimName === null || claim === 'unread' || isPast(situation)) return null;
  const waits = `${nameOf(pod)} ← claim ${claimName}.`;
  if (claim === null) return missing(situation, waits);
  if (isForeign(situation, claim)) return ephemeralOfOther(situation, claim);
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
      'then delete the pods that name the claim: a deletion cannot be taken back',
      ...(claim.volumeName === '' ? ['and create the claim again'] : [bindAgain(claim.volumeName)]),
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
      says: `No volume could be created for the claim: ${firstLine(refused.says)}`,
      waits: `${waits} ← provisioner ${claim.provisioner ?? ''}.`,
      next,
    });
  }
  const wait = { waits, since: Math.max(claim.since, pod.created), now: situation.now };
  const working = stateOfProvisioner(claim, wait);
  if (working) return working;
  const unbound = eventOf(claim, ['FailedBinding', 'VolumeMismatch']);
  if (unbound) return noVolume(unbound, waits, claim.volumeName);
  return (
    causeBeforeBinding(situation, claim, wait) ?? waitsForConsumer(situation, claim, waits) ?? noVolume(null, waits)
  );
};

const waitsForConsumer = ({ pod }: Situation, claim: PvcView, waits: string): Cause | null => {
  const event = eventOf(claim, ['WaitForFirstConsumer', 'WaitForPodScheduled']);
  if ((!event && pod.unscheduled === null) || isAboutBinding(pod.unscheduled ?? '')) return null;
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

/** The claim names a volume whose claimRef names another claim. Its data may be in use. */
const volumeOfOther = (volume: string): readonly string[] => [
  `kubectl get pv ${volume} -o jsonpath='{.status.phase} {.spec.claimRef}'      # Bound: that claim uses it, so ` +
    'choose another volume',
  'Released: that claim is gone. Look at the data of the volume before it serves another one',
  `then: kubectl patch pv ${volume} --type json -p '[{"op":"remove","path":"/spec/claimRef"}]'`,
];

const noVolume = (event: EventView | null, waits: string, volume = ''): Cause =>
  cause('no-volume', event ? 'proved' : 'likely', 'by-person', {
    says: `The claim has no PersistentVolume${event ? `: ${firstLine(event.says)}` : '.'}`,
    waits: `${waits} ← a PersistentVolume that fits.`,
    next:
      volume !== '' && event?.says.includes('already bound to a different claim')
        ? volumeOfOther(volume)
        : [
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
