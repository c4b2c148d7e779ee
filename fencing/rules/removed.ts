import { fenceInBoot, isOfThisBoot, type NodeFacts } from '../model/cluster-facts.ts';
import { because, type Reason } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { acceptCommand } from './identity.ts';
import { currentRecord, isSameGeneration, targetNode } from './mark.ts';
import { type Decision, refuse, type Rule, takeStep, type View } from './view.ts';

/** Whether someone else removed a fence of this boot, or a part of it. Cloudfence does not restore it. */

/** Returns whether the record is for the boot that has ended, if the cloud still knows that boot. */
const isOfEndedBoot = (record: FenceRecord, node: NodeFacts, view: View): boolean =>
  record.machine === view.machine.machine &&
  record.bootID === node.bootID &&
  (view.machine.generation === null || isSameGeneration(record, view));

const isSameBoot = (record: FenceRecord, node: NodeFacts, view: View): boolean =>
  record.nodeUid === node.uid && isOfEndedBoot(record, node, view);

/** Returns the record of a mark that Cloudfence removed in this boot, or null. Its quarantine is still set. */
const liftedRecord = (view: View, node: NodeFacts): FenceRecord | null =>
  node.record?.phase === 'lifted' && isOfEndedBoot(node.record, node, view) ? node.record : null;

/** Returns whether a taint of the fence is missing that Cloudfence itself has not removed, as its record shows. */
const lacksTaint = ({ outOfService, released }: FenceRecord, { taints }: NodeFacts): boolean =>
  !taints.quarantine || (outOfService === 'ours' && released === null && !taints.outOfService);

/** Returns a reason if our taint is missing and Cloudfence did not remove it. */
const taintMissing = (view: View, node: NodeFacts): Reason | null => {
  const record = currentRecord(view) ?? liftedRecord(view, node);
  return record && lacksTaint(record, node)
    ? because(
        'taint-removed-by-hand',
        `someone else removed a taint of fence ${record.fence} from Node ${node.name}${whatIsLeft(node)}`,
      )
    : null;
};

/** Returns the command that removes the rest of a fence that a person removed, or an empty text. */
const whatIsLeft = (node: NodeFacts): string =>
  node.taints.quarantine || node.taints.ours ? `. ${acceptCommand(node)} removes the rest` : '';

/** Returns the fence that a person is releasing, if its future tombstone will apply to this boot. */
const releasedByPerson = (node: NodeFacts, { machine }: View): FenceRecord | null =>
  node.record?.phase === 'releasing' &&
  isOfThisBoot(fenceInBoot(node.record.fence, node.record, node.record), node, machine)
    ? node.record
    : null;

/**
 * Returns whether everything of a fence is there except for its record, which a kubelet can remove. It may be a later
 * fence than the one that this run remembers.
 */
const lacksOnlyRecord = (remembered: FenceRecord, node: NodeFacts): boolean =>
  (node.label !== null || node.taints.ours) && node.tombstone === null && !lacksTaint(remembered, node);

/** Returns a reason if a fence of this boot is gone, or is being released without another boot. */
const fenceMissing = (view: View, node: NodeFacts): Reason | null => {
  const { remembered } = view;
  const isGone =
    remembered !== null &&
    node.record === null &&
    isSameBoot(remembered, node, view) &&
    !lacksOnlyRecord(remembered, node);
  const removed = isGone ? remembered : releasedByPerson(node, view);
  return (
    removed &&
    because(
      'fence-removed-by-hand',
      `someone else removed fence ${removed.fence} from Node ${node.name} in this boot, while its machine is ` +
        `off${whatIsLeft(node)}`,
    )
  );
};

/**
 * Returns whether someone else's out-of-service taint has replaced ours while the rest of our fence is still there.
 * That is not a removal, because the Node is still out of service.
 */
const isReplaced = ({ taints, taintedFor, label }: NodeFacts): boolean =>
  taints.outOfService && taintedFor !== null && taintedFor.fence === label;

