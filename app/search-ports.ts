import type { DiagnosedCluster, EndInTime } from '../diagnosis/ports.ts';
import type { SearchPorts } from '../diagnosis/target.ts';
import { endInTime, halfOf, type Ports } from '../fencing/loop/ports.ts';
import type { OpenedCloud } from '../providers/plugin.ts';
import type { OpenCluster } from './open-clusters.ts';

/**
 * The reads with which a name leads to its machine, or to its fence. Every function that fences loads this file, but
 * not the diagnosis.
 */

/** The tools with which a name is resolved to its machine. */
export interface NamingTools {
  readonly openedCloud: Pick<OpenedCloud, 'viewDisks' | 'driverFaultOf'>;
  readonly openClusters: readonly Pick<OpenCluster, 'cluster' | 'diagnosis'>[];
  readonly ports: Pick<Ports, 'cloud' | 'clock' | 'signal'>;
  /** The deadline, in ms of the monotonic clock. */
  readonly deadline: number;
}

/** A silent cluster takes at most half of the time, so that the rest suffices for the others and for the answer. */
export const inHalfOfTheTime =
  ({ ports, deadline }: Pick<NamingTools, 'ports' | 'deadline'>): EndInTime =>
  (call) =>
    endInTime(halfOf(deadline, ports), ports, call);

/** Returns the reads that resolve a name to its machine, or to its fence. */
export const searchPorts = ({ openedCloud, openClusters, ports, deadline }: NamingTools): SearchPorts => ({
  clusters: openClusters.map(({ cluster, diagnosis }): DiagnosedCluster => ({
    cluster,
    read: async (signal) => (await diagnosis())(openedCloud.driverFaultOf, signal),
  })),
  cloud: {
    rules: ports.cloud,
    look: (machines, signal) => ports.cloud.look(machines, { disks: false }, signal),
    disks: (volumes, signal) => openedCloud.viewDisks(volumes, signal),
  },
  inTime: inHalfOfTheTime({ ports, deadline }),
  signal: ports.signal,
});
