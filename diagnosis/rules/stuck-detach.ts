import { isPoweredOff, powerInWords } from '../../fencing/model/machine.ts';
import type { Cause } from '../model/cause.ts';
import { ifFound } from '../model/facts.ts';
import type { DetachFacts } from '../model/without-pod.ts';
import {
  cause,
  cloudSays,
  describeKubelet,
  fenceAdvice,
  firstLine,
  formatDuration,
  formatTime,
  isKubeletSilent,
  retryCommand,
} from './rule.ts';

/** Why an attachment to a Node does not go, if no pod waits for its volume. */

type DetachRule = (facts: DetachFacts) => Cause | null;

const what = ({ attachment: { volumeName, name } }: DetachFacts): string => volumeName ?? `the volume of ${name}`;

const proofOf = ({ attachment, location, now }: DetachFacts): readonly string[] => {
  const { deletingSince, detachError, finalizers } = attachment;
  const power = ifFound(location.power);
  return [
    ...(deletingSince === null ? [] : [`its deletion was requested ${formatDuration(now - deletingSince)} ago`]),
    ...(detachError ? [`detachError at ${formatTime(detachError.at)}: ${firstLine(detachError.says)}`] : []),
    ...(finalizers.length > 0 ? [`finalizers: ${finalizers.join(', ')}`] : []),
    describeKubelet(location, now),
    ...(power ? [cloudSays(power)] : []),
  ];
};

const machineOff: DetachRule = (facts) => {
  const { location, attachment } = facts;
  const power = ifFound(location.power);
  if (!power || !isPoweredOff(power)) return null;
  const gone = location.node === null;
  return cause(gone ? 'node-gone' : 'machine-off', 'proved', 'by-fence', {
    says: `${what(facts)} is still attached to ${attachment.node}, whose machine is off. No pod waits for it.`,
    proof: proofOf(facts),
    machine: power.machine,
    waits: `${attachment.name} ← a kubelet that cannot answer.`,
    next: fenceAdvice(gone ? power.machine : attachment.node),
  });
};

const nodeGone: DetachRule = (facts) => {
  const { location, attachment } = facts;
  const power = ifFound(location.power);
  if (location.node !== null || !power) return null;
  return cause('node-gone-machine-runs', 'proved', 'by-person', {
    says:
      `Node ${attachment.node} no longer exists, and its machine ${power.machine} is ` +
      `${powerInWords(power.power)}. It may still write to ${what(facts)}.`,
    proof: proofOf(facts),
    waits: `${attachment.name} ← ${power.machine}, which Kubernetes no longer knows.`,
    next: [
      `stop ${power.machine} in its cloud, then: cloudfence fence ${power.machine}`,
      'do not delete the VolumeAttachment before that: two machines could write to the disk',
    ],
  });
};

const volumeDeleted: DetachRule = (facts) => {
  const { attachment, volume } = facts;
  const { volumeName, node, name } = attachment;
  if (volume !== null || volumeName === null) return null;
  return cause('stale-attachment', 'proved', 'by-person', {
    says:
      `The PersistentVolume ${volumeName} no longer exists, and the attacher needs it to detach the disk from ` +
      `${node}.`,
    proof: proofOf(facts),
    waits: `${name} ← a PersistentVolume that does not exist.`,
    next: [
      `make sure that nothing on ${node} uses the disk, then create ${volumeName} again, with the same driver and ` +
        'handle and the reclaim policy Retain: the attacher detaches the disk by itself',
      'or detach it in the cloud, and then remove the finalizer of the VolumeAttachment',
    ],
  });
};

const diskFree: DetachRule = (facts) => {
  const { attachment, disk } = facts;
  if (!ifFound(disk)?.free) return null;
  return cause('stale-attachment', 'proved', 'by-person', {
    says: `The disk of ${what(facts)} is detached, but its attacher has not removed the VolumeAttachment.`,
    proof: proofOf(facts),
    waits: `${attachment.name} ← the attacher of ${attachment.driver}.`,
    next: [
      `the attacher tries again within five minutes; ${retryCommand(attachment)}`,
      'if its driver no longer exists: remove the finalizer of the VolumeAttachment. Nothing is attached',
    ],
  });
};

