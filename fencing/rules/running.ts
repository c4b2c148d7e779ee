import { type FirstStopping, type NodeFacts, shortHash } from '../model/cluster-facts.ts';
import type { MachineFacts, Power } from '../model/machine.ts';
import { patience } from '../model/policy.ts';
import { because } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { stepKey } from '../model/steps.ts';
import { capReached, optedOut, paused } from './guards.ts';
import { identityOf, namesMachine, targetMachine } from './identity.ts';
import { targetNode } from './mark.ts';
import { vouchedFor } from './proof.ts';
import { isFencedWithoutRecord } from './release.ts';
import { type Decision, fenced, ignore, refuse, type Rule, take, type View, wait } from './view.ts';
import { pollDelay } from './waits.ts';

/** Neither a Node nor anything that one left behind: all is done, or it never was a machine of this cluster. */
export const nothingOfOurs: Rule = ({ cluster: { node, pods, volumes }, machine, memory }) => {
  if (node || pods.length > 0 || volumes.length > 0) return null;
  return memory.asked.size > 0
    ? fenced(because('fenced', `nothing that ${machine.machine} held is left`))
    : ignore(because('no-node', `no Node, pod or volume attachment of this cluster belongs to ${machine.machine}`));
};

/** A machine that runs is not off, whatever its Node looks like. */
export const running: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power === 'starting') return ignore(because('machine-starting', `${machine} is starting`));
  if (power !== 'running') return null;
  const { node } = view.cluster;
  if (node && isFencedWithoutRecord(node))
    return refuse(
      because('record-lost', `Node ${node.name} is fenced and its record is lost: vouch for it with release --accept`),
    );
  if (!node || unreachableFor(view, node) <= 0)
    return ignore(because('machine-running', `the cloud says that ${machine} is running`));
  if (view.policy.unreachable === 'report') {
    return refuse(
      because(
        'unreachable-but-running',
        `Node ${node.name} is unreachable, yet the cloud says that ${machine} is running: it may still write`,
      ),
    );
  }
  return powerOff(view, node, `Node ${node.name} is unreachable while ${machine} runs`);
};

/** One machine and one boot of it, in a few characters; null where the cloud does not tell boots apart. */
const bootOf = ({ machine, generation }: MachineFacts): string | null =>
  generation === null ? null : `${shortHash(machine)}${shortHash(generation)}`;

/**
 * When an earlier run first saw this very stop. A time that lies ahead counts as now, and is written anew, or it would
 * never pass.
 */
const seenBefore = ({ machine, cluster: { node }, now }: View): number | null => {
  if (!node?.stopping || node.stopping.boot !== bootOf(machine)) return null;
  const ago = now.wall - node.stopping.at;
  return ago > -patience.clocksDiffer && ago < patience.stoppingNoted ? Math.min(node.stopping.at, now.wall) : null;
};

const seenNow = ({ memory, now }: View): number => memory.firstStopping?.at ?? now.wall;

/**
 * Where the cloud does not say since when, this is counted from the first time that we saw it, in this run or an
 * earlier one: what a kubelet says of it counts nothing.
 */
const stoppingSince = (view: View): number =>
  view.machine.since ?? Math.min(seenNow(view), seenBefore(view) ?? Infinity);

/** Only a Node that the policy may switch off has anything noted on it. */
const isToBeNoted = (view: View, node: NodeFacts): boolean =>
  view.policy.unreachable === 'power-off' && !view.policy.dryRun && !node.controlPlane && mayPowerOff(view) === null;

/**
 * No run lives for as long as a stop may take, and the next one remembers nothing: the time goes where no kubelet may
 * write.
 */
const noteFirstSight = (view: View, node: NodeFacts): Decision | null => {
  const boot = bootOf(view.machine);
  if (view.machine.since !== null || boot === null || seenBefore(view) !== null || !isToBeNoted(view, node))
    return null;
  const stopping: FirstStopping = { at: seenNow(view), boot };
  return take(
    { do: 'note-stopping', node: targetNode(node), stopping },
    because('stopping', `the cloud does not say since when ${view.machine.machine} is stopping`),
  );
};

/** On its way down the guest may still write: only the end of it is proof. */
export const stopping: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power !== 'stopping') return null;
  const { node } = view.cluster;
  const noted = node && noteFirstSight(view, node);
  if (noted) return noted;
  const since = stoppingSince(view);
  if (view.now.wall - since < patience.stopping)
    return wait(pollDelay(view), because('stopping', `${machine} is stopping; its guest may still write`));
  const says = `${machine} has been stopping since ${new Date(since).toISOString()}`;
  if (view.policy.unreachable !== 'power-off' || !node)
    return wait(pollDelay(view), because('stopping-too-long', says));
  return powerOff(view, node, says);
};

/** An answer without a power state ends nothing. */
const mayBeStopping: ReadonlySet<Power> = new Set<Power>(['stopping', 'unknown']);

