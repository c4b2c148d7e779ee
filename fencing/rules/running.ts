import { type SurveyOfClusters, type FirstStopping, type NodeFacts, shortHash } from '../model/cluster-facts.ts';
import { type MachineFacts, offStates, powerInWords } from '../model/machine.ts';
import { beginsNothing, timing } from '../model/policy.ts';
import { because, pluralize, listSome } from '../model/reason.ts';
import { stepKey } from '../model/steps.ts';
import { capReached, hasNothingToFree, mayBegin, paused } from './guards.ts';
import { acceptCommand, namesOnlyThisMachine, targetMachine } from './identity.ts';
import { targetNode, isUnmarked } from './mark.ts';
import { isFencedWithoutRecord } from './release.ts';
import { type Decision, fenced, ignore, refuse, type Rule, takeStep, type View, wait } from './view.ts';
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
        `Node ${node.name} is unreachable, but the cloud says that ${machine} is running: it may still write`,
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

/**
 * Returns whether the next step may be the mark. The mark also removes the note, so that the note does not delay the
 * fence.
 */
const mayBeMarked = (view: View): boolean =>
  offStates.has(view.machine.power) && isUnmarked(view) && !hasNothingToFree(view);

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
    because('no-longer-stopping', `${machine.machine} is ${powerInWords(machine.power)}`),
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
        'Cloudfence checks which other Nodes are unreachable, and whether another names the machine',
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
