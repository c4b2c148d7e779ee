import type { DrillTools } from '../drill/tools.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { InvalidConfiguration } from '../fencing/model/errors.ts';
import { runAll } from '../fencing/loop/run.ts';
import { createDrillCluster } from '../kubernetes/drill/cluster.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import type { OpenCluster } from './open-clusters.ts';
import { newRunId } from './environment.ts';

/** The parts of which a drill is built. */
export interface DrillParts {
  readonly openedCloud: Pick<OpenedCloud, 'drill'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'connection'>[];
  readonly ports: Ports;
  readonly policy: Policy;
}

/** The time limit of one run (ms), and the pause before the next one. */
const RUN_LASTS_MS = 60_000;
const PAUSE_MS = 2_000;

/** Runs for the machine repeatedly, as the functions would, until the signal aborts. */
const fenceRepeatedly =
  (machine: MachineId, { ports, policy }: DrillParts) =>
  async (signal: AbortSignal): Promise<void> => {
    const own = { ...ports, signal };
    try {
      for (;;) {
        const deadline = ports.clock.now().mono + RUN_LASTS_MS;
        await runAll([machine], { policy, deadline, newRunId }, own);
        await ports.clock.sleep(PAUSE_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };

/** Opens what a drill on this machine needs. @throws CloudfenceError */
export const openDrill = async (
  { machine, cluster }: { readonly machine: MachineId; readonly cluster: string },
  parts: DrillParts,
  fenceHere: boolean,
): Promise<Omit<DrillTools, 'giveUp' | 'tell' | 'confirm'>> => {
  const { openedCloud, openClusters, ports } = parts;
  const own = openClusters.find((one) => one.cluster.name === cluster);
  const drillCloud = await openedCloud.drill?.(machine);
  if (!own || !drillCloud)
    throw new InvalidConfiguration([`a drill on ${machine} in cluster ${cluster} is not possible`]);
  return {
    cloud: ports.cloud,
    clusters: ports.clusters,
    clock: ports.clock,
    signal: ports.signal,
    drillCloud,
    cluster: own.cluster,
    drillCluster: createDrillCluster(cluster, await own.connection()),
    drill: newRunId(),
    fenceHere: fenceHere ? fenceRepeatedly(machine, parts) : null,
  };
};
