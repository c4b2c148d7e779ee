import { deleteLingeringAttachment, detachDisk, nudgeAttacher } from './volumes.ts';
import { failIfDeclined, deleteNode, endFenced, parkNode, retireTaint } from './finish.ts';
import { secondReadPending, waitForAttachments, waitForDisks, waitForNudge, waitForPods } from './waits.ts';
import { capReached, delayedByPolicy, mayBegin, nothingToFree, paused } from './guards.ts';
import { ambiguousIdentity, doubtfulIdentity, doubtfulRecord } from './identity.ts';
import { kubeletNotSilent, leaseContradicts, leaseLooksLate } from './lease.ts';
import { liftForbiddenMark, liftMark } from './lift.ts';
import { forgetStopping, nothingInCluster, running, stopping } from './running.ts';
import {
  bootContradicts,
  doubtfulPower,
  generationUnknown,
  missingNeedsWitness,
  scopeNotServed,
  unexplainedDisk,
  inUseAfterTermination,
  vouchedForAnotherBoot,
  vouchingRefused,
} from './proof.ts';
import { mark, isUnmarked, hasWorkReturned } from './mark.ts';
import { removedByHand } from './removed.ts';
import { deletePods } from './pods.ts';
import { removeTombstone, endRequestedRelease, releaseReturned } from './release.ts';
import { acceptedByPerson } from './release-by-hand.ts';
import type { Decision, Rule, View } from './view.ts';

/** Applies the rule only before a fence has begun, or if it must begin again for a later boot. */
const beforeTheMark =
  (rule: Rule): Rule =>
  (view) =>
    isUnmarked(view) ? rule(view) : null;

/**
 * Applies the rule wherever a fence may begin: before the mark, before a removed taint is set again, and without a
 * Node.
 */
const beforeItBegins =
  (rule: Rule): Rule =>
  (view) =>
    isUnmarked(view) || hasWorkReturned(view) || view.cluster.node === null ? rule(view) : null;

/**
 * The whole protocol, in order: the first rule that returns a decision ends the list. The rules above "The fence" only
 * wait, ask, refuse, change what Cloudfence itself wrote, or power off a machine if the policy allows it. A rule is
 * reached only if all rules above it return null.
 */
const ladder: readonly Rule[] = [
  // Does the Node belong to the machine, and is any action allowed?
  nothingInCluster, // there is no Node and nothing that one left behind: ignored, or done
  liftMark, // our taint must not stay on a machine that may write, so this comes first
  ambiguousIdentity, // more than one Node names the machine: acts on neither
  paused, // by the configuration, or by a ConfigMap of the cluster

  // Has the machine come back? If so, the quarantine is removed, too.
  acceptedByPerson, // release --accept: a person's statement replaces the proof
  doubtfulRecord, // the record is unreadable, of another machine, or not written by us: a person must look
  forgetStopping, // a note of a stop that is over says nothing about the next stop
  removeTombstone, // a fence that a person removed in an earlier boot or stop says nothing about the next one
  releaseReturned, // the machine runs in another boot than the fenced one, and nothing of that time is left
  doubtfulIdentity, // names are reused: an identity source of the immutable id must name the machine, and none another
  endRequestedRelease, // a release never fences: says what is missing

  // Is the machine off? Without proof, the run ends here.
  running, // running is not off; if the Node is unreachable, reports it or powers the machine off by policy
  stopping, // the guest may write until the stop has ended; ten minutes are an alarm
  vouchingRefused, // a person's statement counts only if the configuration allows it
  vouchedForAnotherBoot, // and only for the boot that the Node showed when the command began
  scopeNotServed, // "not found" says nothing about a machine in a region that nobody asked
  doubtfulPower, // suspended memory resumes and writes; an answer without a power state proves nothing
  missingNeedsWitness, // "not found" is proof only if all disks that were attached to the machine confirm it
  generationUnknown, // without a boot generation, the next boot would look the same
  secondReadPending, // a state that also appears during a start takes two reads
  bootContradicts, // another boot on the Node of a machine that has been off since is the boot of another machine
  leaseContradicts, // a kubelet that renews its Lease contradicts the cloud: stops
  kubeletNotSilent, // "not found" takes a kubelet that has been silent for a minute
  inUseAfterTermination, // a Node that was in use long after its machine was terminated is another machine's
  leaseLooksLate, // a Lease dated after the power-off gets a second look

  // May the machine be fenced?
  removedByHand, // does not restore what a person removed in this boot, and informs later runs
  beforeTheMark(unexplainedDisk), // no known volume explains a disk: searches the list of all attachments
  liftForbiddenMark, // of an earlier boot: no fence of this boot will end that fence
  beforeItBegins(mayBegin), // the guards of a power-off, too: an opt-out of the Node, or of one Pod on it
  beforeTheMark(nothingToFree), // a mark would only be in the way
  beforeItBegins(delayedByPolicy), // leaves time for planned stops and starts
  // If many machines are off, the cloud or Cloudfence may be wrong. The reservation is written before any other write.
  // If a taint is set again, an expired reservation no longer counts, and the fence counts as a new one.
  beforeItBegins(capReached),

  // The fence: mark, pods, attachments, disks, Node. Each decision takes one step. Another look follows.
  mark, // taints, labels, and record in one conditional patch, before anything is destroyed; again if work returns
  deletePods, // grace 0, by uid, the most urgent first
  deleteLingeringAttachment, // one that no pod wants, and that Kubernetes does not remove itself
  detachDisk, // what Kubernetes cannot detach: plain first, force last
  nudgeAttacher, // the attacher's back-off grows to five minutes, and any change ends it
  retireTaint, // the taint has no volume left to free, though something else was declined or waits for a finalizer
  waitForPods,
  waitForAttachments,
  waitForDisks,
  waitForNudge, // so that the nudge can be removed
  failIfDeclined, // declined steps were skipped, not forgotten: the run fails and names them
  deleteNode, // last of all, if the machine is gone for good, or by policy
  parkNode, // otherwise the Node stays in quarantine until a fresh boot is proven
  endFenced,
];

/**
 * Returns one step, a read, a wait, or an end, always with a reason. Pure: the same view gives the same decision. After
 * the mark, the fence is always completed: a rejected step is skipped and named at the end.
 */
export const decide = (view: View): Decision => {
  for (const rule of ladder) {
    const decision = rule(view);
    if (decision) return decision;
  }
  throw new Error('the last rule must always return a decision');
};
