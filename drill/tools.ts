import { asCloudfenceError, PermissionDenied, Refused, InvalidInput } from '../fencing/model/errors.ts';
import { type Clock, STALE_LEASE_MS } from '../fencing/loop/ports.ts';
import type { CheckOptions, DrillFacts, Refusal } from './checks.ts';
import type { ReachedPhase } from './phases.ts';
import type { CanaryOptions, CanaryView, DrillCloud, DrillCluster, DrillTarget } from './ports.ts';
import type { Cloud } from '../fencing/model/cloud.ts';
import type { Cluster, NodeQuery } from '../fencing/model/cluster.ts';
import type { MachineFacts, MachineTarget } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';

/** What the parts of a drill share. */

export interface DrillTools extends FactTools {
  readonly drillCloud: DrillCloud;
  readonly drillCluster: DrillCluster;
  readonly clock: Clock;
  /** The id of this drill. */
  readonly drill: string;
  /** Ends the drill early. Everything that it created is still removed. */
  readonly signal: AbortSignal;
  /** Also ends the cleanup early. */
  readonly giveUp: AbortSignal;
  readonly tell: (says: string) => void;
  /** Asks a person whether the machine may be stopped. */
  readonly confirm: (plan: DrillFacts) => Promise<boolean>;
  /**
   * Fences with this command until the signal aborts, if no functions are installed. Null if the installed functions
   * should fence.
   */
  readonly fenceHere: ((signal: AbortSignal) => Promise<void>) | null;
}

export interface DrillOptions {
  readonly target: DrillTarget;
  readonly canary: CanaryOptions;
  readonly checks: Pick<CheckOptions, 'policy' | 'suspendedGroup'>;
  /** The time limit of each part (ms). */
  readonly timeout: number;
  /** Only check whether the machine may be stopped. */
  readonly dryRun: boolean;
}

export type DrillEnd = 'recovered' | 'not-recovered' | 'refused' | 'declined' | 'checked' | 'failed' | 'interrupted';

export interface DrillResult {
  readonly end: DrillEnd;
  readonly says: string;
  readonly refusals: readonly Refusal[];
  /** The facts before the stop, or null. */
  readonly facts: DrillFacts | null;
  /** When the stop was requested (epoch ms), or null. */
  readonly stoppedAt: number | null;
  /** Ms after the request of the stop. */
  readonly recovery: readonly ReachedPhase[];
  /** Ms after the request of the start. */
  readonly restart: readonly ReachedPhase[];
  /** The Node on which the canary ran at the end, or null. */
  readonly movedTo: string | null;
  /** What the drill could not undo, and the commands for it. */
  readonly left: readonly Refusal[];
}

/** What the drill has done so far and must undo. */
export interface Progress {
  readonly facts: DrillFacts | null;
  /** Whether the Node may be reserved for this drill. */
  readonly reserved: boolean;
  /** Whether objects of the canary may exist. */
  readonly made: boolean;
  readonly volume: CanaryView['volume'];
  readonly stoppedAt: number | null;
  /** Whether the stop may have been sent, and the last look does not say that the machine runs. */
  readonly mayBeOff: boolean;
  readonly recovery: readonly ReachedPhase[];
  readonly restart: readonly ReachedPhase[];
  readonly movedTo: string | null;
}

/** Adds to the progress. The possible effect of a step is noted before the step, because the step may fail. */
export type RecordProgress = (more: Partial<Progress>) => void;

/** The time limit for the answer to a write (ms). */
const ANSWER_MS = 30_000;

/**
 * Sends a write that the drill must undo later. It waits for the answer even after an interruption, because an aborted
 * request may still arrive after the cleanup.
 */
export const writeNoted = async (
  what: 'reserved' | 'made',
  write: (signal: AbortSignal) => Promise<void>,
  { clock, giveUp }: Pick<DrillTools, 'clock' | 'giveUp'>,
  note: RecordProgress,
): Promise<void> => {
  note({ [what]: true });
  try {
    await write(AbortSignal.any([clock.timeout(ANSWER_MS), giveUp]));
  } catch (error) {
    // Nothing was written. The existing objects belong to another drill.
    if (error instanceof Refused || error instanceof PermissionDenied) note({ [what]: false });
    throw error;
  }
};

/** The pause between two looks (ms). */
export const POLL_MS = 1_000;

/** Returns whether the same call may succeed soon. A missing permission is not granted during a drill. */
export const isWorthAnotherTry = (error: unknown): boolean => {
  const known = asCloudfenceError(error);
  return known.retry && !(known instanceof PermissionDenied);
};

export const checkOptionsOf = (
  { checks, canary, target: { node } }: DrillOptions,
  { drillCluster }: DrillTools,
  reservation: string | null,
): CheckOptions => ({
  ...checks,
  reservation,
  storageClass: canary.storageClass,
  allowCommand: drillCluster.allowCommand(node),
  removeCommand: drillCluster.removeCommand(canary, null),
  freeCommand: drillCluster.freeCommand(node),
});

export const factRequestFor = ({ target, canary, checks }: DrillOptions, own: FactRequest['own']): FactRequest => ({
  target,
  canary,
  own,
  cap: checks.policy.cap,
});

/** The clouds and clusters that a drill reads. */
interface FactTools {
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

/** Reads every Node of the drill's own cluster, so that it cannot miss a second Node that names the machine. */
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

/** The input for reading the facts about a Node. */
interface FactRequest {
  readonly target: DrillTarget;
  readonly canary: CanaryOptions;
  readonly cap: Policy['cap'];
  /** The drill whose canary may exist, and the volume of that canary, or null before there is a canary. */
  readonly own: { readonly drill: string; readonly volume: CanaryView['volume'] } | null;
}

/**
 * Reads everything that decides whether the machine may be stopped.
 *
 * @throws InvalidInput if the Node does not exist, and the errors of the reads
 */
export const readFacts = async (
  { target: { node, machine }, canary, cap, own }: FactRequest,
  tools: FactTools,
  signal: AbortSignal,
): Promise<DrillFacts> => {
  const { cloud, cluster, drillCluster, drillCloud } = tools;
  const { query, identityRules } = namesOf({ node, machine }, tools);
  const [[facts], found, drilledNode, named] = await Promise.all([
    cloud.look([machine], { disks: false }, signal),
    cluster.look({ query, node, nodeOnly: true, remembered: null, successorsOf: [] }, signal),
    drillCluster.inspect(node, { canary, cap, own: own?.drill ?? null }, signal),
    nodesNaming(query, node, tools, signal),
  ]);
  if (!facts || !drilledNode) throw new InvalidInput(`there is no Node ${node} in cluster ${cluster.name}`);
  return {
    nodeName: node,
    clusterName: cluster.name,
    machine: facts,
    drilledMachine: await drillCloud.inspect(targetOf(facts), signal),
    cluster: found,
    drilledNode,
    named,
    identityRules,
    ownVolume: own?.volume ? `${own.volume.driver}^${own.volume.handle}` : null,
  };
};

/** Reads everything again that may have changed since `facts`, in two concurrent calls. */
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
