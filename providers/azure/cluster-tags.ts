/** AKS, and Cluster API for Azure (value `owned`). */
const AKS_NAME = 'aks-managed-cluster-name';
const CLUSTER_API = 'sigs.k8s.io_cluster-api-provider-azure_cluster_';

/** Names of the clusters that claim a machine by its tags. Azure keeps the case of tag names and does not tell cases apart. */
export const clustersIn = (tags: Readonly<Record<string, string>>): readonly string[] => [...new Set(Object.entries(tags).flatMap(clusterIn))];

const clusterIn = ([key, value]: readonly [string, string]): readonly string[] => {
  const name = key.toLowerCase();
  if (name === AKS_NAME) return value === '' ? [] : [value];
  return name.startsWith(CLUSTER_API) && name !== CLUSTER_API && value === 'owned' ? [key.slice(CLUSTER_API.length)] : [];
};