/**
 * Returns the fence of which only the label is left, or null. Cloudfence always removes the quarantine and the label in
 * one write.
 */
export const fenceOfBareLabel = ({ label, tombstone, taints, taintedFor, record }: NodeFacts): string | null =>
  tombstone === null && taintedFor === null && record === null && !taints.quarantine ? label : null;

/**
 * Returns whether a part of our mark is missing that no record explains: the taint of a label, or the quarantine next
 * to our taint. Cloudfence sets these parts in one write, and removes the taint before the quarantine.
 */
const lacksPartOfMark = (node: NodeFacts): boolean => (node.taints.ours ? !node.taints.quarantine : !isReplaced(node));

/** Returns the fence of this boot of which a person removed a part, or null. A label alone does not name its boot. */
const fenceWithoutPart = ({ machine }: View, node: NodeFacts): string | null =>
  node.taintedFor && lacksPartOfMark(node) && isOfThisBoot(node.taintedFor, node, machine)
    ? node.taintedFor.fence
    : fenceOfBareLabel(node);

const partMissing = (view: View, node: NodeFacts): Reason | null => {
  const fence = fenceWithoutPart(view, node);
  return fence === null
    ? null
    : because(
        'fence-removed-by-hand',
        `someone else removed fence ${fence}, or a part of it, from Node ${node.name} in this boot of its ` +
          `machine${whatIsLeft(node)}`,
      );
};

const tombstoneOfThisBoot = (view: View, node: NodeFacts): Reason | null =>
  node.tombstone && isOfThisBoot(node.tombstone, node, view.machine)
    ? because(
        'fence-removed-by-hand',
        `someone else removed fence ${node.tombstone.fence} from Node ${node.name} in this boot of its ` +
          `machine${whatIsLeft(node)}`,
      )
    : null;

/**
 * Returns the same for a record without a generation, which may be of this boot. An example is the record of a machine
 * that the cloud did not know.
 */
const mayBeOfEndedBoot = (record: FenceRecord, node: NodeFacts, view: View): boolean =>
  isOfEndedBoot({ ...record, generation: record.generation ?? view.machine.generation }, node, view);

/**
 * Refuses if the Node has a record of this boot but nothing else of Cloudfence. Either someone removed the fence, or a
 * kubelet wrote the record. A record of an earlier boot does not matter, and a mark replaces it.
 */
const refuseStrayRecord = (view: View, node: NodeFacts): Decision | null =>
  node.strayRecord && mayBeOfEndedBoot(node.strayRecord, node, view)
    ? refuse(
        because(
          'record-not-ours',
          `Node ${node.name} has the record of fence ${node.strayRecord.fence} for this boot, but neither the ` +
            'label nor a taint of Cloudfence. Someone removed them, or wrote the record. To let Cloudfence fence ' +
            `the Node in this boot, run \`${node.dropRecord}\``,
        ),
      )
    : null;

/**
 * Stops if someone removed our fence or our taint, and does not restore it in this boot. That person may know more than
 * Cloudfence does. A tombstone tells later runs about the removal, because they do not remember it.
 */
export const removedByHand: Rule = (view) => {
  const {
    cluster: { node },
    machine,
    remembered,
  } = view;
  if (!node) return null;
  const removed = taintMissing(view, node) ?? fenceMissing(view, node) ?? partMissing(view, node);
  const tombstoneReason = tombstoneOfThisBoot(view, node);
  if (tombstoneReason) return refuse(removed ?? tombstoneReason);
  const recorded = currentRecord(view) ?? liftedRecord(view, node);
  const fence = recorded?.fence ?? node.taintedFor?.fence ?? remembered?.fence ?? node.label ?? undefined;
  if (!removed || fence === undefined) return refuseStrayRecord(view, node);
  // If the cloud does not know the machine at present, the record still names the boot that was fenced.
  const boot = machine.generation === null ? (recorded ?? remembered ?? machine) : machine;
  return takeStep({ do: 'set-tombstone', node: targetNode(node), tombstone: fenceInBoot(fence, node, boot) }, removed);
};
