import { readStatus, type Status } from '../diagnosis/status.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import { longWaits } from '../fencing/model/reason.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { run } from '../fencing/loop/run.ts';
import { startRun } from '../fencing/loop/state.ts';
import type { OpenCluster } from './open-clusters.ts';
import { newRunId } from './system.ts';

/** What a status reads. */
export interface StatusTools {
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'status'>[];
  readonly policy: Policy;
  readonly ports: Omit<Ports, 'observe'>;
  /** When the time is up, in ms of the monotonic clock. */
  readonly deadline: number;
}

/** How long one dry run may take (ms). */
const REHEARSAL_LASTS_MS = 20_000;

/** A dry run of a release. It does not wait for a release. It says what the release waits for. */
const rehearsing =
  ({ policy, ports, deadline }: StatusTools) =>
  ({ cluster, machine }: { readonly cluster: string; readonly machine: MachineId }): Promise<Outcome> =>
    run(
      startRun({
        request: { machine, intent: 'release', accepted: null, vouched: null },
        policy: { ...policy, dryRun: true },
        deadline: Math.min(deadline, ports.clock.now().mono + REHEARSAL_LASTS_MS),
        handsOver: longWaits,
        identityRules: ports.cloud,
        runId: newRunId(),
      }),
      { ...ports, clusters: ports.clusters.filter(({ name }) => name === cluster), observe: () => undefined },
    );

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
    rehearseRelease: rehearsing(tools),
    now: () => ports.clock.now().wall,
    signal: ports.signal,
  });
};
