import { fenceIdOn, fenceInBoot, type NodeFacts } from '../model/cluster-facts.ts';
import type { FenceRecord } from '../model/record.ts';
import { because } from '../model/reason.ts';
import { type Step, stepKey } from '../model/steps.ts';
import { acceptCommand, nodeShowsAnotherBoot } from './identity.ts';
import { newRecord, presentGeneration, targetNode } from './mark.ts';
import { endQuarantine, hasStarted, isFenced } from './release.ts';
import { refuse, type Rule, takeStep, type View } from './view.ts';
import { secondReadPending } from './waits.ts';

/** A person ends a fence with a statement instead of a proof. */

/** Returns whether the cloud certainly names the same boot as when the fence began. */
const isInFencedBoot = ({ machine }: View, record: FenceRecord | null): boolean =>
  machine.generation !== null &&
  machine.generationDrifts !== true &&
  record?.machine === machine.machine &&
  record.generation === machine.generation;

/**
 * Returns whether the cloud says that the boot that was fenced has ended. A fence begins only when the machine is off,
 * so a machine that runs has been started since. The same applies to one that stops, unless it is still in that boot:
 * someone deallocates or deletes a stopped machine, or detaches its disk. It also applies to a suspended one, unless
 * the fence began on a person's statement. `record` is null if it is lost.
 */
const hasFencedBootEnded = (view: View, record: FenceRecord | null): boolean =>
  hasStarted(view) ||
  (view.machine.power === 'stopping' && !isInFencedBoot(view, record)) ||
  (view.machine.power === 'suspended' && record !== null && record.vouched === null);

/** The Node's name for a boot that has ended. No Node shows it. */
const ENDED = '';

/** Returns a substitute for a lost or unreadable record, which is sufficient for a release on a person's statement. */
const reconstructed = (view: View, node: NodeFacts): FenceRecord => ({
  ...newRecord(view, node),
  ...(hasFencedBootEnded(view, null) && { generation: null }),
  // A record counts only if the label names the same fence.
  ...(node.label !== null && { fence: node.tombstone?.fence ?? node.label }),
  outOfService: node.taints.ours ? 'ours' : 'unsupported',
});

/**
 * Returns the record of a fence that a person ends. It names the boot to which the statement applies: the present one,
 * or one that has ended, if the machine has been started since. So the stop after that start is fenced, even if it has
 * begun already. If the process of that person dies, later runs end the release of a machine that has started.
 */
const endedByPerson = (view: View, { bootID }: NodeFacts, record: FenceRecord, hasEnded: boolean): FenceRecord => ({
  ...record,
  ...(hasEnded ? { bootID: ENDED } : { bootID, ...presentGeneration(view) }),
  phase: 'releasing',
  released: new Date(view.now.wall).toISOString(),
});

/**
 * Returns whether the Node may have another fence than the one to which the person's statement applies. A substitute
 * that this run itself wrote for a lost record does not count as another fence.
 */
const isAnotherFence = (node: NodeFacts, { memory: { firstFence, isStatementOld }, runId }: View): boolean => {
  if (isStatementOld) return true;
  const name = fenceIdOn(node);
  return firstFence !== undefined && name !== null && name !== firstFence && !name.startsWith(`${runId}.`);
};

/**
 * Releases the fence, or removes the rest of it, because a person has checked the machine and vouches for it. The
 * statement applies to one fence only: if another one may have begun since, it stays. This needs no proof and no
 * identity source. The Node is not fenced again in the boot that it shows, unless the cloud says that the boot that was
 * fenced has ended, or the Node showed another boot at the beginning: the statement is about that one. If the state may
 * also be that of a machine that starts, a second read shows to which boot the statement applies.
 */
export const acceptedByPerson: Rule = (view) => {
  const { node } = view.cluster;
  const { accepted } = view.request;
  if (!node || accepted === null || (!isFenced(node) && node.recordText === null)) return null;
  if (isAnotherFence(node, view))
    return refuse(
      because(
        'another-fence',
        `another fence may have begun on ${node.name} since this command began: check the machine again, then run ` +
          acceptCommand(node),
      ),
    );
  const pending = secondReadPending(view);
  if (pending) return pending;
  const kept = node.record ?? node.strayRecord;
  const record = kept ?? reconstructed(view, node);
  const hasEnded = hasFencedBootEnded(view, kept) || nodeShowsAnotherBoot(view);
  const ended = endedByPerson(view, node, record, hasEnded);
  const lift: Step = { do: 'lift-out-of-service', node: targetNode(node), record: ended };
  const isBegun = record.phase === 'releasing' && view.memory.takenAt.has(stepKey(lift));
  if (node.taints.ours || !isBegun) return takeStep(lift, because('accepted-by-a-person', accepted));
  const isOver = hasEnded || record.bootID === ENDED;
  return endQuarantine(view, node, record, isOver ? null : fenceInBoot(record.fence, record, record));
};
