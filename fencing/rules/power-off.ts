import type { NodeFacts } from '../cluster-facts.ts';
import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { stepKey } from '../steps.ts';
import { refuse, take, wait, type Decision, type View } from '../view.ts';
import { pollDelay } from './going.ts';
import { capReached, optedOut, paused } from './guards.ts';
import { targetMachine } from './identity.ts';

/** Both an off-switch and doubt about it are destructive: the same guards as for a fence. */
export const mayPowerOff = (view: View): Decision | null => paused(view) ?? optedOut(view);

const powerOffOnce = (view: View, says: string): Decision => {
  const step = { do: 'power-off', target: targetMachine(view) } as const;
  const asked = view.memory.asked.has(stepKey(step));
  return asked ? wait(pollDelay(view), because('stopping-too-long', says)) : take(step, because('power-off-by-policy', says));
};

/** A Node that was silent while its machine was off is out of reach only since that runs again. */
export const unreachableFor = ({ machine, now }: View, node: NodeFacts): number => (node.ready === 'True' ? 0 : now.wall - Math.max(node.readySince, machine.since ?? 0));

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

/** Switches the machine off, once, or says what forbids it. */
export const powerOff = (view: View, node: NodeFacts, says: string): Decision =>
  mayPowerOff(view) ?? powerOffForbidden(view, node) ?? capReached(view) ?? powerOffOnce(view, says);
