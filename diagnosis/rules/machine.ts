import type { Cause } from '../model/cause.ts';
import { ifFound, type NodeLocation, type Situation } from '../model/facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import {
  attachmentAt,
  cause,
  cloudSays,
  fenceAdvice,
  holdersOf,
  isHealthy,
  isInUse,
  isKubeletSilent,
  describeKubelet,
  describeTimer,
  OUT_OF_SERVICE,
  SILENT_MS,
  nameOf,
  nodeAt,
  type CauseRule,
  describeVolume,
  storageNote,
} from './rule.ts';

/** Causes in the machine of the Node that has the volume: off, stopping, suspended, unreachable, gone, or unknown. */

const OFF = ['off', 'off-if-repeated'];

/** Returns whether the kubelet itself reports that its Node is not Ready. If it does, it is not cut off. */
const reports = (location: NodeLocation, now: number): boolean => {
  const { ready, leaseRenewed } = nodeAt(location) ?? { ready: 'Unknown', leaseRenewed: null };
  return ready === 'False' && leaseRenewed !== null && now - leaseRenewed <= SILENT_MS;
};

const waiting = (location: NodeLocation, situation: Situation): string => {
  const { pod } = situation;
  const before = pod.node === location.nodeName ? [] : ['attach-detach controller'];
  const kubelet =
    `the kubelet of ${location.nodeName}` + (reports(location, situation.now) ? '' : ', which cannot answer');
  const chain = [nameOf(pod), ...before, kubelet];
  return `${chain.join(' ← ')}. ${describeTimer(location, situation)}`;
};

const proofOf = (location: NodeLocation, situation: Situation, facts: MachineFacts | null): readonly string[] => [
  describeKubelet(location, situation.now),
  ...(facts ? [cloudSays(facts)] : []),
  ...(isInUse(location, situation) ? [`${location.nodeName} listed the volume as mounted when it last reported`] : []),
  ...(situation.shutDown.some(({ node }) => node === location.nodeName)
    ? ['its pods ended by a graceful shutdown, but the volume was not unmounted']
    : []),
];

/** The pod is bound to another Node whose machine is also off, so freeing the disk alone does not help. */
const fenceTargetToo = (location: NodeLocation, { target, pod }: Situation): readonly string[] =>
  target && target.nodeName !== location.nodeName && OFF.includes(ifFound(target.power)?.power ?? '')
    ? [`then also: cloudfence fence ${target.nodeName}      # its machine is off, too, and ${pod.name} is bound to it`]
    : [];

/**
 * Describes what Kubernetes must not do before it knows that the machine is off. Network storage is not attached to a
 * machine.
 */
const whatWaits = (situation: Situation): string =>
  ifFound(situation.driver)?.attachRequired === false
    ? `end the pods that use ${describeVolume(situation)} there`
    : `detach ${describeVolume(situation)}`;

const off = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const fenced = nodeAt(location)?.fenced ?? false;
  return cause('machine-off', 'proved', 'by-fence', {
    says:
      `The machine of ${location.nodeName} is off. Kubernetes may not ${whatWaits(situation)}, because it cannot ` +
      'know that.',
    proof: [...proofOf(location, situation, facts), ...(fenced ? ['Cloudfence has fenced the Node'] : [])],
    machine: facts.machine,
    waits: waiting(location, situation),
    next: [...fenceAdvice(location.nodeName), ...fenceTargetToo(location, situation), ...storageNote(situation)],
  });
};

const gone = (location: NodeLocation, situation: Situation, facts: MachineFacts | null): Cause => {
  const attachment = attachmentAt(location);
  const proven = facts !== null && (facts.power === 'missing' || facts.power === 'off');
  const remove = attachment
    ? `or check that nothing runs on ${location.machine ?? location.nodeName}, then: kubectl delete ` +
      `volumeattachment ${attachment.name}`
    : 'or look at the disk in the cloud: nothing in the cluster names its holder';
  return cause('node-gone', proven ? 'proved' : 'likely', 'by-fence', {
    says:
      `Node ${location.nodeName} no longer exists${proven ? ', and its machine is gone or off' : ''}, but ` +
      `${describeVolume(situation)} is still attached to it.`,
    proof: [
      ...proofOf(location, situation, facts),
      ...(attachment ? [`VolumeAttachment ${attachment.name} is left`] : []),
    ],
    machine: facts?.machine ?? location.machine,
    waits:
      `${nameOf(situation.pod)} ← attach-detach controller ← a Node that does not exist. ` +
      describeTimer(location, situation),
    next: [proven ? `cloudfence fence ${facts.machine}` : 'cloudfence sweep', remove, ...storageNote(situation)],
  });
};

const goneButRuns = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('node-gone-machine-runs', 'proved', 'by-person', {
    says:
      `Node ${location.nodeName} no longer exists, but its machine ${facts.machine} runs and may still write to ` +
      `${describeVolume(situation)}.`,
    proof: proofOf(location, situation, facts),
    waits: `${nameOf(situation.pod)} ← disk ← ${facts.machine}, which Kubernetes no longer knows.`,
    next: [
      `stop ${facts.machine} in its cloud, then: cloudfence fence ${facts.machine}`,
      'or start its kubelet again, so that it registers and unmounts the volume',
      'do not delete the VolumeAttachment before: two machines could write to the disk',
    ],
  });

/** Kubernetes' timer does not check whether the machine is off. */
const forcedDetach = (location: NodeLocation, situation: Situation): readonly string[] =>
  describeTimer(location, situation).includes('timer fires')
    ? [
        `stop it before Kubernetes' timer fires, which detaches the disk by force, even from a machine that ` +
          'writes to it',
      ]
    : [];

