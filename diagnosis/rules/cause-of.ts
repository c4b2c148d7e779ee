import type { Cause } from '../model/cause.ts';
import type { Situation } from '../model/facts.ts';
import {
  attachedNowhere,
  attachError,
  attachRefused,
  controllerSilent,
  detachFirst,
  refusedForStale,
  staleAttachment,
} from './attaching.ts';
import { attacherDown, attacherHangs, driverNotOnNode } from './attacher.ts';
import { pvcPending, pvcUnusable, volumeUnusable } from './claims.ts';
import { podWithoutClaim, notTheVolume, notWaiting, podFinalizer, rejectedByLimit, runsUnready } from './pod.ts';
import { attachedOutside, diskDeleted, diskStuck } from './disks.ts';
import { machineOfHolder, machineOfTarget } from './machine.ts';
import { kubeletStuck, mountError, mountHangs, mountingNow } from './mounting.ts';
import { formerMachine } from './node-gone.ts';
import { anotherPod, movingNow, podDoesNotEnd, podEnds, staysMounted } from './other-pods.ts';
import { cause, nameOf, type CauseRule, hasMultiAttachEvent, describeVolume } from './rule.ts';
import { attachedForDeleted, twinOnNode, twinVolume } from './twin-volumes.ts';
import { pinnedToMachineOff, readWriteOncePodInUse, unscheduled } from './scheduling.ts';

/**
 * The questions of an expert, in order. The first rule that finds a cause ends the list. The first questions are about
 * causes that explain all later symptoms: a missing disk, a dead machine, another pod, the driver, the cloud's error.
 */
const questions: readonly CauseRule[] = [
  // Does the pod wait, and is the volume the reason?
  rejectedByLimit,
  notWaiting,
  runsUnready,
  notTheVolume,

  // Does the volume exist?
  pvcUnusable,
  pvcPending,
  volumeUnusable,
  diskDeleted,
  unscheduled, // before the machines: as long as the pod has no Node, nothing is attached for it

  // Which machine has the volume, and does that machine run?
  formerMachine, // before the Node, which is another machine's by now
  pinnedToMachineOff, // before a fence, which does not move local data
  machineOfHolder,
  machineOfTarget,
  podWithoutClaim, // after the machines: its own may be off
  readWriteOncePodInUse, // after the machines: the other pod may be on a dead one
  podFinalizer,

  // Does another pod on a healthy Node use it?
  anotherPod,
  attachedForDeleted, // before a twin, which somebody may use
  twinVolume, // before anybody is told that no pod uses the volume there
  podDoesNotEnd,
  podEnds,

  // Do the driver and its attacher work?
  driverNotOnNode,
  attacherDown,
  staysMounted,

  // What do the cloud and the driver report?
  attachedOutside,
  diskStuck,
  refusedForStale, // before the cloud's error: it is an echo of the attachment
  attachError,
  detachFirst,
  movingNow, // before a fault is assumed: every move takes some seconds
  staleAttachment,
  attacherHangs, // after the disk, which may say that the cloud itself does not finish
  attachRefused,

  attachedNowhere, // before the kubelet, which misses the device

  // The volume is attached: what does the kubelet report?
  mountError,
  twinOnNode, // before the kubelet is blamed: it cannot serve both
  mountingNow, // before the kubelet is blamed: every mount takes some seconds
  kubeletStuck,
  mountHangs,
  controllerSilent,
];

const unknown = (situation: Situation): Cause =>
  cause('unknown', 'cannot-tell', 'by-person', {
    says: hasMultiAttachEvent(situation)
      ? `${describeVolume(situation)} is held elsewhere, and nothing that could be read names the holder.`
      : `Nothing that could be read says why ${nameOf(situation.pod)} waits.`,
    waits: `${nameOf(situation.pod)} ← unknown.`,
    next: [
      `kubectl -n ${situation.pod.namespace} describe pod ${situation.pod.name}`,
      'run this again in a minute, and with the permissions that are named as missing',
    ],
  });

/** Returns the cause for one set of facts. Pure. */
export const causeOf = (situation: Situation): Cause => {
  for (const ask of questions) {
    const found = ask(situation);
    if (found) return found;
  }
  return unknown(situation);
};
