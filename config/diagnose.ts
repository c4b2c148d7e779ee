import { diagnose } from '../diagnosis/diagnose.ts';
import type { Answer } from '../diagnosis/answer.ts';
import type { SearchPorts, Target } from '../diagnosis/target.ts';
import type { DiagnosedCluster } from '../diagnosis/ports.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import type { OpenCluster } from './open-clusters.ts';
import { readStatus, type Status } from '../diagnosis/status.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { longWaits } from '../fencing/model/reason.ts';
import { runAll, run } from '../fencing/loop/run.ts';
import { startRun } from '../fencing/loop/state.ts';
import { newRunId } from './environment.ts';

/** The tools of a diagnosis. */
export interface DiagnosisTools extends DryRunTools {
  readonly openedCloud: Pick<OpenedCloud, 'viewDisks' | 'driverFaultOf'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'diagnosis'>[];
}

/** The tools with which a name is resolved to its machine. */
export type NamingTools = Pick<DiagnosisTools, 'openedCloud' | 'openClusters'> & {
  readonly ports: Pick<Ports, 'cloud' | 'signal'>;
};

/** Returns the reads that resolve a name to its machine, or to its fence. */
export const searchPorts = ({ openedCloud, openClusters, ports }: NamingTools): SearchPorts => ({
  clusters: openClusters.map(({ cluster, diagnosis }): DiagnosedCluster => ({
    cluster,
    read: async (signal) => (await diagnosis())(openedCloud.driverFaultOf, signal),
  })),
  cloud: {
    rules: ports.cloud,
    look: (machines, signal) => ports.cloud.look(machines, { disks: false }, signal),
    disks: (volumes, signal) => openedCloud.viewDisks(volumes, signal),
  },
  signal: ports.signal,
});

/** Diagnoses with the clouds and clusters of this configuration. @throws CloudfenceError */
export const runDiagnosis = async (target: Target, tools: DiagnosisTools): Promise<Answer> =>
  diagnose(target, {
    ...searchPorts(tools),
    rehearse: (machine) => dryRunFence(machine, tools),
    now: () => tools.ports.clock.now().wall,
  });

/** The tools of a status. */
export interface StatusTools extends DryRunTools {
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
