import type { NodeFacts } from '../cluster-facts.ts';
import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { stepKey } from '../steps.ts';
import { fenced, ignore, refuse, take, wait, type Decision, type Rule, type View } from '../view.ts';
import { pollDelay } from './going.ts';
import { capReached, optedOut, paused } from './guards.ts';
import { targetMachine } from './identity.ts';
import { isFencedWithoutRecord } from './release.ts';

/** Neither a Node nor anything that one left behind: all is done, or it never was a machine of this cluster. */
export const nothingOfOurs: Rule = ({ cluster: { node, pods, volumes }, machine, memory }) => {
  if (node || pods.length > 0 || volumes.length > 0) return null;
  return memory.asked.size > 0
    ? fenced(because('fenced', `nothing that ${machine.machine} held is left`))
    : ignore(because('no-node', `no Node, pod or volume attachment of this cluster belongs to ${machine.machine}`));
};

/** Where the cloud does not say since when, this is counted from the first time that we saw it: what a kubelet says of it counts nothing. */
const stoppingSince = ({ machine, memory, now }: View): number => machine.since ?? memory.firstStopping ?? now.wall;

/** On its way down the guest may still write: only the end of it is proof. */
export const stopping: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power !== 'stopping') return null;
  const since = stoppingSince(view);
  if (view.now.wall - since < patience.stopping) return wait(pollDelay(view), because('stopping', `${machine} is stopping; its guest may still write`));
  const says = `${machine} has been stopping since ${new Date(since).toISOString()}`;
  const { node } = view.cluster;
  if (view.policy.unreachable !== 'power-off' || !node) return wait(pollDelay(view), because('stopping-too-long', says));
  return mayPowerOff(view) ?? powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce(view, says);
};

/** Both an off-switch and doubt about it are destructive: the same guards as for a fence. */
const mayPowerOff = (view: View): Decision | null => paused(view) ?? optedOut(view);

const powerOffOnce = (view: View, says: string): Decision => {
  const step = { do: 'power-off', target: targetMachine(view) } as const;
  const asked = view.memory.asked.has(stepKey(step));
  return asked ? wait(pollDelay(view), because('stopping-too-long', says)) : take(step, because('power-off-by-policy', says));
};

/** A Node that was silent while its machine was off is out of reach only since that runs again. */
const unreachableFor = ({ machine, now }: View, node: NodeFacts): number => (node.ready === 'True' ? 0 : now.wall - Math.max(node.readySince, machine.since ?? 0));

/** The network's trouble, or ours, looks like many dead nodes; and a control plane's node is never switched off. */
const powerOffForbidden = (view: View, node: NodeFacts): Decision | null => {
  const refuseBecause = (why: string) => refuse(because('power-off-refused', `${node.name} is not powered off: ${why}`));
  const { census } = view.memory;
  if (node.controlPlane) return refuseBecause('it is a control-plane node');
  if (unreachableFor(view, node) < patience.unreachable) return refuseBecause('it has been unreachable for less than 5 minutes');
  if (!census) return { do: 'census', because: because('unreachable-but-running', 'asking who else is out of reach, and who else claims the machine') };
  if (view.cluster.lease !== view.memory.firstLease) return refuseBecause('its kubelet has just renewed its Lease');
  const claimants = census.claimants.filter((name) => name !== node.name);
  if (claimants.length > 0) return refuseBecause(`${claimants.slice(0, 5).join(', ')} names ${view.machine.machine} too`);
  const others = census.unreachable.filter((name) => name !== node.name);
  if (others.length > 0) return refuseBecause(`${others.length} other nodes are unreachable too (${others.slice(0, 5).join(', ')})`);
  if (!census.unreachable.includes(node.name)) return refuseBecause('its Lease is not stale');
  if (census.zone.every((name) => census.unreachable.includes(name))) return refuseBecause(`all of zone ${node.zone ?? 'unknown'} is unreachable`);
  return null;
};

/** A machine that runs is not off, whatever its Node looks like. */
export const running: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power === 'starting') return ignore(because('machine-starting', `${machine} is starting`));
  if (power !== 'running') return null;
  const { node } = view.cluster;
  if (node && isFencedWithoutRecord(node)) return refuse(because('record-lost', `Node ${node.name} is fenced and its record is lost: vouch for it with release --accept`));
  if (!node || unreachableFor(view, node) <= 0) return ignore(because('machine-running', `the cloud says that ${machine} is running`));
  if (view.policy.unreachable === 'report') {
    return refuse(because('unreachable-but-running', `Node ${node.name} is unreachable, yet the cloud says that ${machine} is running: it may still write`));
  }
  return mayPowerOff(view) ?? powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce(view, `Node ${node.name} is unreachable while ${machine} runs`);
};
