import type { Tag } from '@aws-sdk/client-ec2';

const OWNERSHIP = 'kubernetes.io/cluster/';
const EKS_NAME = 'aws:eks:cluster-name';

/** Names of the clusters that claim a machine by its tags. https://github.com/kubernetes/cloud-provider-aws */
export const clustersIn = (tags: readonly Tag[]): readonly string[] => [...new Set(tags.flatMap(clusterIn))];

const clusterIn = ({ Key = '', Value = '' }: Tag): readonly string[] => {
  if (Key === EKS_NAME && Value !== '') return [Value];
  const name = Key.startsWith(OWNERSHIP) ? Key.slice(OWNERSHIP.length) : '';
  return name !== '' && (Value === 'owned' || Value === 'shared') ? [name] : [];
};