/** Returns whether someone has told Kubernetes that the machine is off. Cloudfence removes its own taint by itself. */
const wronglyTainted = (location: NodeLocation): boolean => nodeAt(location)?.outOfService === 'foreign';

const unreachable = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const isTainted = wronglyTainted(location);
  const isReporting = reports(location, situation.now);
  return cause('machine-unreachable', 'proved', 'by-person', {
    says:
      `${location.nodeName} ` +
      `${isReporting ? 'is not Ready, but its kubelet reports' : 'is cut off or hangs, but its machine runs'}, ` +
      `and it may still write to ${describeVolume(situation)}. Do not fence it in this state.`,
    proof: [
      ...proofOf(location, situation, facts),
      ...(isTainted
        ? [`${location.nodeName} has the taint ${OUT_OF_SERVICE}, which says that its machine is off`]
        : []),
      ...(isReporting ? [] : ['it is unknown why its kubelet is silent']),
    ],
    waits: waiting(location, situation),
    next: [
      ...(isTainted
        ? [
            `kubectl taint node ${location.nodeName} ${OUT_OF_SERVICE}-      # now: the taint lets two ` +
              'machines write to the disk',
          ]
        : []),
      isReporting
        ? `kubectl describe node ${location.nodeName}      # the condition Ready says why: the container ` +
          'runtime, the network plugin'
        : `repair the network or the kubelet of ${location.nodeName}: the pod then moves by itself`,
      `or stop ${facts.machine} in its cloud, then: cloudfence fence ${location.nodeName}`,
      ...forcedDetach(location, situation),
    ],
  });
};

const onItsWay = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-stopping', 'proved', 'by-fence', {
    says:
      `The machine of ${location.nodeName} is ${facts.power}. Until that ends, its guest may still write to ` +
      `${describeVolume(situation)}.`,
    proof: proofOf(location, situation, facts),
    waits: `${nameOf(situation.pod)} ← ${facts.machine}, which is ${facts.power}.`,
    next: ['look again in a minute', `when it is off: cloudfence fence ${location.nodeName}`],
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
      `if it stays so: stop it in its cloud, then: cloudfence fence ${location.nodeName}`,
      ...storageNote(situation),
    ],
  });

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
    next: [
      location.machine === null
        ? `check whether the machine of ${location.nodeName} is off or only unreachable`
        : `run this again with credentials that may read ${location.machine}`,
      `off: cloudfence fence ${location.nodeName} (docs/safety.md says when a person may vouch). Running: ` +
        'repair it, or stop it first',
      ...storageNote(situation),
    ],
  });

const missing = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const { disk } = situation;
  const view = ifFound(disk);
  const held = view?.holders.some(({ machine }) => machine === facts.machine) ?? false;
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
      ...fenceAdvice(location.nodeName),
      ...storageNote(situation),
    ],
  });
};

/** Returns the cause for one location, according to the cloud. */
const judge = (location: NodeLocation, situation: Situation): Cause | null => {
  const facts = ifFound(location.power);
  const silent = isKubeletSilent(location, situation.now);
  if (location.node === null) return judgeWithoutNode(location, situation, facts);
  if (facts === null) return silent ? unknownPower(location, situation) : null;
  switch (facts.power) {
    case 'off':
    case 'off-if-repeated':
      return off(location, situation, facts);
    case 'missing':
      return silent ? missing(location, situation, facts) : null;
    case 'stopping':
    case 'starting':
      return onItsWay(location, situation, facts);
    case 'suspended':
      return suspended(location, situation, facts);
    case 'running':
      return silent ? unreachable(location, situation, facts) : null;
    case 'unknown':
      return silent ? betweenStates(location, situation, facts) : null;
  }
};

const judgeWithoutNode = (location: NodeLocation, situation: Situation, facts: MachineFacts | null): Cause | null => {
  if (attachmentAt(location) === null && facts === null) return null;
  const alive = facts !== null && !['off', 'off-if-repeated', 'missing', 'unknown'].includes(facts.power);
  return alive ? goneButRuns(location, situation, facts) : gone(location, situation, facts);
};

/** The machine of a Node that has the volume, or of a Node on which a pod cannot be deleted. */
export const machineOfHolder: CauseRule = (situation) => {
  const { pod, target } = situation;
  const own = target !== null && (pod.deletionEnds !== null || pod.runs) ? [target] : [];
  for (const location of [...holdersOf(situation), ...own]) {
    const found = judge(location, situation);
    if (found) return found;
  }
  return null;
};

/** The pod is bound to a Node whose machine cannot start it. A fence also deletes the pod. */
export const machineOfTarget: CauseRule = (situation) => {
  const { target, pod } = situation;
  const facts = ifFound(target?.power ?? null);
  if (!target || !facts || !['off', 'off-if-repeated', 'missing'].includes(facts.power)) return null;
  // A fence is refused while the kubelet is alive and the cloud does not know the machine.
  if (facts.power === 'missing' && isHealthy(target, situation.now)) return null;
  return cause('target-machine-gone', 'proved', 'by-fence', {
    says:
      `${nameOf(pod)} was placed on ${target.nodeName}, whose machine is ` +
      `${facts.power === 'missing' ? 'gone' : 'off'}.`,
    proof: proofOf(target, situation, facts),
    machine: facts.machine,
    waits: `${nameOf(pod)} ← ${target.nodeName}, which cannot start it.`,
    next: [...fenceAdvice(target.nodeName), 'its controller then makes a new pod for a Node that runs'],
  });
};
