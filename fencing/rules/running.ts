import {
  type SurveyOfClusters,
  type FirstStopping,
  isOfShownBoot,
  type NodeFacts,
  shortHash,
} from '../model/cluster-facts.ts';
import { type MachineFacts, machineOfProviderID, type Power } from '../model/machine.ts';
import { beginsNothing, timing } from '../model/policy.ts';
import { because, counted, type Reason, listSome } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { type ClusterStep, stepKey } from '../model/steps.ts';
import { capReached, hasNothingToFree, mayBegin, paused } from './guards.ts';
import { acceptCommand, proveIdentity, namesOnlyThisMachine, targetMachine } from './identity.ts';
import { targetNode, isUnmarked } from './mark.ts';
import { vouchReason } from './proof.ts';
import { isFencedWithoutRecord } from './release.ts';
import { type Decision, fenced, ignore, type Moment, refuse, type Rule, takeStep, type View, wait } from './view.ts';
import { pollDelay, waitForOperation } from './waits.ts';

/**
 * Ends the run if there is neither a Node nor anything that one left behind. Either everything is done, or the machine
 * was never in this cluster.
 */
export const nothingInCluster: Rule = ({ cluster: { node, pods, volumes }, machine, memory }) => {
  if (node || pods.length > 0 || volumes.length > 0) return null;
  return memory.takenAt.size > 0
    ? fenced(because('fenced', `everything that ${machine.machine} held is free`))
    : ignore(because('no-node', `no Node, pod, or VolumeAttachment in this cluster belongs to ${machine.machine}`));
};

/** Does not fence a machine that runs: it is not off, whatever its Node looks like. */
export const running: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power === 'starting') return ignore(because('machine-starting', `${machine} is starting`));
  if (power !== 'running') return null;
  const { node } = view.cluster;
  if (node && isFencedWithoutRecord(node))
    return refuse(
      because(
        'record-lost',
        `Node ${node.name} is fenced and its record is lost: look at the machine, then ${acceptCommand(node)} ends the fence`,
      ),
    );
  if (!node || unreachableFor(view, node) <= 0)
    return ignore(because('machine-running', `the cloud says that ${machine} is running`));
  if (view.policy.unreachable === 'report') {
    return refuse(
      because(
        'unreachable-but-running',
        `Node ${node.name} is unreachable, but the cloud says that ${machine} is running, so it may still write`,
      ),
    );
  }
  return powerOff(view, node, `Node ${node.name} is unreachable while ${machine} runs`);
};

/**
 * Returns one machine and one boot of it in a few characters. Where the cloud does not distinguish boots, or shows an
 * operation on the machine as another boot, the Node's bootID decides.
 */
const bootOf = ({ machine, generation, generationDrifts }: MachineFacts, { bootID }: NodeFacts): string =>
  `${shortHash(machine)}${shortHash(generation === null || generationDrifts ? bootID : generation)}`;

/**
 * Returns when an earlier run first saw this very stop, or null. A time that lies slightly ahead counts as now. A time
 * that lies further ahead is written again, because it would never pass otherwise.
 */
const seenBefore = ({ machine, cluster: { node }, now }: View): number | null => {
  if (!node?.stopping || node.stopping.boot !== bootOf(machine, node)) return null;
  const ago = now.wall - node.stopping.at;
  return ago > -timing.clocksDiffer && ago < timing.stoppingNoted ? Math.min(node.stopping.at, now.wall) : null;
};

const seenNow = ({ memory, now }: View): number => memory.firstStopping?.at ?? now.wall;

/**
 * Returns since when the machine is stopping (epoch ms). If the cloud does not say, the time counts from when this run
 * or an earlier one first saw it. What a kubelet says about it does not count.
 */
const stoppingSince = (view: View): number =>
  view.machine.since ?? Math.min(seenNow(view), seenBefore(view) ?? Infinity);

/**
 * Notes when the machine was first seen `stopping`. No run lives for as long as a stop may take, and the next run
 * remembers nothing. So Cloudfence writes the time where no kubelet may write, whatever the policy: each stop that
 * takes too long is an alarm.
 */
