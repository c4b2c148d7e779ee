import { deleteLingeringAttachment } from './attachments.ts';
import { detachDisk, nudgeAttacher } from './disks.ts';
import { declinedSome, deleteNode, done, parkNode, retireTaint } from './finish.ts';
import { waitForAttachments, waitForDisks, waitForNudge, waitForPods } from './waits.ts';
import { capReached, delayedByPolicy, nothingToFree, optedOut, paused } from './guards.ts';
import { ambiguousIdentity, doubtfulIdentity, doubtfulRecord } from './identity.ts';
import { forgetStopping, liftMark, nothingOfOurs, running, stopping } from './running.ts';
import {
  doubtfulPower,
  generationUnknown,
  kubeletNotSilent,
  leaseContradicts,
  leaseLooksLate,
  missingNeedsWitness,
  offOnlyOnce,
  placeNotServed,
  unexplainedDisk,
  vouchingRefused,
} from './proof.ts';
import { mark, removedByHand, unmarked, workIsBack } from './mark.ts';
import { deletePods } from './pods.ts';
import { acceptedByPerson, forgetTombstone, releaseAsked, takeBack } from './release.ts';
import type { Decision, Rule, View } from './view.ts';

/** Speaks only while the fence has not begun, or has to begin again for a later boot. */
const beforeTheMark =
  (rule: Rule): Rule =>
  (view) =>
    unmarked(view) ? rule(view) : null;

/** Speaks before a taint that was taken off is put on again. */
const beforeTheTaintReturns =
  (rule: Rule): Rule =>
  (view) =>
    workIsBack(view) ? rule(view) : null;

/** Speaks only when there is no Node (any more) to mark: what it left behind is all there is. */
const withoutNode =
  (rule: Rule): Rule =>
  (view) =>
    view.cluster.node === null ? rule(view) : null;

/**
 * The whole protocol, in the order in which it is thought through: the first line that speaks decides. Everything above
 * "the fence" can only wait, ask or refuse; nothing below it is reached unless all of it kept silent.
 */
const ladder: readonly Rule[] = [
  // Is it ours, and may anything be done at all?
  nothingOfOurs, // neither a Node nor anything that one left: ignored, or done
  liftMark, // our taint must not stand on a machine that may write: before any other question
  ambiguousIdentity, // more than one Node names the machine: neither is acted on
  paused, // by the configuration, or by a ConfigMap of the cluster

  // Has it come back? Then the quarantine is taken back, too.
  acceptedByPerson, // release --accept: a person's word in the place of the proof
  doubtfulRecord, // unreadable, of another machine, or not written by us: a person must look
  forgetStopping, // what was noted of a stop that is over says nothing of the next
  takeBack, // it runs, on another boot than the one we fenced, and nothing of that time is left
  forgetTombstone, // what a person took back in an earlier boot says nothing of this one
  doubtfulIdentity, // names are reused: an identity source of the immutable id must name it, and none another
  releaseAsked, // a release never fences: say what is missing

  // Is it off? Anything but proof ends here.
  running, // up is not off; unreachable but up is reported, or powered off by policy
  stopping, // the guest may still write until the end of it; ten minutes are an alarm
  vouchingRefused, // a person's word counts only where the configuration lets it
  placeNotServed, // "not found" says nothing of a machine that stands where nobody asked
  doubtfulPower, // suspended memory resumes and writes; no power state proves nothing
  missingNeedsWitness, // "not found" is proof only when all disks that were attached to it confirm it
  generationUnknown, // without a boot generation the next boot would look the same
  offOnlyOnce, // a state that also shows while starting takes two reads
  leaseContradicts, // a kubelet that renews its Lease contradicts the cloud: stop
  kubeletNotSilent, // "not found" takes a kubelet that has been silent for a minute
  leaseLooksLate, // a Lease dated after the power-off gets a second look

  // May it be fenced?
  removedByHand, // what a person took away in this boot is not put back, and later runs are told
  beforeTheMark(unexplainedDisk), // a disk that no known volume explains: search the list of all attachments
  beforeTheMark(optedOut), // the Node, or one Pod of it, refuses the whole Node
  beforeTheTaintReturns(optedOut),
  withoutNode(optedOut),
  beforeTheMark(nothingToFree), // a mark would only be in the way
  beforeTheMark(delayedByPolicy), // planned stop/starts get their time
  withoutNode(delayedByPolicy),
  beforeTheMark(capReached), // many at once: the cloud, or we, may be wrong; entered before anything is written
  beforeTheTaintReturns(capReached), // an old claim counts no more, and a fence that goes on is one more
  withoutNode(capReached),

  // The fence: mark, pods, attachments, disks, Node. One step, then look again.
  mark, // taint, quarantine, labels and record in one conditional patch, before anything is destroyed; again when work comes back
  deletePods, // grace 0, by uid, the most urgent first
  deleteLingeringAttachment, // one that no pod wants, and that Kubernetes does not take away itself
  detachDisk, // what Kubernetes cannot: plain first, force last
  nudgeAttacher, // its back-off grows to five minutes, and any change ends it
  retireTaint, // no volume is left for it to free, though something else was declined, or waits for a finalizer
  waitForPods,
  waitForAttachments,
  waitForDisks,
  waitForNudge, // so that it can be taken off
  declinedSome, // passed by, not forgotten: failed, by name
  deleteNode, // last of all, when the machine is gone for good or by policy
  parkNode, // else it stays in quarantine until a fresh boot is proven
  done,
];

/**
 * One step, or wait, or nothing; always with a reason. Pure: the same view gives the same decision.
 * Below "the fence" there is no way back: what is declined is passed by and named at the end.
 */
export const decide = (view: View): Decision => {
  for (const rule of ladder) {
    const decision = rule(view);
    if (decision) return decision;
  }
  throw new Error('the last rule of the ladder always speaks');
};
