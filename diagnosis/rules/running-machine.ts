import type { MachineFacts } from '../../fencing/model/machine.ts';
import type { Cause } from '../model/cause.ts';
import type { NodeLocation, Situation } from '../model/facts.ts';
import { keepData, proofOf, reports, waiting, whatIsThere } from './holder.ts';
import { cause, describeTimer, nameOf, nodeAt, OUT_OF_SERVICE } from './rule.ts';

/** A machine that runs although its kubelet is silent, or although somebody has told Kubernetes that it is off. */

/** Kubernetes' timer does not check whether the machine is off. */
const forcedDetach = (location: NodeLocation, situation: Situation): readonly string[] =>
  describeTimer(location, situation).includes('timer fires')
    ? [
        `stop it before Kubernetes' timer fires, which detaches the disk by force, even from a machine that ` +
          'writes to it',
      ]
    : [];

/** Returns whether someone has told Kubernetes that the machine is off. Cloudfence removes its own taint by itself. */
export const wronglyTainted = (location: NodeLocation): boolean => nodeAt(location)?.outOfService === 'foreign';

export const unreachable = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause => {
  const isTainted = wronglyTainted(location);
  const isReporting = reports(location, situation.now);
  return cause('machine-unreachable', 'proved', 'by-person', {
    says:
      `${location.nodeName} ` +
      `${isReporting ? 'is not Ready, but its kubelet reports' : 'is cut off or hangs, but its machine runs'}, ` +
      `and it may still write to ${whatIsThere(situation)}. Do not fence it in this state.`,
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
      ...keepData(location, situation),
    ],
  });
};

/**
 * The taint makes attach-detach detach a volume although it is mounted, whether the Node is Ready or not
 * (pkg/controller/volume/attachdetach/reconciler).
 */
export const taintedWhileRunning = (location: NodeLocation, situation: Situation, facts: MachineFacts): Cause =>
  cause('machine-unreachable', 'proved', 'by-person', {
    says:
      `${location.nodeName} works and its machine runs, but somebody has told Kubernetes that it is off. As soon as ` +
      `no pod wants ${whatIsThere(situation)} there, Kubernetes detaches it, even if it is still mounted.`,
    proof: [
      ...proofOf(location, situation, facts),
      `${location.nodeName} has the taint ${OUT_OF_SERVICE}, which says that its machine is off`,
    ],
    waits: `${nameOf(situation.pod)} ← ${location.nodeName}, which works.`,
    next: [
      `kubectl taint node ${location.nodeName} ${OUT_OF_SERVICE}-      # now, and before a pod is deleted there`,
      `then run this again: it says what ${nameOf(situation.pod)} waits for`,
    ],
  });
