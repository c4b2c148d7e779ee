import type { Cause } from '../model/cause.ts';
import { ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import { isPoweredOff, type MachineFacts } from '../../fencing/model/machine.ts';
import { isNamedByDisk, keepData, proofOf, waiting, whatIsThere } from './holder.ts';
import { judgeWithoutNode } from './node-gone.ts';
import { taintedWhileRunning, unreachable, wronglyTainted } from './running-machine.ts';
import {
  cause,
  describeVolume,
  fenceAdvice,
  formatDuration,
  isHealthy,
  isKubeletSilent,
  isOffOrMissing,
  nameOf,
  nodeAt,
  OUT_OF_SERVICE,
  type CauseRule,
} from './rule.ts';
import { blockersOf, cephNote, isCeph, storageNote } from './storage.ts';

/** Causes in the machine of the Node that has the volume: off, stopping, suspended, unreachable, gone, or unknown. */

/** The pod is bound to another Node whose machine is also off, so freeing the disk alone does not help. */
const fenceTargetToo = (location: NodeLocation, { target, pod }: Situation): readonly string[] =>
  target && target.nodeName !== location.nodeName && isPoweredOff(ifFound(target.power))
    ? [`then also: cloudfence fence ${target.nodeName}      # its machine is off, too, and ${pod.name} is bound to it`]
    : [];

/**
 * Describes what Kubernetes must not do before it knows that the machine is off. Network storage is not attached to a
 * machine.
 */
const whatWaits = (situation: Situation): string => {
  if (situation.claimName === null) return 'end the pods there';
  return ifFound(situation.driver)?.attachRequired === false
    ? `end the pods that use ${describeVolume(situation)} there`
    : `detach ${describeVolume(situation)}`;
};

const off = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const fenced = nodeAt(location)?.fenced ?? false;
  return cause('machine-off', 'proved', 'by-fence', {
    says:
      `The machine of ${location.nodeName} is off. Kubernetes may not ${whatWaits(situation)}, because it cannot ` +
      'know that.',
    proof: [...proofOf(location, situation, facts), ...(fenced ? ['Cloudfence has fenced the Node'] : [])],
    machine: facts.machine,
    waits: waiting(location, situation),
    next: [
      ...keepData(location, situation),
      ...fenceAdvice(location.nodeName),
      ...fenceTargetToo(location, situation),
      ...storageNote(situation),
    ],
  });
};

/** A machine that has been stopping for so long hangs. The cloud does not always say since when. */
const STOPS_WITHIN_MS = 600_000;

const stopping = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const since = facts.since ?? nodeAt(location)?.leaseRenewed ?? situation.now;
  const lasts = situation.now - since;
  return cause('machine-stopping', 'proved', 'by-fence', {
    says:
      `The machine of ${location.nodeName} is stopping. Until that ends, its guest may still write to ` +
      `${whatIsThere(situation)}.`,
    proof: proofOf(location, situation, facts),
    waits: `${nameOf(situation.pod)} ← ${facts.machine}, which is stopping.`,
    next: [
      lasts > STOPS_WITHIN_MS
        ? `force the stop of ${facts.machine} in its cloud: it has been stopping for about ${formatDuration(lasts)}`
        : 'look again in a minute',
      `when it is off: cloudfence fence ${location.nodeName}`,
      ...keepData(location, situation),
    ],
  });
};

/** Somebody or something, such as an autoscaling group, has started the machine again. */
const starting = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-stopping', 'proved', 'by-itself', {
    says:
      `The machine of ${location.nodeName} is starting. As soon as it has booted, its kubelet reports, and its ` +
      `guest may write to ${whatIsThere(situation)}.`,
    proof: proofOf(location, situation, facts),
    waits: `${nameOf(situation.pod)} ← the kubelet of ${location.nodeName} ← ${facts.machine}, which is starting.`,
    next: [
      'look again in a few minutes: Kubernetes goes on when the kubelet reports',
      'do not fence it: the machine is about to run',
    ],
  });

const suspended = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-suspended', 'proved', 'by-person', {
    says:
      `The machine of ${location.nodeName} is suspended. Its memory continues to write to ` +
      `${describeVolume(situation)} within seconds of a resume, so it counts as running.`,
    proof: proofOf(location, situation, facts),
    waits: waiting(location, situation),
    next: [
      `resume ${facts.machine}: the pod then moves by itself`,
      `or stop it for good in its cloud, then: cloudfence fence ${location.nodeName}`,
    ],
  });

/** The cloud reports a state that is neither off nor running, such as a repair of the host. */
const betweenStates = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-unknown', 'cannot-tell', 'by-person', {
    says:
      `${location.nodeName} is silent, and according to the cloud its machine is neither off nor running. Its ` +
      `guest may still write to ${describeVolume(situation)}.`,
    proof: proofOf(location, situation, facts),
    waits: waiting(location, situation),
    next: [
      `look again in a few minutes: the cloud may be repairing or moving ${facts.machine}`,
      `if this does not change: stop it in its cloud, then: cloudfence fence ${location.nodeName}`,
      ...storageNote(situation),
    ],
  });

/** Cloudfence cannot ask about the machine, so a person has to find out whether it is off. */
const notOurs = (location: NodeLocation): readonly string[] => [
  `check whether the machine of ${location.nodeName} is off or only unreachable`,
  `if it is a machine of a supported cloud: \`cloudfence doctor\` says what its Node lacks`,
  `if it is off for sure: kubectl taint node ${location.nodeName} ${OUT_OF_SERVICE}=nodeshutdown:NoSchedule      # ` +
    'never while it may run, and take the taint off before it starts again',
];

