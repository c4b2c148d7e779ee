import { isOfShownBoot, type NodeFacts } from '../model/cluster-facts.ts';
import { machineOfProviderID, type Power, powerInWords } from '../model/machine.ts';
import { because, type Reason } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import type { ClusterStep } from '../model/steps.ts';
import { hasNothingToFree, mayBegin } from './guards.ts';
import { beganWithoutMachine, proveIdentity } from './identity.ts';
import { targetNode, isUnmarked } from './mark.ts';
import { missingNeedsWitness, vouchReason } from './proof.ts';
import { type Decision, type Moment, type Rule, takeStep, type View } from './view.ts';

/** When our out-of-service taint must be removed although the fence has not ended. */

/** Power states in which the cloud says that the machine is not off. The guest may write, now or within seconds. */
const notOff: ReadonlySet<Power> = new Set<Power>(['running', 'starting', 'stopping', 'suspended']);

/**
 * Returns whether the guest may write. If the power state is off and an operation is in progress, it is a detach by
 * Cloudfence or the driver. A start would become visible within seconds.
 */
const mayWrite = ({ machine: { power, offUnderOperation } }: View): boolean =>
  notOff.has(power) && offUnderOperation !== true;

const lifted = (record: FenceRecord, now: Moment): FenceRecord => ({
  ...record,
  phase: 'lifted',
  released: new Date(now.wall).toISOString(),
});

/**
 * Returns the record of the mark that is being removed. Null if the record is lost or names another machine, because
 * such a record is not overwritten.
 */
const liftedRecord = ({ now, machine }: View, { record }: NodeFacts): FenceRecord | null =>
  record && record.machine === machine.machine ? lifted(record, now) : null;

/**
 * Returns whether the Node's record names another machine, and nothing more reliable contradicts that. What a kubelet
 * writes in the record or under its driver's name cannot keep our taint on the machine, because a providerID never
 * changes.
 */
const isAnothers = ({ machine, identityRules }: View, node: NodeFacts): boolean =>
  node.record !== null &&
  node.record.machine !== machine.machine &&
  machineOfProviderID(node.identitySources, identityRules.machineOf) !== machine.machine &&
  proveIdentity(node, machine, identityRules) !== 'proven';

/**
 * Returns whether a person's statement covers a suspended machine. The statement never overrides a cloud that says that
 * the machine runs.
 */
const isVouchedByPerson = (view: View): boolean => view.machine.power === 'suspended' && vouchReason(view) !== null;

/**
 * Returns whether the Node has shown another boot since our taint was set. If so, a machine has booted on the tainted
 * Node: either the same machine, or another one that uses the Node's name. The proof for which the taint was set is
 * then no longer valid.
 */
export const hasBootedSince = (node: NodeFacts): boolean =>
  node.taintedFor !== null && !isOfShownBoot(node.taintedFor, node);

const bootedSince = ({ name }: NodeFacts): Reason =>
  because('taint-of-another-boot', `Node ${name} shows another boot than when Cloudfence set its out-of-service taint`);

interface Lift {
  readonly step: ClusterStep;
  readonly because: Reason;
}

/**
 * Returns the step that removes our taint from a Node that has booted since, or null. Only the Node is needed: neither
 * its machine nor a cloud has to be known.
 */
export const liftOutlivedTaint = (node: NodeFacts, now: Moment): Lift | null => {
  if (!node.taints.ours || !hasBootedSince(node)) return null;
  const record = node.record && lifted(node.record, now);
  return { step: { do: 'lift-out-of-service', node: targetNode(node), record }, because: bootedSince(node) };
};

/** Returns whether the record of the fence is there, and can say that the machine was gone when the fence began. */
const isRecordKept = ({ record, label }: NodeFacts): boolean =>
  record !== null && (label !== null || !beganWithoutMachine(record));

/**
 * Returns whether no disk can confirm any more that the machine is gone, after a search of all attachments. An example
 * is a mark after which someone removed an earlier fence: Kubernetes had begun to detach all disks by then.
 */
const hasNoWitness = (view: View): boolean => view.memory.witness === null && missingNeedsWitness(view)?.do === 'end';

/**
 * Returns what nothing proves any more, or null. If the Node's identity is in doubt, another machine may use its name
 * now. If the cloud does not know the machine, and the record was removed or names no witness, the machine may have
 * been started since. A fence cannot end on such a Node.
 */
const unprovable = (view: View, node: NodeFacts): string | null => {
  const { machine, power } = view.machine;
  if (proveIdentity(node, view.machine, view.identityRules) !== 'proven') return `that the Node is that of ${machine}`;
  return power === 'missing' && (!isRecordKept(node) || hasNoWitness(view)) ? `that ${machine} is off` : null;
};

/** Returns why our out-of-service taint must be removed from the Node, or null. */
const whyLift = (view: View, node: NodeFacts): Reason | null => {
  const { machine, power } = view.machine;
  if (mayWrite(view) && !isVouchedByPerson(view))
    return because(
      'no-longer-off',
      `the cloud says that ${machine} is ${powerInWords(power)}: Cloudfence removes its out-of-service taint ` +
        `from Node ${node.name}`,
    );
  if (hasBootedSince(node)) return bootedSince(node);
  const unproven = unprovable(view, node);
  return unproven !== null && hasNothingToFree(view)
    ? because(
        'nothing-left-to-free',
        `Kubernetes has freed everything on Node ${node.name}, and nothing proves any more ${unproven}`,
      )
    : null;
};

/**
 * Removes our out-of-service taint from the Node of a machine that may write. A proof covers one call, but Kubernetes
 * keeps acting on the taint. It would delete the pods of a machine that has come back, and would detach its mounted
 * disks as soon as its kubelet is cut off. So the taint is removed before any other rule applies, even during a pause.
 * The quarantine stays until the machine has proven a fresh boot. The cloud's answer must have been requested after
 * this run saw the mark, because another run may have set the mark after an older answer.
 * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
 */
export const liftMark: Rule = (view) => {
  const { node } = view.cluster;
  if (!node?.taints.ours || isAnothers(view, node)) return null;
  const reason = whyLift(view, node);
  return reason && lift(view, node, reason);
};

/**
 * Removes our out-of-service taint. If the mark may be newer than the read of the machine, first reads the machine
 * again.
 */
const lift = (view: View, node: NodeFacts, reason: Reason): Decision =>
  view.memory.markIsNew && !hasBootedSince(node)
    ? { do: 'reread', because: reason }
    : takeStep({ do: 'lift-out-of-service', node: targetNode(node), record: liftedRecord(view, node) }, reason);

/**
 * Removes our out-of-service taint of an earlier boot if a guard prevents a fence of the boot that has ended. In this
 * case, the machine was started and stopped again before any run saw it running. Without this rule, the earlier fence
 * would never end.
 */
export const liftForbiddenMark: Rule = (view) => {
  const { node } = view.cluster;
  const forbidden = mayBegin(view);
  if (!node?.taints.ours || !isUnmarked(view) || forbidden?.do !== 'end') return null;
  const { code, says } = forbidden.because;
  return lift(view, node, because(code, `the fence on Node ${node.name} is of an earlier boot, and ${says}`));
};
