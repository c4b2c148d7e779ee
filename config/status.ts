import { readStatus, type Status } from '../diagnosis/status.ts';
import { dryRunRelease, type DryRunTools } from './dry-run.ts';
import type { OpenCluster } from './open-clusters.ts';

/** What a status reads. */
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
