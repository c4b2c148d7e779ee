import type { PermissionTag, PermissionTags } from '../providers/plugin.ts';
import type { ClusterEntry } from '../providers/cluster-entries.ts';

/**
 * Determines the tags of instances and volumes on which the permissions of an install on AWS depend. The parameter
 * `onlyTagged` of the install selects them.
 */

/** The valid values of `onlyTagged`. */
export const ONLY_TAGGED = /^(?:cluster|any|[^=]+=[^=]*)$/;

/** Returns the tag that shows the cluster of an instance: https://github.com/kubernetes/cloud-provider-aws */
const ofCluster = (name: string): PermissionTag => ({
  key: `kubernetes.io/cluster/${name}`,
  values: ['owned', 'shared'],
});

/**
 * The tag that the EBS driver gives to every volume that it creates. The driver adds the cluster's own tag only if it
 * is configured with the cluster's name.
 */
const ofDriver: PermissionTag = { key: 'ebs.csi.aws.com/cluster', values: ['true'] };

const namesOf = (
  cluster: Pick<ClusterEntry, 'name'> & { readonly eks?: { readonly cluster?: string | undefined } },
): readonly string[] => [cluster.name, ...(cluster.eks?.cluster === undefined ? [] : [cluster.eks.cluster])];

/** Returns null if the permissions do not depend on a tag. */
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
