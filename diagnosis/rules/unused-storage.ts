import type { Cause } from '../model/cause.ts';
import type { EventView, PvcView, VolumeView } from '../model/facts.ts';
import type { StorageFacts } from '../model/without-pod.ts';
import { bindAgain, cause, firstLine, formatDuration, keepDisk, nameOf } from './rule.ts';
import { remedyOfRefusal, stateOfProvisioner } from './provisioning.ts';

/** Why a claim or a PersistentVolume that no pod uses is not bound or not deleted. */

type StorageRule = (facts: StorageFacts) => Cause | null;

const eventOf = ({ events }: PvcView, reasons: readonly string[]): EventView | null =>
  events.find(({ reason }) => reasons.includes(reason)) ?? null;

const asked = ({ since, now }: { readonly since: number; readonly now: number }): string =>
  `its deletion was requested ${formatDuration(now - since)} ago`;

const claimLost: StorageRule = ({ claim }) =>
  claim?.phase !== 'Lost'
    ? null
    : cause('claim-lost', 'proved', 'by-person', {
        says: `The claim ${nameOf(claim)} has lost its PersistentVolume ${claim.volumeName}.`,
        waits: `claim ${nameOf(claim)} ← a PersistentVolume that does not exist.`,
        next: [
          'if the disk still exists: create a PersistentVolume with the same handle and the reclaim policy ' +
            'Retain, and bind the claim to it again',
        ],
      });

/** A pod keeps its claim even after the pod has ended. */
const claimGoing: StorageRule = ({ claim, ended, now }) => {
  if (!claim?.deleting) return null;
  const names = ended.map(nameOf).join(', ');
  return cause('claim-going', 'proved', 'by-person', {
    says:
      `The claim ${nameOf(claim)} is being ` +
      `deleted${names === '' ? '' : `, and pods that have ended still name it: ${names}`}.`,
    proof: [asked({ ...claim, now }), `finalizers: ${claim.finalizers.join(', ') || 'none'}`],
    waits: `claim ${nameOf(claim)} ← ${names || 'the controller of its finalizers'}.`,
    next: [
      ...(claim.volumeName === '' ? [] : [keepDisk(claim.volumeName)]),
      names === ''
        ? 'see whether the controllers of these finalizers run'
        : `kubectl -n ${claim.namespace} delete pod ${ended.map(({ name }) => name).join(' ')}`,
      ...(claim.volumeName === '' ? [] : [bindAgain(claim.volumeName)]),
    ],
  });
};

const pending = (claim: PvcView, now: number): Cause => {
  const waits = `claim ${nameOf(claim)} ← provisioner ${claim.provisioner ?? ''}.`;
  const refused = eventOf(claim, ['ProvisioningFailed']);
  if (refused) {
    const { ending, next } = remedyOfRefusal(refused.says, claim);
    return cause('provisioning-refused', 'proved', ending, {
      says: `No volume could be created for the claim ${nameOf(claim)}: ${firstLine(refused.says)}`,
      waits,
      next,
    });
  }
  const found = stateOfProvisioner(claim, { waits: `claim ${nameOf(claim)}`, since: claim.since, now });
  if (found) return found;
  if (eventOf(claim, ['WaitForFirstConsumer', 'WaitForPodScheduled']))
    return cause('waits-for-consumer', 'proved', 'over', {
      says: `The claim ${nameOf(claim)} waits for the first pod that uses it. That is what its StorageClass asks for.`,
      waits: `claim ${nameOf(claim)} ← a pod.`,
      next: [],
    });
  const unbound = eventOf(claim, ['FailedBinding', 'VolumeMismatch']);
  return cause('no-volume', unbound ? 'proved' : 'likely', 'by-person', {
    says: `The claim ${nameOf(claim)} has no PersistentVolume${unbound ? `: ${firstLine(unbound.says)}` : '.'}`,
    waits: `claim ${nameOf(claim)} ← a PersistentVolume that fits.`,
    next: ['set a StorageClass, or create a PersistentVolume of its class, size, and mode'],
  });
};

const claimPending: StorageRule = ({ claim, now }) => (claim?.phase === 'Pending' ? pending(claim, now) : null);

const volumeMissing: StorageRule = ({ claim, volume }) =>
  !claim || claim.volumeName === '' || volume
    ? null
    : cause('volume-missing', 'proved', 'by-person', {
        says: `The claim ${nameOf(claim)} names the PersistentVolume ${claim.volumeName}, which does not exist.`,
        waits: `claim ${nameOf(claim)} ← a PersistentVolume that does not exist.`,
        next: [
          'if the disk still exists: create a PersistentVolume of that name with the same handle and the ' +
            'reclaim policy Retain',
        ],
      });

/**
 * Returns what prevents the deletion of the volume: an attachment, its claim, or a disk that the driver cannot delete.
 */
const keeperOf = (
  { attachments, volumeEvents, claim }: StorageFacts,
  volume: VolumeView,
): readonly [string, string] => {
  const failed = volumeEvents.find(({ reason }) => reason === 'VolumeFailedDelete');
  if (attachments.length > 0)
    return [
      `it is still attached to ${attachments.map(({ node }) => node).join(', ')}`,
      `see why: cloudfence diagnose node/${attachments[0]?.node ?? ''}`,
    ];
  if (failed) return [`its driver cannot delete the disk: ${firstLine(failed.says)}`, 'fix what the error names'];
  if (claim && !claim.deleting)
    return [`the claim ${nameOf(claim)} is bound to it`, 'delete the claim first, if its data may go'];
  return [
    `finalizers: ${volume.finalizers.join(', ') || 'none'}`,
    'see whether the controllers of these finalizers run, such as the provisioner of its driver',
  ];
};

const volumeGoing: StorageRule = (facts) => {
  const { volume, now } = facts;
  if (!volume?.deleting) return null;
  const [keeper, next] = keeperOf(facts, volume);
  return cause('volume-going', 'proved', 'by-person', {
    says: `The PersistentVolume ${volume.name} is being deleted, and does not go: ${keeper}.`,
    proof: [asked({ ...volume, now }), `finalizers: ${volume.finalizers.join(', ') || 'none'}`],
    waits: `volume ${volume.name} ← ${keeper}.`,
    next: [keepDisk(volume.name), next],
  });
};

/** Its claim is gone, and its reclaim policy has kept the disk. */
const released: StorageRule = ({ claim, volume }) =>
  volume?.phase !== 'Released' || claim
    ? null
    : cause('not-waiting', 'proved', 'over', {
        says:
          `The claim of ${volume.name} is gone, and the volume keeps its data (Released). It serves no other claim ` +
          'before somebody gives it one.',
        waits: 'nobody.',
        next: [`after a look at its data: ${bindAgain(volume.name)}`],
      });

const unused = ({ claim, volume }: StorageFacts): Cause =>
  cause('not-waiting', 'proved', 'over', {
    says:
      `No pod uses ${claim ? `the claim ${nameOf(claim)}` : `the volume ${volume?.name ?? ''}`}, so no pod waits ` +
      'for it.',
    waits: 'nobody.',
    next: [],
  });

const questions: readonly StorageRule[] = [claimLost, claimGoing, claimPending, volumeMissing, volumeGoing, released];

/** Returns the one cause. Pure. */
export const causeWithoutPod = (facts: StorageFacts): Cause => {
  for (const ask of questions) {
    const found = ask(facts);
    if (found) return found;
  }
  return unused(facts);
};
