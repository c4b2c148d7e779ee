import type { PermissionTag, PermissionTags } from '../providers/plugin.ts';
import type { ClusterEntry } from '../providers/cluster-entries.ts';

/**
 * On which tags of instances and volumes the permissions of an install on AWS hang, as its parameter `onlyTagged` says.
 */

/** As `onlyTagged` may be written. */
export const ONLY_TAGGED = /^(?:cluster|any|[^=]+=[^=]*)$/;

/** Whose machine it is: https://github.com/kubernetes/cloud-provider-aws */
const ofCluster = (name: string): PermissionTag => ({
  key: `kubernetes.io/cluster/${name}`,
  values: ['owned', 'shared'],
});

/**
 * The EBS driver tags every volume that it makes; with the cluster's own tag only those of drivers that are told its
 * name.
 */
const ofDriver: PermissionTag = { key: 'ebs.csi.aws.com/cluster', values: ['true'] };

const namesOf = (
  cluster: Pick<ClusterEntry, 'name'> & { readonly eks?: { readonly cluster?: string | undefined } },
): readonly string[] => [cluster.name, ...(cluster.eks?.cluster === undefined ? [] : [cluster.eks.cluster])];

/** Null where they hang on none. */
export const permissionTags = (
  onlyTagged: string | null,
  clusters: readonly Parameters<typeof namesOf>[0][],
): PermissionTags | null => {
  if (onlyTagged === null || onlyTagged === 'any') return null;
  if (onlyTagged === 'cluster') {
    const instances = [...new Set(clusters.flatMap(namesOf))].map(ofCluster);
    return { instances, volumes: [...instances, ofDriver] };
  }
  const at = onlyTagged.indexOf('=');
  const own = { key: onlyTagged.slice(0, at), values: [onlyTagged.slice(at + 1)] };
  return { instances: [own], volumes: [own] };
};
