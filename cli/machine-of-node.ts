import { InvalidInput } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { shorten } from '../fencing/model/reason.ts';
import type { Ports } from '../fencing/loop/ports.ts';

export interface LocatedNode {
  readonly cluster: string;
  readonly node: string;
  readonly machine: MachineId;
}

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names */
const NODE_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

const LONGEST_SHOWN = 200;

/** Quotes what a person wrote, unchanged but no longer than people read. */
export const quoted = (text: string): string => JSON.stringify(shorten(text, LONGEST_SHOWN));

/**
 * Returns the machine that a Node's name leads to, in any of the clusters, or null when no cluster has or can have such
 * a Node.
 * @throws InvalidInput when the Node names no machine or more than one, or exists in more than one cluster
 */
export const machineOfNode = async (node: string, { clusters, cloud, signal }: Ports): Promise<LocatedNode | null> => {
  if (!NODE_NAME.test(node)) return null;
  const asked = await Promise.all(
    clusters.map(async (cluster) => ({ cluster: cluster.name, identitySources: await cluster.identify(node, signal) })),
  );
  const found = asked.flatMap(({ cluster, identitySources }) =>
    identitySources === null ? [] : [{ cluster, identitySources }],
  );
  const [only, second] = found;
  if (!only) return null;
  if (second)
    throw new InvalidInput(
      `Node ${node} exists in ${found.map(({ cluster }) => cluster).join(' and ')}: give the instance id instead`,
    );
  const machines = [...new Set(only.identitySources.map(cloud.machineOf).filter((machine) => machine !== null))];
  const [machine] = machines;
  if (machine === undefined)
    throw new InvalidInput(
      `nothing on Node ${node} names a machine of ${cloud.name}; run cloudfence doctor for the remedy`,
    );
  if (machines.length > 1) throw new InvalidInput(`Node ${node} names more than one machine: ${machines.join(', ')}`);
  return { cluster: only.cluster, node, machine };
};