const noteFirstSight = (view: View, node: NodeFacts): Decision | null => {
  const { machine, policy } = view;
  if (machine.since !== null || beginsNothing(policy) || seenBefore(view) !== null) return null;
  const stopping: FirstStopping = { at: seenNow(view), boot: bootOf(machine, node) };
  return takeStep(
    { do: 'note-stopping', node: targetNode(node), stopping },
    because('stopping', `the cloud does not say when ${machine.machine} began to stop`),
  );
};

/**
 * Waits for the end of a stop, or powers the machine off by policy if the stop takes too long. Until the end, the guest
 * may still write: only the end is proof. The stop of a machine that is off by its power state is over. That machine
 * waits for an operation, such as the detach of a disk: neither an alarm nor a power-off would help it.
 */
export const stopping: Rule = (view) => {
  const { power, machine, offUnderOperation } = view.machine;
  if (power !== 'stopping') return null;
  if (offUnderOperation)
    return waitForOperation(
      view,
      because('stopping', `${machine} seems to be off, but an operation on it has not finished`),
    );
  const { node } = view.cluster;
  const noted = node && noteFirstSight(view, node);
  if (noted) return noted;
  const since = stoppingSince(view);
  if (view.now.wall - since < timing.stopping)
    return wait(pollDelay(view), because('stopping', `${machine} is stopping, so its guest may still write`));
  const says = `${machine} has been stopping since ${new Date(since).toISOString()}`;
  if (view.policy.unreachable !== 'power-off' || !node)
    return wait(pollDelay(view), because('stopping-too-long', says));
  return powerOff(view, node, says);
};

/** Returns whether a stop may be in progress. An answer without a power state ends nothing. */
const mayBeStopping = ({ power, offUnderOperation }: MachineFacts): boolean =>
  power === 'unknown' || (power === 'stopping' && offUnderOperation !== true);

const off: ReadonlySet<Power> = new Set<Power>(['off', 'off-if-repeated', 'missing']);

/**
 * Returns whether the next step may be the mark. It removes the note as well, so that a fence takes no longer for it.
 */
const mayBeMarked = (view: View): boolean => off.has(view.machine.power) && isUnmarked(view) && !hasNothingToFree(view);

/** Removes the note of a stop that is over. It says nothing about the next stop. */
export const forgetStopping: Rule = (view) => {
  const {
    cluster: { node },
    machine,
    policy,
    identityRules,
  } = view;
  if (!node?.stopping || policy.dryRun || mayBeStopping(machine) || mayBeMarked(view)) return null;
  if (!namesOnlyThisMachine(node, machine, identityRules)) return null;
  return takeStep(
    { do: 'note-stopping', node: targetNode(node), stopping: null },
    because('no-longer-stopping', `${machine.machine} is ${machine.power}`),
  );
};

/**
 * Returns why the machine may not be powered off, or null. A power-off is destructive, so the same guards apply as to a
 * fence.
 */
const mayPowerOff = (view: View): Decision | null => paused(view) ?? mayBegin(view);

const powerOffOnce = (view: View, says: string): Decision => {
  const step = { do: 'power-off', target: targetMachine(view) } as const;
  const asked = view.memory.takenAt.has(stepKey(step));
  return asked
    ? wait(pollDelay(view), because('stopping-too-long', says))
    : takeStep(step, because('power-off-by-policy', says));
};

/**
 * Returns how long (ms) the Node has been unreachable. If it was silent while its machine was off, the time counts from
 * when the machine runs again.
 */
const unreachableFor = ({ machine, now }: View, node: NodeFacts): number =>
  node.ready === 'True' ? 0 : now.wall - Math.max(node.readySince, machine.since ?? 0);

