import { diagnose } from '../diagnosis/diagnose.ts';
import type { Answer } from '../diagnosis/answer.ts';
import type { SearchPorts } from '../diagnosis/machine-candidates.ts';
import type { DiagnosedCluster } from '../diagnosis/ports.ts';
import type { Target } from '../diagnosis/target.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import type { Outcome } from '../fencing/model/outcome.ts';
import type { Policy } from '../fencing/model/policy.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import { react } from '../fencing/loop/run.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import type { OpenCluster } from './open-clusters.ts';
import { newRunId } from './system.ts';

/** What a diagnosis works with. */
export interface DiagnosisTools {
  readonly openedCloud: Pick<OpenedCloud, 'viewDisks' | 'driverFaultOf'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'diagnosis'>[];
  readonly policy: Policy;
  readonly ports: Omit<Ports, 'observe'>;
  /** When the time is up, in ms of the monotonic clock. */
  readonly deadline: number;
}

/** How long a dry run may take, in ms. If it would wait longer, it reports what it waits for. */
const REHEARSAL_LASTS_MS = 20_000;

/** A dry run of a fence, with the policy of this install. */
const rehearsing =
  ({ policy, ports, deadline }: DiagnosisTools) =>
  async (machine: MachineId): Promise<Outcome | null> => {
    const ends = Math.min(deadline, ports.clock.now().mono + REHEARSAL_LASTS_MS);
    const occasion = { policy: { ...policy, dryRun: true }, deadline: ends, newRunId };
    const [outcome] = await react([machine], occasion, { ...ports, observe: () => undefined });
    return outcome ?? null;
  };

/** What a name is followed with. */
type NamingTools = Pick<DiagnosisTools, 'openedCloud' | 'openClusters'> & {
  readonly ports: Pick<Ports, 'cloud' | 'signal'>;
};

/** Returns the reads with which a name is followed to its machine, or to its fence. */
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
    rehearse: rehearsing(tools),
    now: () => tools.ports.clock.now().wall,
  });