/** What was noted of a stop that is over says nothing of the next one. */
export const forgetStopping: Rule = (view) => {
  const {
    cluster: { node },
    machine,
    policy,
    reading,
  } = view;
  if (!node?.stopping || policy.dryRun || mayBeStopping.has(machine.power) || !namesMachine(node, machine, reading))
    return null;
  return take(
    { do: 'note-stopping', node: targetNode(node), stopping: null },
    because('no-longer-stopping', `${machine.machine} is ${machine.power}`),
  );
};

/** Both an off-switch and doubt about it are destructive: the same guards as for a fence. */
const mayPowerOff = (view: View): Decision | null => paused(view) ?? optedOut(view);

const powerOffOnce = (view: View, says: string): Decision => {
  const step = { do: 'power-off', target: targetMachine(view) } as const;
  const asked = view.memory.asked.has(stepKey(step));
  return asked
    ? wait(pollDelay(view), because('stopping-too-long', says))
    : take(step, because('power-off-by-policy', says));
};

/** A Node that was silent while its machine was off is out of reach only since that runs again. */
const unreachableFor = ({ machine, now }: View, node: NodeFacts): number =>
  node.ready === 'True' ? 0 : now.wall - Math.max(node.readySince, machine.since ?? 0);

/** The network's trouble, or ours, looks like many dead nodes; and a control plane's node is never switched off. */
const powerOffForbidden = (view: View, node: NodeFacts): Decision | null => {
  const refuseBecause = (why: string) =>
    refuse(because('power-off-refused', `${node.name} is not powered off: ${why}`));
  const { census } = view.memory;
  if (node.controlPlane) return refuseBecause('it is a control-plane node');
  if (unreachableFor(view, node) < patience.unreachable)
    return refuseBecause('it has been unreachable for less than 5 minutes');
  if (!census)
    return {
      do: 'census',
      because: because('unreachable-but-running', 'asking who else is out of reach, and who else claims the machine'),
    };
  if (view.cluster.lease !== view.memory.firstLease) return refuseBecause('its kubelet has just renewed its Lease');
  const claimants = census.claimants.filter((name) => name !== node.name);
  if (claimants.length > 0)
    return refuseBecause(`${claimants.slice(0, 5).join(', ')} names ${view.machine.machine} too`);
  const others = census.unreachable.filter((name) => name !== node.name);
  if (others.length > 0)
    return refuseBecause(`${others.length} other nodes are unreachable too (${others.slice(0, 5).join(', ')})`);
  if (!census.unreachable.includes(node.name)) return refuseBecause('its Lease is not stale');
  if (census.zone.every((name) => census.unreachable.includes(name)))
    return refuseBecause(`all of zone ${node.zone ?? 'unknown'} is unreachable`);
  return null;
};

/** Switches the machine off, once, or says what forbids it. */
const powerOff = (view: View, node: NodeFacts, says: string): Decision =>
  mayPowerOff(view) ?? powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce(view, says);

/** The cloud says that the machine is not off: its guest may write, now or within seconds. */
const notOff: ReadonlySet<Power> = new Set<Power>(['running', 'starting', 'stopping', 'suspended']);

/**
 * An operation on a machine that is off by its power state is our own detach, or the driver's; a start shows itself
 * within seconds.
 */
const mayWrite = ({ machine: { power, offUnderOperation } }: View): boolean =>
  notOff.has(power) && offUnderOperation !== true;

/** Null where the record is lost, speaks of another machine or is not our label's: then nothing is written over it. */
const liftedRecord = ({ now, machine }: View, { record, label }: NodeFacts): FenceRecord | null =>
  record && label !== null && record.machine === machine.machine
    ? { ...record, phase: 'lifted', released: new Date(now.wall).toISOString() }
    : null;

/**
 * By its record, and nothing that is surer contradicts: what a kubelet writes there does not keep our taint on its
 * machine.
 */
const isAnothers = ({ machine, reading }: View, node: NodeFacts): boolean =>
  node.record !== null && node.record.machine !== machine.machine && identityOf(node, machine, reading) !== 'proven';

/** A person's word may stand for a suspended machine, never against a cloud that says that it is up. */
const isVouchedFor = (view: View): boolean => view.machine.power === 'suspended' && vouchedFor(view) !== null;

/**
 * A proof covers one call, but Kubernetes goes on acting on our out-of-service taint: it would delete the pods of a
 * machine that has come back and detach its mounted disks as soon as its kubelet is cut off. So the taint goes before
 * any other question is asked, even under a pause. The quarantine stays until the return is proven.
 * https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown
 */
export const liftMark: Rule = (view) => {
  const { node } = view.cluster;
  const { machine, power } = view.machine;
  if (!node?.taints.ours || !mayWrite(view) || isVouchedFor(view)) return null;
  if (isAnothers(view, node)) return null;
  return take(
    { do: 'readmit-volumes', node: targetNode(node), record: liftedRecord(view, node) },
    because(
      'no-longer-off',
      `the cloud says that ${machine} is ${power}: our out-of-service taint must not stand on Node ${node.name}`,
    ),
  );
};