const unasked = (location: NodeLocation): readonly string[] => [
  `run this again with credentials that may read ${location.machine ?? ''}`,
  `off: cloudfence fence ${location.nodeName} (docs/safety.md says when a person may vouch). Running: ` +
    'repair it, or stop it first',
];

const unknownPower = (location: NodeLocation, situation: Situation): Cause =>
  cause('machine-unknown', 'cannot-tell', 'by-person', {
    says:
      location.machine === null
        ? `${location.nodeName} is silent, and nothing on it names a machine of a supported cloud. So it is ` +
          'unknown whether the machine is off or only cut off.'
        : `${location.nodeName} is silent, and the cloud did not say whether ${location.machine} is off or runs. ` +
          'Both look the same from the cluster.',
    proof: proofOf(location, situation, null),
    waits: waiting(location, situation),
    next:
      location.machine === null
        ? [...notOurs(location), ...(isCeph(situation) ? cephNote(situation) : [])]
        : [...unasked(location), ...storageNote(situation)],
  });

const missing = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const view = ifFound(situation.disk);
  const held = isNamedByDisk(situation, facts.machine);
  return cause('machine-off', view && !held ? 'proved' : 'likely', 'by-fence', {
    says:
      `The cloud no longer knows the machine of ${location.nodeName}. Kubernetes keeps ` +
      `${describeVolume(situation)} attached to it.`,
    proof: [...proofOf(location, situation, facts), ...(held ? ['but its disk still names the machine'] : [])],
    machine: facts.machine,
    waits: waiting(location, situation),
    next: [
      ...(held
        ? [
            `look at ${facts.machine} in its cloud: if it is being deleted, its disk goes free; if it is only ` +
              'hidden from these credentials, it may run',
          ]
        : []),
      ...keepData(location, situation),
      ...fenceAdvice(location.nodeName),
      ...storageNote(situation),
    ],
  });
};

/** Returns the cause for one location, according to the cloud. */
const judge = (location: NodeLocation, situation: Situation): Cause | null => {
  const facts = ifFound(location.power);
  const silent = isKubeletSilent(location, situation.now);
  if (location.node === null) return judgeWithoutNode(location, situation);
  if (facts === null) return silent ? unknownPower(location, situation) : null;
  switch (facts.power) {
    case 'off':
    case 'off-if-repeated':
      return off(location, situation, facts);
    case 'missing':
      return silent ? missing(location, situation, facts) : null;
    case 'stopping':
      return stopping(location, situation, facts);
    case 'starting':
      return silent ? starting(location, situation, facts) : null;
    case 'suspended':
      return suspended(location, situation, facts);
    case 'running':
      if (silent) return unreachable(location, situation, facts);
      return wronglyTainted(location) ? taintedWhileRunning(location, situation, facts) : null;
    case 'unknown':
      return silent ? betweenStates(location, situation, facts) : null;
  }
};

/** The machine of a Node that has the volume, or of a Node on which a pod cannot be deleted. */
export const machineOfHolder: CauseRule = (situation) => {
  const { pod, target } = situation;
  const own = target !== null && (pod.deletionEnds !== null || pod.runs) ? [target] : [];
  for (const location of [...blockersOf(situation), ...own]) {
    const found = judge(location, situation);
    if (found) return found;
  }
  return null;
};

/** PodGC deletes a pod that is bound to a Node which does not exist. */
const nodeMissing = ({ pod }: Situation, { nodeName }: NodeLocation): Cause =>
  cause('target-machine-gone', 'proved', 'by-itself', {
    says: `${nameOf(pod)} was placed on ${nodeName}, and no Node has that name.`,
    proof: [`there is no Node ${nodeName}`],
    waits: `${nameOf(pod)} ← a Node that does not exist.`,
    next: [
      'look again in two minutes: Kubernetes deletes such a pod, and its controller makes a new one',
      'if spec.nodeName was set by hand: correct it, or use a nodeSelector',
    ],
  });

/** The pod is bound to a Node whose machine cannot start it. A fence also deletes the pod. */
export const machineOfTarget: CauseRule = (situation) => {
  const { target, pod } = situation;
  if (!target) return null;
  if (target.node === null) return nodeMissing(situation, target);
  const facts = ifFound(target.power);
  const isSilent = isKubeletSilent(target, situation.now);
  if (!facts || !isOffOrMissing(facts)) return isSilent ? judge(target, situation) : null;
  // A fence is refused while the kubelet is alive and the cloud does not know the machine.
  if (facts.power === 'missing' && isHealthy(target, situation.now)) return null;
  return cause('target-machine-gone', 'proved', 'by-fence', {
    says:
      `${nameOf(pod)} was placed on ${target.nodeName}, whose machine is ` +
      `${facts.power === 'missing' ? 'gone' : 'off'}.`,
    proof: proofOf(target, situation, facts),
    machine: facts.machine,
    waits: `${nameOf(pod)} ← ${target.nodeName}, which cannot start it.`,
    next: [
      ...keepData(target, situation),
      ...fenceAdvice(target.nodeName),
      'its controller then makes a new pod for a Node that runs',
    ],
  });
};
