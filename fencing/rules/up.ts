import { because } from '../reason.ts';
import { fenced, ignore, refuse, type Rule } from '../view.ts';
import { powerOff, unreachableFor } from './power-off.ts';
import { isFencedWithoutRecord } from './release.ts';

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
  if (node && isFencedWithoutRecord(node)) return refuse(because('record-lost', `Node ${node.name} is fenced and its record is lost: vouch for it with release --accept`));
  if (!node || unreachableFor(view, node) <= 0) return ignore(because('machine-running', `the cloud says that ${machine} is running`));
  if (view.policy.unreachable === 'report') {
    return refuse(because('unreachable-but-running', `Node ${node.name} is unreachable, yet the cloud says that ${machine} is running: it may still write`));
  }
  return powerOff(view, node, `Node ${node.name} is unreachable while ${machine} runs`);
};