/** Returns why the machine may also be that of another Node, of this cluster or of another one, or null. */
const whyNamedElsewhere = (
  { machine: { machine } }: View,
  node: NodeFacts,
  survey: SurveyOfClusters,
): string | null => {
  const others = [...survey.nodesNamingMachine.filter((name) => name !== node.name), ...survey.elsewhere];
  if (others.length > 0) return `${listSome(others)} also names ${machine}, or does not say yet which machine it is`;
  return survey.unanswered.length > 0 ? `another Node may name ${machine} in ${listSome(survey.unanswered)}` : null;
};

/** Returns the survey, unless there is none, or one that is too old: others may have become unreachable since. */
const youngSurvey = ({ memory: { connectivity }, now }: View): SurveyOfClusters | null =>
  connectivity && now.mono - connectivity.requestedAt < timing.survey ? connectivity.value : null;

/**
 * Returns what forbids the power-off, or the survey to ask for first, or null. If many Nodes look
 * dead at once, the network or Cloudfence itself may be at fault. A control-plane Node is never powered off.
 */
const powerOffForbidden = (view: View, node: NodeFacts): Decision | null => {
  const refuseBecause = (why: string) =>
    refuse(because('power-off-refused', `Cloudfence does not power off ${node.name}: ${why}`));
  const connectivity = youngSurvey(view);
  if (node.controlPlane) return refuseBecause('it is a control-plane node');
  if (unreachableFor(view, node) < timing.unreachable)
    return refuseBecause('it has been unreachable for less than 5 minutes');
  if (!connectivity)
    return {
      do: 'survey-connectivity',
      because: because(
        'unreachable-but-running',
        'Cloudfence checks which other Nodes are unreachable, and whether another Node names the machine',
      ),
    };
  if (view.cluster.lease !== view.memory.firstLease) return refuseBecause('its kubelet has just renewed its Lease');
  const namedElsewhere = whyNamedElsewhere(view, node, connectivity);
  if (namedElsewhere !== null) return refuseBecause(namedElsewhere);
  const others = connectivity.unreachable.filter((name) => name !== node.name);
  if (others.length > 0)
    return refuseBecause(
      `${counted(others.length, 'other Node is', 'other Nodes are')} also unreachable (${listSome(others)})`,
    );
  if (!connectivity.unreachable.includes(node.name)) return refuseBecause('its Lease is not stale');
  if (connectivity.zone.every((name) => connectivity.unreachable.includes(name)))
    return refuseBecause(`all of zone ${node.zone ?? 'unknown'} is unreachable`);
  return null;
};

/** Powers the machine off once, or says what forbids it. */
const powerOff = (view: View, node: NodeFacts, says: string): Decision =>
  mayPowerOff(view) ?? powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce(view, says);

/** Power states in which the cloud says that the machine is not off. Its guest may write, now or within seconds. */
const notOff: ReadonlySet<Power> = new Set<Power>(['running', 'starting', 'stopping', 'suspended']);

/**
 * Returns whether the guest may write. An operation on a machine that is off by its power state is our own detach, or
 * the driver's. A start becomes visible within seconds.
 */
const mayWrite = ({ machine: { power, offUnderOperation } }: View): boolean =>
  notOff.has(power) && offUnderOperation !== true;

const lifted = (record: FenceRecord, now: Moment): FenceRecord => ({
  ...record,
  phase: 'lifted',
  released: new Date(now.wall).toISOString(),
});

/** Returns the record of the lifted mark. Null if it is lost or names another machine: nothing is written over it. */
const liftedRecord = ({ now, machine }: View, { record }: NodeFacts): FenceRecord | null =>
  record && record.machine === machine.machine ? lifted(record, now) : null;

/**
 * Returns whether the Node's record names another machine, and nothing more reliable contradicts that. What a kubelet
 * writes in the record or under its driver's name does not keep our taint on its machine, because a providerID never
 * changes.
 */
const isAnothers = ({ machine, identityRules }: View, node: NodeFacts): boolean =>
  node.record !== null &&
  node.record.machine !== machine.machine &&
  machineOfProviderID(node.identitySources, identityRules.machineOf) !== machine.machine &&
  proveIdentity(node, machine, identityRules) !== 'proven';

/**
 * Returns whether a person's statement covers a suspended machine. It never counts against a cloud that says that the
 * machine is up.
 */
