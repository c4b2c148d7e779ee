import type { FirstStopping, NodeFacts } from '../cluster-facts.ts';
import type { MachineFacts, Power } from '../machine.ts';
import { patience } from '../policy.ts';
import { because } from '../reason.ts';
import { shortHash } from '../fence-in-boot.ts';
import { take, wait, type Decision, type Rule, type View } from '../view.ts';
import { pollDelay } from './going.ts';
import { namesMachine } from './identity.ts';
import { targetNode } from './mark.ts';
import { mayPowerOff, powerOff } from './power-off.ts';

/** One machine and one boot of it, in a few characters; null where the cloud does not tell boots apart. */
const bootOf = ({ machine, generation }: MachineFacts): string | null => (generation === null ? null : `${shortHash(machine)}${shortHash(generation)}`);

/** When an earlier run first saw this very stop. A time that lies ahead counts as now, and is written anew, or it would never pass. */
const seenBefore = ({ machine, cluster: { node }, now }: View): number | null => {
  if (!node?.stopping || node.stopping.boot !== bootOf(machine)) return null;
  const ago = now.wall - node.stopping.at;
  return ago > -patience.clocksDiffer && ago < patience.stoppingNoted ? Math.min(node.stopping.at, now.wall) : null;
};

const seenNow = ({ memory, now }: View): number => memory.firstStopping?.at ?? now.wall;

/**
 * Where the cloud does not say since when, this is counted from the first time that we saw it, in this run or an earlier one:
 * what a kubelet says of it counts nothing.
 */
const stoppingSince = (view: View): number => view.machine.since ?? Math.min(seenNow(view), seenBefore(view) ?? Infinity);

/** Only a Node that the policy may switch off has anything noted on it. */
const isToBeNoted = (view: View, node: NodeFacts): boolean =>
  view.policy.unreachable === 'power-off' && !view.policy.dryRun && !node.controlPlane && mayPowerOff(view) === null;

/** No run lives for as long as a stop may take, and the next one remembers nothing: the time goes where no kubelet may write. */
const noteFirstSight = (view: View, node: NodeFacts): Decision | null => {
  const boot = bootOf(view.machine);
  if (view.machine.since !== null || boot === null || seenBefore(view) !== null || !isToBeNoted(view, node)) return null;
  const stopping: FirstStopping = { at: seenNow(view), boot };
  return take({ do: 'note-stopping', node: targetNode(node), stopping }, because('stopping', `the cloud does not say since when ${view.machine.machine} is stopping`));
};

/** On its way down the guest may still write: only the end of it is proof. */
export const stopping: Rule = (view) => {
  const { power, machine } = view.machine;
  if (power !== 'stopping') return null;
  const { node } = view.cluster;
  const noted = node && noteFirstSight(view, node);
  if (noted) return noted;
  const since = stoppingSince(view);
  if (view.now.wall - since < patience.stopping) return wait(pollDelay(view), because('stopping', `${machine} is stopping; its guest may still write`));
  const says = `${machine} has been stopping since ${new Date(since).toISOString()}`;
  if (view.policy.unreachable !== 'power-off' || !node) return wait(pollDelay(view), because('stopping-too-long', says));
  return powerOff(view, node, says);
};

/** An answer without a power state ends nothing. */
const mayBeStopping: ReadonlySet<Power> = new Set<Power>(['stopping', 'unknown']);

/** What was noted of a stop that is over says nothing of the next one. */
export const forgetStopping: Rule = (view) => {
  const { cluster: { node }, machine, policy, reading } = view;
  if (!node?.stopping || policy.dryRun || mayBeStopping.has(machine.power) || !namesMachine(node, machine, reading)) return null;
  return take({ do: 'note-stopping', node: targetNode(node), stopping: null }, because('no-longer-stopping', `${machine.machine} is ${machine.power}`));
};
