import { expect, it } from 'vitest';
import { permissionTags } from '../../../providers/cluster-entries.ts';

/** On which tags the permissions of an install on AWS depend. Without the right tag, every detach is denied. */

const tag = (key: string, ...values: readonly string[]) => ({ key, values });
const ofCluster = (name: string) => tag(`kubernetes.io/cluster/${name}`, 'owned', 'shared');

/** https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html */
it('the tag of an EKS cluster has the name that EKS knows, which the configuration may abbreviate', () => {
  const tags = permissionTags('cluster', [
    { name: 'blue', eks: { cluster: 'acme-blue' } },
    { name: 'green', eks: {} },
  ]);
  expect(tags?.instances).toEqual(['blue', 'acme-blue', 'green'].map(ofCluster));
  expect(tags?.volumes).toEqual([...(tags?.instances ?? []), tag('ebs.csi.aws.com/cluster', 'true')]);
});
