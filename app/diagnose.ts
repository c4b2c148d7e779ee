import { diagnose } from '../diagnosis/diagnose.ts';
import type { Answer } from '../diagnosis/answer.ts';
import { requireOneMachine, type SearchPorts, type Target, quoted } from '../diagnosis/target.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { OpenCluster } from './open-clusters.ts';
import { inHalfOfTheTime, type NamingTools, searchPorts } from './search-ports.ts';
import { readStatus, type Status } from '../diagnosis/status.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { longWaits } from '../fencing/model/reason.ts';
import { runAll, run } from '../fencing/loop/run.ts';
import { startRun } from '../fencing/loop/state.ts';
import { newRunId } from '../config/environment.ts';
import {
  type LocatedNode,
  machineOfCheckedNode,
  machineOfNode,
  type ExistingFence,
  findFence,
} from '../diagnosis/by-name.ts';
import { CloudfenceError, InvalidInput } from '../fencing/model/errors.ts';

/** The tools of a diagnosis. */
export interface DiagnosisTools extends DryRunTools, Pick<NamingTools, 'openedCloud' | 'openClusters'> {}

/** Diagnoses with the clouds and clusters of this configuration. @throws CloudfenceError */
export const runDiagnosis = async (target: Target, tools: DiagnosisTools): Promise<Answer> =>
  diagnose(target, {
    ...searchPorts(tools),
    rehearse: (machine) => dryRunFence(machine, tools),
    now: () => tools.ports.clock.now().wall,
  });

/** The tools of a status. */
interface StatusTools extends DryRunTools {
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'status'>[];
}

/** Reads the state of the clusters of this configuration. */
export const runStatus = (tools: StatusTools): Promise<Status> => {
  const { openClusters, policy, ports } = tools;
  return readStatus({
    clusters: openClusters.map(({ cluster: { name }, status }) => ({
      name,
      read: async (cap, signal) => (await status())(cap, signal),
    })),
    policy,
    machineOf: ports.cloud.machineOf,
    rehearseRelease: (fence) => dryRunRelease(fence, tools),
    now: () => ports.clock.now().wall,
    inTime: inHalfOfTheTime(tools),
    signal: ports.signal,
  });
};

interface DryRunTools {
  readonly policy: Policy;
  readonly ports: Omit<Ports, 'observe'>;
  /** The deadline, in ms of the monotonic clock. */
  readonly deadline: number;
}

/** How long a dry run may take (ms). If it would wait longer, it reports the reason of the wait. */
const DRY_RUN_LASTS_MS = 20_000;

const limitsOf = ({ policy, ports, deadline }: DryRunTools) => ({
  policy: { ...policy, dryRun: true },
  deadline: Math.min(deadline, ports.clock.now().mono + DRY_RUN_LASTS_MS),
});

const withoutObserver = ({ ports }: DryRunTools): Ports => ({ ...ports, observe: () => undefined });

/** Returns what a fence of the machine would do. */
const dryRunFence = async (machine: MachineId, tools: DryRunTools): Promise<Outcome | null> => {
  const [outcome] = await runAll([machine], { ...limitsOf(tools), newRunId }, withoutObserver(tools));
  return outcome ?? null;
};

/**
 * Returns what a release of the machine would do in one cluster. It does not wait, and reports what the release waits
 * for.
 */
const dryRunRelease = (
  { cluster, machine }: { readonly cluster: string; readonly machine: MachineId },
  tools: DryRunTools,
): Promise<Outcome> => {
  const ports = withoutObserver(tools);
  return run(
    startRun({
      ...limitsOf(tools),
      request: { machine, intent: 'release', accepted: null, vouched: null },
      handsOver: longWaits,
      identityRules: ports.cloud,
      runId: newRunId(),
    }),
    { ...ports, clusters: ports.clusters.filter(({ name }) => name === cluster) },
  );
};

/**
 * Releases fences for a person, with the usual proof or because the person confirms the return. The CLI and the
 * functions share this.
 */