const isVouchedByPerson = (view: View): boolean => view.machine.power === 'suspended' && vouchReason(view) !== null;

/**
 * Returns whether the Node has shown another boot since our taint was set. Then a machine has booted on the tainted
 * Node: the same one again, or another one under the Node's name. The proof for which the taint was set is over.
 */
export const hasBootedSince = (node: NodeFacts): boolean =>
  node.taintedFor !== null && !isOfShownBoot(node.taintedFor, node);

const bootedSince = ({ name }: NodeFacts): Reason =>
  because(
    'taint-of-another-boot',
    `Node ${name} shows another boot than the one for which Cloudfence set its out-of-service taint`,
  );

interface Lift {
  readonly step: ClusterStep;
  readonly because: Reason;
}

/**
 * Returns the step that removes our taint from a Node that has booted since, or null. The Node alone decides: neither a
 * machine nor a cloud has to be known.
 */
export const liftOutlivedTaint = (node: NodeFacts, now: Moment): Lift | null => {
  if (!node.taints.ours || !hasBootedSince(node)) return null;
  const record = node.record && lifted(node.record, now);
  return { step: { do: 'lift-out-of-service', node: targetNode(node), record }, because: bootedSince(node) };
};

/**
 * Returns whether our taint has done its work on a Node that can no longer be shown to be the machine's: another
 * machine may have its name by now. No fence can end there, and the taint would stay until that machine appears.
 */
const hasOutlivedIdentity = (view: View, node: NodeFacts): boolean =>
  proveIdentity(node, view.machine, view.identityRules) !== 'proven' && hasNothingToFree(view);

/** Returns why our out-of-service taint must go from the Node, or null. */
const whyLift = (view: View, node: NodeFacts): Reason | null => {
  const { machine, power } = view.machine;
  if (mayWrite(view) && !isVouchedByPerson(view))
    return because(
      'no-longer-off',
      `the cloud says that ${machine} is ${power}, so Cloudfence removes its out-of-service taint from Node ${node.name}`,
    );
  if (hasBootedSince(node)) return bootedSince(node);
  return hasOutlivedIdentity(view, node)
    ? because(
        'nothing-left-to-free',
        `Kubernetes has freed everything on Node ${node.name}, and nothing proves any more that the Node is that of ${machine}`,
      )
    : null;
};

/**
 * Removes our out-of-service taint from a machine that may write. A proof covers one call, but Kubernetes keeps acting
 * on the taint: it would delete the pods of a machine that has come back, and detach its mounted disks as soon as its
 * kubelet is cut off. So the taint goes before any other question is asked, even under a pause. The quarantine stays
 * until the return is proven. Only a read that this run requested after it saw the mark lifts it: another run may have set
 * the mark since an older one.
 * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
 */
export const liftMark: Rule = (view) => {
  const { node } = view.cluster;
  if (!node?.taints.ours || isAnothers(view, node)) return null;
  const reason = whyLift(view, node);
  return reason && lift(view, node, reason);
};

/** Removes our out-of-service taint, or first reads the machine again if the mark may be younger than that read. */
const lift = (view: View, node: NodeFacts, reason: Reason): Decision =>
  view.memory.markIsNew && !hasBootedSince(node)
    ? { do: 'reread', because: reason }
    : takeStep({ do: 'lift-out-of-service', node: targetNode(node), record: liftedRecord(view, node) }, reason);

/**
 * Removes our out-of-service taint if it is of an earlier boot and a guard forbids a fence of the boot that has ended.
 * The machine was started and stopped again before any run saw it run. Nothing would end the earlier fence otherwise.
 */
export const liftForbiddenMark: Rule = (view) => {
  const { node } = view.cluster;
  const forbidden = mayBegin(view);
  if (!node?.taints.ours || !isUnmarked(view) || forbidden?.do !== 'end') return null;
  const { code, says } = forbidden.because;
  return lift(view, node, because(code, `the fence on Node ${node.name} is of an earlier boot, and ${says}`));
};
