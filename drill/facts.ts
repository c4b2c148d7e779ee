import type { Cloud } from '../fencing/model/cloud.ts';
import type { Cluster, NodeQuery } from '../fencing/model/cluster.ts';
import { InvalidInput, Refused } from '../fencing/model/errors.ts';
import type { MachineFacts, MachineTarget } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { STALE_LEASE_MS } from '../fencing/loop/ports.ts';
import type { DrillFacts } from './checks.ts';
import type { CanaryOptions, CanaryView, DrillCloud, DrillCluster, DrillTarget } from './ports.ts';

/** Where a drill reads. */
export interface FactTools {
  readonly cloud: Cloud;
  readonly drillCloud: Pick<DrillCloud, 'inspect'>;
  /** The cluster of the Node. */
  readonly cluster: Cluster;
  readonly drillCluster: Pick<DrillCluster, 'inspect'>;
  /** All clusters of the configuration. Only one Node in all of them may name the machine. */
  readonly clusters: readonly Cluster[];
}

export const targetOf = ({ machine, incarnation }: MachineFacts): MachineTarget => ({
  machine,
  incarnation: incarnation?.id ?? null,
});

/** Reads every Node of the own cluster, because a second Node that names the machine must not be overlooked. */
const nodesNaming = async (query: NodeQuery, node: string, tools: FactTools, signal: AbortSignal) => {
  const perCluster = tools.clusters.map(async (cluster) => {
    const names =
      cluster.name === tools.cluster.name
        ? (await cluster.surveyConnectivity(node, STALE_LEASE_MS, query, signal)).nodesNamingMachine
        : await cluster.find(query, signal);
    return names.map((name) => `${name} in ${cluster.name}`);
  });
  return (await Promise.all(perCluster)).flat();
};

const namesOf = ({ node, machine }: DrillTarget, { cloud }: FactTools) => {
  const identityRules = cloud.identityRulesFor?.(machine) ?? cloud;
  return { identityRules, query: { machine, nodeNames: [node], machineOf: identityRules.machineOf } };
};

/** What a drill wants to know about its Node. */
export interface FactRequest {
  readonly target: DrillTarget;
  readonly canary: CanaryOptions;
  readonly cap: Policy['cap'];
  /** The drill whose canary may be there and the volume of that canary, or null before there is a canary. */
  readonly own: { readonly drill: string; readonly volume: CanaryView['volume'] } | null;
}

/**
 * Reads everything that decides whether the machine may be stopped.
 *
 * @throws InvalidInput if there is no such Node, and whatever the reads throw
 */
export const readFacts = async (
  { target: { node, machine }, canary, cap, own }: FactRequest,
  tools: FactTools,
  signal: AbortSignal,
): Promise<DrillFacts> => {
  const { cloud, cluster, drillCluster, drillCloud } = tools;
  const { query, identityRules } = namesOf({ node, machine }, tools);
  const [[facts], found, scene, named] = await Promise.all([
    cloud.look([machine], { disks: false }, signal),
    cluster.look({ query, node, nodeOnly: true, remembered: null, successorsOf: [] }, signal),
    drillCluster.inspect(node, { canary, cap, own: own?.drill ?? null }, signal),
    nodesNaming(query, node, tools, signal),
  ]);
  if (!facts || !scene) throw new InvalidInput(`there is no Node ${node} in cluster ${cluster.name}`);
  return {
    nodeName: node,
    clusterName: cluster.name,
    machine: facts,
    drilled: await drillCloud.inspect(targetOf(facts), signal),
    cluster: found,
    scene,
    named,
    identityRules,
    ownVolume: own?.volume ? `${own.volume.driver}^${own.volume.handle}` : null,
  };
};

/** Reads again what may have changed since `facts`, in two calls side by side. */
export const renewFacts = async (facts: DrillFacts, tools: FactTools, signal: AbortSignal): Promise<DrillFacts> => {
  const target = { node: facts.nodeName, machine: facts.machine.machine };
  const { query } = namesOf(target, tools);
  const [[machine], cluster] = await Promise.all([
    tools.cloud.look([target.machine], { disks: false }, signal),
    tools.cluster.look({ query, node: target.node, nodeOnly: true, remembered: null, successorsOf: [] }, signal),
  ]);
  if (!machine) throw new Refused(`the cloud does not answer for ${target.machine}`);
  return { ...facts, machine, cluster };
};
