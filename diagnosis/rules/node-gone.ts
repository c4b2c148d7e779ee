import type { Cause } from '../model/cause.ts';
import { ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import { type MachineFacts, powerInWords } from '../../fencing/model/machine.ts';
import { isNamedByDisk, proofOf } from './holder.ts';
import {
  attachmentAt,
  cause,
  cloudSays,
  describeTimer,
  describeVolume,
  fenceAdvice,
  nameOf,
  nodeAt,
  type CauseRule,
  isOffOrMissing,
} from './rule.ts';
import { blockersOf, storageNote } from './storage.ts';

/** Causes in a Node that no longer exists, or whose name belongs to another machine now. */

/** The cloud does not show the machine. If its disk still names it, it may be hidden from the credentials, and run. */
const isHidden = ({ power, machine }: MachineFacts, situation: Situation): boolean =>
  power === 'missing' && isNamedByDisk(situation, machine);

/** Returns whether the cloud says that the machine is off or does not exist, and its disk does not contradict. */
const isGoneForSure = (facts: MachineFacts, situation: Situation): boolean =>
  isOffOrMissing(facts) && !isHidden(facts, situation);

const removeAttachment = (location: NodeLocation): string => {
  const attachment = attachmentAt(location);
  return attachment
    ? `check that nothing runs on ${location.machine ?? location.nodeName}, then: kubectl delete ` +
        `volumeattachment ${attachment.name}`
    : 'look at the disk in the cloud: nothing in the cluster names its holder';
};

const goneSays = (location: NodeLocation, situation: Situation, machine: string): string =>
  `Node ${location.nodeName} no longer exists${machine}, but ${describeVolume(situation)} is still attached to it.`;

const goneProof = (location: NodeLocation, situation: Situation, facts: MachineFacts | null): readonly string[] => {
  const attachment = attachmentAt(location);
  return [
    ...proofOf(location, situation, facts),
    ...(attachment ? [`VolumeAttachment ${attachment.name} still exists`] : []),
  ];
};

const goneWaits = (location: NodeLocation, situation: Situation): string =>
  `${nameOf(situation.pod)} ← attach-detach controller ← a Node that does not exist. ` +
  describeTimer(location, situation);

const gone = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('node-gone', 'proved', 'by-fence', {
    says: goneSays(location, situation, ', and its machine is gone or off'),
    proof: goneProof(location, situation, facts),
    machine: facts.machine,
    waits: goneWaits(location, situation),
    next: [`cloudfence fence ${facts.machine}`, `or ${removeAttachment(location)}`, ...storageNote(situation)],
  });

/** No cloud says whether the machine runs: nothing names it, its cloud is not supported, or it did not answer. */
const goneUnasked = (location: NodeLocation, situation: Situation): Cause =>
  cause('node-gone', 'likely', 'by-person', {
    says: goneSays(location, situation, ''),
    proof: goneProof(location, situation, null),
    machine: location.machine,
    waits: goneWaits(location, situation),
    next: [
      location.machine === null
        ? `find out whether the machine of ${location.nodeName} still runs: nothing in the cluster names it any more`
        : `run this again with credentials that may read ${location.machine}`,
      removeAttachment(location),
      ...storageNote(situation),
    ],
  });

const isOrMay = ({ power }: MachineFacts): string =>
  power === 'running' ? 'runs and may' : `is ${powerInWords(power)} and may`;

const goneButRuns = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const hidden = isHidden(facts, situation);
  return cause('node-gone-machine-runs', hidden ? 'cannot-tell' : 'proved', 'by-person', {
    says: hidden
      ? `Node ${location.nodeName} no longer exists, and the cloud does not show its machine ${facts.machine}. But ` +
        'the disk still names that machine, so it may run and write.'
      : `Node ${location.nodeName} no longer exists, but its machine ${facts.machine} ${isOrMay(facts)} still ` +
        `write to ${describeVolume(situation)}.`,
    proof: [...proofOf(location, situation, facts), ...(hidden ? [`the disk itself names ${facts.machine}`] : [])],
    waits: `${nameOf(situation.pod)} ← disk ← ${facts.machine}, which Kubernetes no longer knows.`,
    next: [
      hidden
        ? `look at ${facts.machine} with credentials that see it: if it is being deleted, its disk becomes free soon`
        : `stop ${facts.machine} in its cloud, then: cloudfence fence ${facts.machine}`,
      ...(facts.power === 'running'
        ? ['or start its kubelet again, so that it registers and unmounts the volume']
        : []),
      'do not delete the VolumeAttachment before that: two machines could write to the disk',
    ],
  });
};

/** Returns the cause for a location whose Node does not exist. */
export const judgeWithoutNode = (location: NodeLocation, situation: Situation): Cause | null => {
  const facts = ifFound(location.power);
  if (facts === null) return attachmentAt(location) === null ? null : goneUnasked(location, situation);
  return isGoneForSure(facts, situation) ? gone(location, situation, facts) : goneButRuns(location, situation, facts);
};

/** Its Node's name was given to another machine, and the disk still names the earlier one. */
const former = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const { nodeName, machine } = location;
  const isOff = isGoneForSure(facts, situation);
  const is = facts.power === 'missing' ? 'hidden from these credentials' : facts.power;
  return cause(isOff ? 'node-gone' : 'node-gone-machine-runs', 'proved', isOff ? 'by-fence' : 'by-person', {
    says:
      `${describeVolume(situation)} is still attached to ${facts.machine}, an earlier machine with the name ` +
      `${nodeName}, ${isOff ? 'and that machine is off.' : `which is ${is} and may write to it.`}`,
    proof: [
      cloudSays(facts),
      `VolumeAttachment ${attachmentAt(location)?.name ?? ''} names it`,
      `the name ${nodeName} now belongs to ${machine ?? 'another machine'}`,
    ],
    machine: isOff ? facts.machine : null,
    waits: `${nameOf(situation.pod)} ← disk ← ${facts.machine}, which is no longer a Node.`,
    next: [
      ...(isOff
        ? fenceAdvice(facts.machine)
        : [`stop ${facts.machine} in its cloud, then: cloudfence fence ${facts.machine}`]),
      `do not delete the VolumeAttachment: its attacher would send the detach to ` +
        `${machine ?? 'the new machine'}, and the disk would stay attached`,
    ],
  });
};

export const formerMachine: CauseRule = (situation) => {
  const { target, strangers } = situation;
  for (const location of [...blockersOf(situation), ...(target ? [target] : [])]) {
    const { attachedMachine, machine } = location;
    const facts = attachedMachine === machine ? null : strangers.find((one) => one.machine === attachedMachine);
    if (facts && nodeAt(location) !== null) return former(location, situation, facts);
  }
  return null;
};
