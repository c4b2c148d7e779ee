import { deleteLingeringAttachment } from './rules/attachments.ts';
import { detachDisk } from './rules/disks.ts';
import { declinedSome, deleteNode, done, parkNode } from './rules/finish.ts';
import { waitForAttachments, waitForDisks, waitForNudge, waitForPods } from './rules/going.ts';
import { capReached, delayedByPolicy, nothingToFree, optedOut, paused } from './rules/guards.ts';
import { doubtfulIdentity, doubtfulRecord } from './rules/identity.ts';
import { leaseContradicts, leaseLooksLate } from './rules/lease.ts';
import { mark, overTheCap, removedByHand, taintRemovedByHand, unmarked } from './rules/mark.ts';
import { nudgeAttacher } from './rules/nudge.ts';
import { deletePods } from './rules/pods.ts';
import { doubtfulPower, generationUnknown, missingNeedsWitness, offOnlyOnce, unexplainedDisk, vouchingRefused } from './rules/proof.ts';
import { acceptedByPerson, releaseAsked, takeBack } from './rules/release.ts';
import { nothingOfOurs, running, stopping } from './rules/up.ts';
import type { Decision, Rule, View } from './view.ts';

/** Speaks only while the fence has not begun, or has to begin again for a later boot. */
const beforeTheMark =
  (rule: Rule): Rule =>
  (view) =>
    unmarked(view) ? rule(view) : null;

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
  // Is it ours, and is it this very machine?
  nothingOfOurs,
  doubtfulIdentity,
  paused,

  // Has it come back? Then the fence is taken back, in two halves.
  acceptedByPerson,
  doubtfulRecord,
  takeBack,
  releaseAsked,

  // Is it off? Anything but proof ends here.
  running,
  stopping,
  vouchingRefused,
  doubtfulPower,
  missingNeedsWitness,
  generationUnknown,
  offOnlyOnce,
  leaseContradicts,
  leaseLooksLate,

  // May it be fenced?
  removedByHand,
  beforeTheMark(unexplainedDisk),
  beforeTheMark(optedOut),
  withoutNode(optedOut),
  beforeTheMark(nothingToFree),
  beforeTheMark(delayedByPolicy),
  withoutNode(delayedByPolicy),
  beforeTheMark(capReached),
  withoutNode(capReached),

  // The fence: mark, pods, attachments, disks, Node. One step, then look again.
  mark,
  taintRemovedByHand,
  overTheCap,
  deletePods,
  deleteLingeringAttachment,
  detachDisk,
  nudgeAttacher,
  waitForPods,
  waitForAttachments,
  waitForDisks,
  waitForNudge,
  declinedSome,
  deleteNode,
  parkNode,
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
