import { expect, it } from 'vitest';
import { stage } from '../../../providers/aws/plugin/stage.ts';
import { seenCluster } from '../seen-cluster.ts';

/** What `init` derives from clusters on AWS. The names are those that `aws eks update-kubeconfig` and eksctl write. */

const on = (zone: string, at = 1) => {
  const id = `i-000000000000000${at}`;
  return { id, providerID: `aws:///${zone}/${id}` };
};
const EKS = { version: 'v1.33.1-eks-1234567', host: 'abc.gr7.eu-west-1.eks.amazonaws.com' };

it('init reads the name of an EKS cluster from its ARN', () => {
  const arn = 'arn:aws:eks:eu-west-1:111122223333:cluster/prod';
  const cluster = seenCluster({ ...EKS, kubeconfigCluster: arn, context: arn, machines: [on('eu-west-1a')] });
  expect(stage.shortName(arn)).toBe('prod');
  expect(stage.access(cluster, [cluster])).toMatchObject({ managed: 'EKS', entry: { eks: { cluster: 'prod' } } });
  const steps = stage.steps('blue', [cluster], 'checkout');
  expect(steps).toContain(`kubectl --context ${arn} apply -f infra/kubernetes/rbac.yaml`);
  expect(steps.join('\n')).toContain(
    'create-access-entry --region eu-west-1 --cluster-name prod --kubernetes-groups cloudfence',
  );
  expect(steps.join('\n')).toContain('role/cloudfence-blue-eu-west-1-$function');
  expect(steps.join('\n')).not.toContain('create-secret');
});

it('init reads the name of an EKS cluster from the arguments of the credential program', () => {
  const programArgs = ['eks', 'get-token', '--cluster-name', 'green', '--region', 'eu-west-1'];
  const cluster = seenCluster({ ...EKS, programArgs, kubeconfigCluster: 'green.eu-west-1.eksctl.io' });
  expect(stage.shortName(cluster.kubeconfigCluster)).toBe('green');
  expect(stage.access(cluster, [cluster])).toMatchObject({ entry: { eks: { cluster: 'green' } } });
});

it('init says so if nothing names the EKS cluster', () => {
  const cluster = seenCluster(EKS);
  expect(stage.access(cluster, [cluster])).toMatchObject({
    entry: { eks: { cluster: 'blue' } },
    says: expect.stringContaining('check the name'),
  });
});

it('init names the region of a cluster that is elsewhere, and the machines that need a territory', () => {
  const home = seenCluster({ ...EKS, machines: [on('eu-west-1a'), on('eu-west-1b', 2)] });
  const other = seenCluster({ ...EKS, name: 'far', machines: [on('us-west-2-lax-1a', 3)] });
  expect(stage.scopeOf([home, other])).toMatchObject({ region: 'eu-west-1' });
  expect(stage.access(other, [home, other]).entry).toEqual({ eks: { cluster: 'far', region: 'us-west-2' } });
  expect(stage.values([home, other])).toEqual([
    {
      key: 'region',
      value: 'eu-west-1',
      says: expect.stringContaining('Other Nodes are in us-west-2 (1 Node): add `territories`'),
    },
  ]);
});

it('init writes only valid regions into a command, and quotes names', () => {
  const cluster = seenCluster({
    context: "it's; rm -rf ~",
    machines: [{ id: null, providerID: 'aws:///$(reboot)/i-0000000000000001' }],
  });
  expect(stage.values([cluster])).toMatchObject([{ value: null }]);
  const steps = stage.steps('blue', [cluster], 'checkout').join('\n');
  expect(steps).not.toContain('reboot');
  expect(steps).toContain(`kubectl --context 'it'\\''s; rm -rf ~' apply`);
});
