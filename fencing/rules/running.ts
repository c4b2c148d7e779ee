import {
  type SurveyOfClusters,
  type FirstStopping,
  isOfShownBoot,
  type NodeFacts,
  shortHash,
} from '../model/cluster-facts.ts';
import { type MachineFacts, machineOfProviderID, type Power } from '../model/machine.ts';
import { beginsNothing, timing } from '../model/policy.ts';
import { because, pluralize, type Reason, listSome } from '../model/reason.ts';
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
 * Ends the run if the Node does not exist and left nothing behind. Either all work is done, or the machine was never in
 * this cluster.
 */
export const nothingInCluster: Rule = ({ cluster: { node, pods, volumes }, machine, memory }) => {
  if (node || pods.length > 0 || volumes.length > 0) return null;
  return memory.takenAt.size > 0
    ? fenced(because('fenced', `everything that ${machine.machine} held is free`))
    : ignore(because('no-node', `no Node, pod, or VolumeAttachment in this cluster belongs to ${machine.machine}`));
};

/** Never fences a machine that runs, whatever state its Node shows. */
export const running: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power === 'starting') return ignore(because('machine-starting', `${machine} is starting`));
  if (power !== 'running') return null;
  const { node } = view.cluster;
  if (node && isFencedWithoutRecord(node))
    return refuse(
      because(
        'record-lost',
        `Node ${node.name} is fenced and its record is lost: check the machine, then run ` +
          `${acceptCommand(node)} to end the fence`,
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
 * Returns a short hash of the machine and its boot. If the cloud does not distinguish boots, or an operation on the
 * machine looks like another boot, the Node's bootID is used.
 */
const bootOf = ({ machine, generation, generationDrifts }: MachineFacts, { bootID }: NodeFacts): string =>
  `${shortHash(machine)}${shortHash(generation === null || generationDrifts ? bootID : generation)}`;

/**
 * Returns when an earlier run first saw this stop, or null. A time slightly in the future counts as now. A time further
 * in the future is written again, because the limit would otherwise never be reached.
 */
const seenBefore = ({ machine, cluster: { node }, now }: View): number | null => {
  if (!node?.stopping || node.stopping.boot !== bootOf(machine, node)) return null;
  const ago = now.wall - node.stopping.at;
  return ago > -timing.clocksDiffer && ago < timing.stoppingNoted ? Math.min(node.stopping.at, now.wall) : null;
};

const seenNow = ({ memory, now }: View): number => memory.firstStopping?.at ?? now.wall;

/**
 * Returns since when the machine is stopping (epoch ms). If the cloud does not say, the time counts from when this or
 * an earlier run first saw the stop. Times that a kubelet reports do not count.
 */
const stoppingSince = (view: View): number =>
  view.machine.since ?? Math.min(seenNow(view), seenBefore(view) ?? Infinity);

/**
 * Writes down when the machine was first seen `stopping`. A stop can last longer than a run, and the next run does not
 * remember it. So Cloudfence writes the time to a label that no kubelet can write. It does so under every policy,
 * because each stop that takes too long causes an alarm.
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
 * Waits for the end of a stop. If the stop takes too long, powers the machine off, if the policy allows it. Before the
 * end, the guest may still write, so only the end is proof. If the power state is already off, the stop has ended. Such
 * a machine only waits for an operation, such as the detach of a disk. Neither an alarm nor a power-off would help.
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

/** Returns whether a stop may be in progress. An answer without a power state does not end a stop. */
const mayBeStopping = ({ power, offUnderOperation }: MachineFacts): boolean =>
  power === 'unknown' || (power === 'stopping' && offUnderOperation !== true);

const off: ReadonlySet<Power> = new Set<Power>(['off', 'off-if-repeated', 'missing']);

/**
 * Returns whether the next step may be the mark. The mark also removes the note, so that the note does not delay the
 * fence.
 */
const mayBeMarked = (view: View): boolean => off.has(view.machine.power) && isUnmarked(view) && !hasNothingToFree(view);

/** Removes the note of a stop that has ended. The note must not be used for the next stop. */
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
 * Returns why the machine must not be powered off, or null. A power-off is destructive, so the guards of a fence apply
 * to it.
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
 * Returns how long (ms) the Node has been unreachable. If it was already silent while its machine was off, the time
 * counts from the machine's start.
 */
const unreachableFor = ({ machine, now }: View, node: NodeFacts): number =>
  node.ready === 'True' ? 0 : now.wall - Math.max(node.readySince, machine.since ?? 0);

/** Returns why the machine may also belong to another Node, in this cluster or another one, or null. */
const whyNamedElsewhere = (
  { machine: { machine } }: View,
  node: NodeFacts,
  survey: SurveyOfClusters,
): string | null => {
  const others = [...survey.nodesNamingMachine.filter((name) => name !== node.name), ...survey.elsewhere];
  if (others.length > 0) return `${listSome(others)} also names ${machine}, or does not say yet which machine it is`;
  return survey.unanswered.length > 0 ? `another Node may name ${machine} in ${listSome(survey.unanswered)}` : null;
};

/**
 * Returns the survey if there is one that is recent enough. In an older one, other Nodes may have become unreachable
 * since.
 */
const youngSurvey = ({ memory: { connectivity }, now }: View): SurveyOfClusters | null =>
  connectivity && now.mono - connectivity.requestedAt < timing.survey ? connectivity.value : null;

/**
 * Returns what prevents the power-off, a request for a survey, or null. If many Nodes seem dead at the same time, the
 * network or Cloudfence itself may be the cause. Control-plane Nodes are never powered off.
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
      `${pluralize(others.length, 'other Node is', 'other Nodes are')} also unreachable (${listSome(others)})`,
    );
  if (!connectivity.unreachable.includes(node.name)) return refuseBecause('its Lease is not stale');
  if (connectivity.zone.every((name) => connectivity.unreachable.includes(name)))
    return refuseBecause(`all of zone ${node.zone ?? 'unknown'} is unreachable`);
  return null;
};

/** Powers the machine off once, or says what prevents it. */
const powerOff = (view: View, node: NodeFacts, says: string): Decision =>
  mayPowerOff(view) ?? powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce(view, says);

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
  because(
    'taint-of-another-boot',
    `Node ${name} shows another boot than the one for which Cloudfence set its out-of-service taint`,
  );

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

/**
 * Returns whether our taint has done its work on a Node of which it is no longer certain that it belongs to the
 * machine. Another machine may use its name now. A fence cannot end there, and the taint would stay until that machine
 * appears.
 */
const hasOutlivedIdentity = (view: View, node: NodeFacts): boolean =>
  proveIdentity(node, view.machine, view.identityRules) !== 'proven' && hasNothingToFree(view);

/** Returns why our out-of-service taint must be removed from the Node, or null. */
const whyLift = (view: View, node: NodeFacts): Reason | null => {
  const { machine, power } = view.machine;
  if (mayWrite(view) && !isVouchedByPerson(view))
    return because(
      'no-longer-off',
      `the cloud says that ${machine} is ${power}, so Cloudfence removes its out-of-service taint from Node ` +
        node.name,
    );
  if (hasBootedSince(node)) return bootedSince(node);
  return hasOutlivedIdentity(view, node)
    ? because(
        'nothing-left-to-free',
        `Kubernetes has freed everything on Node ${node.name}, and nothing proves any more that the Node is ` +
          `that of ${machine}`,
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
