/** GKE labels the instances of its nodes with it. https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels */
const CLUSTER = 'goog-k8s-cluster-name';

/** Names of the clusters that claim an instance by its labels. */
export const clustersIn = (labels: Readonly<Record<string, string>> | null | undefined): readonly string[] => {
  const name = labels?.[CLUSTER] ?? '';
  return name === '' ? [] : [name];
};