/** Only a kubelet that reports says that a volume is not mounted any more. */
const cutOff: DetachRule = (facts) => {
  const { location, attachment, now } = facts;
  const power = ifFound(location.power);
  if (!isKubeletSilent(location, now) || power?.power === 'missing') return null;
  const isKnown = power !== null && power.power !== 'unknown';
  const machine = location.machine ?? `the machine of ${attachment.node}`;
  return cause(isKnown ? 'machine-unreachable' : 'machine-unknown', isKnown ? 'proved' : 'cannot-tell', 'by-person', {
    says:
      `No pod uses ${what(facts)} on ${attachment.node}, but its kubelet is silent, and ` +
      `${isKnown ? `its machine is ${powerInWords(power.power)}` : 'it is unknown whether its machine runs'}: it may ` +
      'still write to the disk.',
    proof: proofOf(facts),
    waits: `${attachment.name} ← a kubelet that cannot be reached.`,
    next: [
      `repair ${attachment.node}: its kubelet then unmounts the volume, and Kubernetes detaches it`,
      `or stop ${machine} in its cloud, then: cloudfence fence ${attachment.node}`,
      attachment.deletingSince === null
        ? 'do one of the two soon: Kubernetes detaches the disk by force six minutes after its last pod has gone, ' +
          'even from a machine that writes to it'
        : 'do one of the two now: Kubernetes already detaches the disk, although nothing shows that the machine is off',
      'until then, start no other pod with this volume',
    ],
  });
};

const detaching: DetachRule = (facts) => {
  const { attachment, disk, location } = facts;
  const held = ifFound(disk)?.holders.find(({ machine }) => machine === location.machine);
  if (!held || !['detaching', 'busy'].includes(held.state)) return null;
  return cause('disk-busy', 'proved', 'by-person', {
    says: `The cloud does not finish the detach of ${what(facts)} from ${held.machine}: the guest still uses the disk.`,
    proof: [`the disk says ${held.state}`, ...proofOf(facts)],
    waits: `${attachment.name} ← disk ← ${held.machine}.`,
    next: ['unmount it in the guest, or reboot the machine', 'force the detach only once the machine is off'],
  });
};

/** The kubelet reports, and lists the volume as mounted although no pod is left. No timer ends this. */
const staysMounted: DetachRule = (facts) => {
  const { attachment, volume, location } = facts;
  const node = ifFound(location.node);
  const handle = ifFound(volume)?.handle?.handle;
  if (attachment.deletingSince !== null || !node?.inUse.some((one) => one.handle === handle)) return null;
  const lacks = node.drivers !== 'unread' && !node.drivers.some(({ name }) => name === attachment.driver);
  return cause(lacks ? 'driver-missing-on-holder' : 'unmount-stuck', lacks ? 'proved' : 'likely', 'by-person', {
    says:
      `No pod on ${node.name} uses ${what(facts)}, but its kubelet ` +
      (lacks
        ? `cannot unmount it: the driver ${attachment.driver} is not registered there any more.`
        : 'still lists it as mounted.'),
    proof: [...proofOf(facts), "the Node's volumesInUse lists the volume"],
    waits:
      `${attachment.name} ← attach-detach controller ← the kubelet of ${node.name}. The Node is Ready, so no ` +
      'timer ends this.',
    next: [
      ...(lacks ? [`start the node plugin of ${attachment.driver} on ${node.name} again`] : []),
      'if a pod ended a moment ago, this is normal: look again in a minute',
      `restart the kubelet of ${node.name}, or drain and reboot it`,
    ],
  });
};

/** Nobody has asked for the detach, although the kubelet does not list the volume as mounted. */
const neverAsked: DetachRule = (facts) => {
  const { attachment } = facts;
  if (attachment.deletingSince !== null || attachment.detachError !== null) return null;
  return cause('stale-attachment', 'likely', 'by-person', {
    says: `No pod on ${attachment.node} uses ${what(facts)}, and nothing has requested its detach.`,
    proof: proofOf(facts),
    waits: `${attachment.name} ← attach-detach controller.`,
    next: [
      'look again in a minute: Kubernetes requests the detach as soon as the kubelet has unmounted the volume',
      'otherwise, check that the controller-manager runs, and that one of its pods is the leader. Something else may ' +
        'have created the attachment',
    ],
  });
};

const notDetached = (facts: DetachFacts): Cause => {
  const { attachment, location } = facts;
  const asked = attachment.deletingSince !== null;
  return cause('stale-attachment', 'likely', 'by-person', {
    says: `${what(facts)} is not detached from ${attachment.node}. No pod waits for it.`,
    proof: proofOf(facts),
    waits: `${attachment.name} ← ${asked ? `the attacher of ${attachment.driver}` : 'attach-detach controller'}.`,
    next: [
      ...(attachment.detachError ? ['fix what the error names: credentials, limits, or the disk itself'] : []),
      `the attacher tries again within five minutes; ${retryCommand(attachment)}`,
      ...(location.machine === null
        ? [`find out whether the machine of ${attachment.node} runs, and uses the disk`]
        : []),
      'remove the finalizer of the VolumeAttachment only once the cloud shows the disk detached',
    ],
  });
};

const questions: readonly DetachRule[] = [
  machineOff,
  nodeGone,
  volumeDeleted,
  diskFree,
  cutOff, // before everything that a person would do to the attachment
  detaching,
  staysMounted,
  neverAsked,
];

/** Returns the one cause. Pure. */
export const causeOfStuckDetach = (facts: DetachFacts): Cause => {
  for (const ask of questions) {
    const found = ask(facts);
    if (found) return found;
  }
  return notDetached(facts);
};
