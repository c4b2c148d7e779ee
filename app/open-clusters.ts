import type { ReadClusterStanding } from '../diagnosis/ports.ts';
import type { ReadAftermath } from '../incidents/watch.ts';
import type { Cluster } from '../fencing/model/cluster.ts';
import type { CapControl } from '../kubernetes/ledger.ts';
import type { CallClock, Connection } from '../kubernetes/connection.ts';
import type { Doctor } from '../kubernetes/doctor.ts';
import type { CloudAccess } from '../providers/plugin.ts';
import type { OpenDiagnosis, OpenedCluster } from './connect-cluster.ts';
import type { ClusterEntry } from '../providers/cluster-entries.ts';

export interface OpenCluster {
  readonly cluster: Cluster;
  readonly doctor: () => Promise<Doctor>;
  readonly cap: () => Promise<CapControl>;
  readonly diagnosis: () => Promise<OpenDiagnosis>;
  readonly status: () => Promise<ReadClusterStanding>;
  readonly aftermath: () => Promise<ReadAftermath>;
  readonly connection: () => Promise<Connection>;
  /** Opens the cluster now, so that a problem with the access to it shows immediately. @throws CloudfenceError */
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A cluster to which connections can be opened before its first request. */
export interface PreparedCluster extends OpenCluster {
  /**
   * Opens the cluster and this many connections to it, unless connections are already open. Never fails. If opening the
   * cluster has failed, it does nothing until a call that needs the cluster opens it.
   */
  readonly connect: (count: number) => Promise<void>;
}

/**
 * Returns a cluster that is opened by the first call. That call also loads the client library. Many events need no
 * cluster at all.
 */
const lazyCluster = (name: string, opened: () => Promise<OpenedCluster>): Cluster => ({
  name,
  find: async (...args) => (await opened()).cluster.find(...args),
  identify: async (...args) => (await opened()).cluster.identify(...args),
  look: async (...args) => (await opened()).cluster.look(...args),
  attachment: async (...args) => (await opened()).cluster.attachment(...args),
  recheck: async (...args) => (await opened()).cluster.recheck(...args),
  apply: async (...args) => (await opened()).cluster.apply(...args),
  recordEvent: async (...args) => (await opened()).cluster.recordEvent(...args),
  surveyConnectivity: async (...args) => (await opened()).cluster.surveyConnectivity(...args),
  reserve: async (...args) => (await opened()).cluster.reserve(...args),
  conclude: async (...args) => (await opened()).cluster.conclude(...args),
  concludeUnless: async (...args) => (await opened()).cluster.concludeUnless(...args),
  suspects: async (...args) => (await opened()).cluster.suspects(...args),
});

const prepare = (entry: ClusterEntry, access: CloudAccess, signal: AbortSignal, clock?: CallClock): PreparedCluster => {
  let held: Promise<OpenedCluster> | 'not opened' | 'failed' = 'not opened';
  const opened = (): Promise<OpenedCluster> => {
    if (typeof held !== 'string') return held;
    held = import('./connect-cluster.ts')
      .then(({ connectCluster }) => connectCluster(entry, access, signal, clock))
      .catch((error: unknown) => {
        held = 'failed';
        throw error;
      });
    return held;
  };
  return {
    cluster: lazyCluster(entry.name, opened),
    doctor: async () => (await opened()).doctor,
    cap: async () => (await opened()).cap,
    diagnosis: async () => (await opened()).diagnosis,
    status: async () => (await opened()).status,
    aftermath: async () => (await opened()).aftermath,
    connection: async () => (await opened()).connection,
    open: async () => void (await opened()),
    connect: async (count) => {
      // The first call that needs the cluster reports why it cannot be opened.
      if (held !== 'failed')
        await opened()
          .then(({ connect }) => connect(count))
          .catch(() => undefined);
    },
    // A cluster that could not be opened has nothing to close.
    close: async () => {
      const one = typeof held === 'string' ? null : await held.catch(() => null);
      await one?.close();
    },
  };
};

/**
 * The number of connections to open ahead in all clusters together: as many as the concurrent calls of the first look
 * at a Node.
 */
const CONNECTIONS_AHEAD = 8;

/**
 * Opens connections to the clusters in which a machine may live, while the cloud answers the request about the machine.
 * If there are many clusters, the cloud's answer shows the right one, so no connection is opened before that.
 */
export const connectClustersAhead = (clusters: readonly Pick<PreparedCluster, 'connect'>[]): void => {
  const each = Math.floor(CONNECTIONS_AHEAD / clusters.length);
  if (each > 0) for (const { connect } of clusters) void connect(each);
};

/** Prepares clusters without opening them. If a cluster cannot be opened, the next call tries again. */
export const openClusters = (
  entries: readonly ClusterEntry[],
  access: CloudAccess,
  signal: AbortSignal,
  clock?: CallClock,
): readonly PreparedCluster[] => entries.map((entry) => prepare(entry, access, signal, clock));
