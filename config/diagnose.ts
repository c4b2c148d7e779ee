import { diagnose } from '../diagnosis/diagnose.ts';
import type { Answer } from '../diagnosis/answer.ts';
import type { SearchPorts } from '../diagnosis/machine-candidates.ts';
import type { DiagnosedCluster } from '../diagnosis/ports.ts';
import type { Target } from '../diagnosis/target.ts';
import type { Ports } from '../fencing/loop/ports.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import { dryRunFence, type DryRunTools } from './dry-run.ts';
import type { OpenCluster } from './open-clusters.ts';

/** What a diagnosis works with. */
export interface DiagnosisTools extends DryRunTools {
  readonly openedCloud: Pick<OpenedCloud, 'viewDisks' | 'driverFaultOf'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'diagnosis'>[];
}

/** What a name is followed with. */
export type NamingTools = Pick<DiagnosisTools, 'openedCloud' | 'openClusters'> & {
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
    rehearse: (machine) => dryRunFence(machine, tools),
    now: () => tools.ports.clock.now().wall,
  });
