import type { Cluster } from '../fencing/cluster.ts';
import { linkFromKubeConfig } from '../kubernetes/access.ts';
import { systemClock } from '../kubernetes/clock.ts';
import { clusterOf, connectionOf } from '../kubernetes/cluster.ts';
import { doctorOf, type Doctor } from '../kubernetes/doctor.ts';
import type { Link } from '../kubernetes/link.ts';
import { linkFromToken, type TokenAccess } from '../kubernetes/token-access.ts';
import type { ClusterEntry } from './schema.ts';
import { fileText } from './settings.ts';

/** A way into a cluster that a cloud manages. */
export type ManagedAccess = (cluster: { readonly name: string; readonly region: string | null }, signal: AbortSignal) => Promise<TokenAccess>;

export interface OpenCluster {
  readonly cluster: Cluster;
  readonly doctor: Doctor;
  readonly close: () => Promise<void>;
}

const isContent = (kubeconfig: string): boolean => kubeconfig.includes('\n') || kubeconfig.trimStart().startsWith('{');

const linkTo = async (entry: ClusterEntry, managed: ManagedAccess, signal: AbortSignal): Promise<Link> => {
  if ('eks' in entry) return linkFromToken(await managed({ name: entry.eks.cluster ?? entry.name, region: entry.eks.region ?? null }, signal));
  const content = isContent(entry.kubeconfig) ? entry.kubeconfig : await fileText(entry.kubeconfig, 'the kubeconfig');
  return linkFromKubeConfig(content, entry.context ?? null);
};

const openCluster = async (entry: ClusterEntry, managed: ManagedAccess, signal: AbortSignal): Promise<OpenCluster> => {
  const link = await linkTo(entry, managed, signal);
  const options = { name: entry.name, link, clock: systemClock };
  return { cluster: clusterOf(options), doctor: doctorOf(connectionOf(options)), close: link.close };
};

export const openClusters = (entries: readonly ClusterEntry[], managed: ManagedAccess, signal: AbortSignal): Promise<readonly OpenCluster[]> =>
  Promise.all(entries.map((entry) => openCluster(entry, managed, signal)));
