import { InvalidConfiguration } from '../fencing/errors.ts';
import type { CloudAccess } from './cloud-kit.ts';
import type { ClusterEntry, KeptKubeconfig, ManagedCluster } from './cluster-entry.ts';

/** Which cloud keeps the way into a cluster, by the key in its entry. */
const keepers = { eks: 'aws', secret: 'aws', parameter: 'aws', aks: 'azure', keyVault: 'azure', gke: 'gcp', secretManager: 'gcp' } as const;

/** The cloud that an entry speaks of; null for a kubeconfig at hand, which needs none. */
export const keeperOf = (entry: ClusterEntry): string | null => Object.entries(keepers).find(([key]) => key in entry)?.[1] ?? null;

type AccessOf = (cloud: string) => Promise<CloudAccess>;

const keeperAmong = (entry: ManagedCluster | KeptKubeconfig, accessOf: AccessOf): Promise<CloudAccess> => {
  const keeper = keeperOf(entry);
  if (keeper === null) throw new InvalidConfiguration([`no cloud keeps the way into the cluster ${entry.name}`]);
  return accessOf(keeper);
};

/** Names of the clouds that manage clusters among these: the Nodes of such a cluster are machines of the same cloud. */
export const managedIn = (clusters: readonly ClusterEntry[]): readonly string[] =>
  clusters.flatMap((entry) => ('eks' in entry || 'aks' in entry || 'gke' in entry ? (keeperOf(entry) ?? []) : []));

/** The ways into clusters of every cloud: machines may be in one and credentials in another. */
export const accessByEntry = (accessOf: AccessOf): CloudAccess => ({
  managedCluster: async (entry, signal) => (await keeperAmong(entry, accessOf)).managedCluster(entry, signal),
  secret: async (entry, signal) => (await keeperAmong(entry, accessOf)).secret(entry, signal),
});

/** For a kit that is asked for what another cloud keeps. */
export const notKept = (cloud: string, { name }: ClusterEntry): InvalidConfiguration =>
  new InvalidConfiguration([`the way into the cluster ${name} is not kept by ${cloud}, and this install has no other cloud`]);