export interface ReleaseTools extends Pick<NamingTools, 'openedCloud' | 'openClusters'> {
  readonly ports: Ports;
  readonly policy: Policy;
  /** Monotonic clock (ms). */
  readonly deadline: number;
  readonly newRunId: () => string;
  /** Opens the cloud of the machine, if its id is not sufficient for that. */
  readonly prepare?: (machine: MachineId) => Promise<unknown>;
  /** Returns the outcome for a fence whose release could not begin. Without it, the error is thrown. */
  readonly failed?: (error: CloudfenceError, fenced: FencedNode) => Outcome;
}

/** What a person who has checked the machine says, and when their command began (monotonic ms). */
export interface Statement {
  readonly says: string;
  readonly at: number;
}

/** Returns the statement in a command that begins now, or null if the command has none. */
export const statementOf = (says: string | null, { clock }: Pick<Ports, 'clock'>): Statement | null =>
  says === null ? null : { says, at: clock.now().mono };

/** The Node of a fence, and its machine, if the record names it. */
type FencedNode = Pick<ExistingFence, 'cluster' | 'node' | 'machine'>;

/** Without a person's statement, nothing may be uncertain about the machine of the Node. */
const choiceFor = (accepted: Statement | null): typeof requireOneMachine =>
  accepted === null ? requireOneMachine : machineOfCheckedNode;

/**
 * Releases the fence to which a name leads: the fence of a Node, or of the other named object.
 * @param accepted the reason of a person who has checked the machine
 * @throws InvalidInput, before any action
 */
export const releaseNamed = async (
  target: string,
  accepted: Statement | null,
  tools: ReleaseTools,
): Promise<Outcome> => {
  const naming = searchPorts(tools);
  const node = await machineOfNode(target.replace(/^nodes?\//, ''), naming, choiceFor(accepted));
  if (node === null && accepted !== null)
    throw new InvalidInput(`accept is a statement about one Node, but there is no Node ${quoted(target)}`);
  if (node === null) return releaseFenced(await findFence(target, naming), null, tools);
  await tools.prepare?.(node.machine);
  return releaseOne(node, accepted, tools);
};

/**
 * Releases one fence. If no Node names the machine in the record, the Node is still fenced. In that case, the Node
 * itself must name its machine.
 */
export const releaseFenced = async (
  fenced: FencedNode,
  accepted: Statement | null,
  tools: ReleaseTools,
): Promise<Outcome> => {
  const naming = searchPorts(tools);
  try {
    const outcome = await releaseOne(await machineAt(fenced, accepted, naming), accepted, tools);
    return outcome.reason.code === 'no-node'
      ? await releaseOne(await machineAt({ ...fenced, machine: null }, accepted, naming), accepted, tools)
      : outcome;
  } catch (error) {
    if (error instanceof CloudfenceError && tools.failed) return tools.failed(error, fenced);
    throw error;
  }
};

/**
 * Returns the machine of a fenced Node. If the record cannot be read, the machine is the one in the Node's identity
 * sources.
 * @throws InvalidInput
 */
const machineAt = async (
  { cluster, node, machine }: FencedNode,
  accepted: Statement | null,
  naming: SearchPorts,
): Promise<LocatedNode> => {
  if (machine !== null) return { cluster, node, machine };
  const clusters = naming.clusters.filter((one) => one.cluster.name === cluster);
  const found = await machineOfNode(node, { ...naming, clusters }, choiceFor(accepted));
  if (!found) throw new InvalidInput(`Node ${node} no longer exists in ${cluster}`);
  return found;
};

/**
 * A person's statement is about exactly this Node. Without one, the run itself looks for the machine's Node, and
 * refuses if there are several.
 */
const releaseOne = (
  { machine, cluster, node }: LocatedNode,
  accepted: Statement | null,
  { policy, deadline, ports, newRunId }: ReleaseTools,
): Promise<Outcome> =>
  run(
    startRun({
      request: { machine, intent: 'release', accepted: accepted?.says ?? null, vouched: null },
      policy,
      deadline,
      identityRules: ports.cloud,
      runId: newRunId(),
      ...(accepted && { location: { cluster, node }, statedAt: accepted.at }),
    }),
    { ...ports, clusters: ports.clusters.filter(({ name }) => name === cluster) },
  );
