import { expect, it } from 'vitest';
import { stage } from '../../../providers/azure/plugin/stage.ts';
import { seenCluster } from '../seen-cluster.ts';

/** What `init` derives from clusters on Azure. The names are those that `az aks get-credentials` writes. */

const SUBSCRIPTION = '11112222-3333-4444-8555-666677778888';
const set = 'providers/microsoft.compute/virtualmachinescalesets/pool';
const id = `/subscriptions/${SUBSCRIPTION}/resourcegroups/mc_rg_blue_westeurope/${set}/virtualmachines/0`;
const machine = {
  id,
  providerID: `azure://${id}`,
  labels: { 'kubernetes.azure.com/cluster': 'MC_rg_blue_westeurope' },
};
const AKS = { host: 'blue-dns-1a2b.hcp.westeurope.azmk8s.io:443', machines: [machine] };

it('init reads the resource group of an AKS cluster from the name of the user', () => {
  const cluster = seenCluster({ ...AKS, kubeconfigUser: 'clusterUser_rg-of_people_blue' });
  expect(stage.access(cluster, [cluster])).toMatchObject({
    managed: 'AKS',
    entry: { aks: { cluster: 'blue', resourceGroup: 'rg-of_people' } },
  });
});

it('init reads the resource group of an AKS cluster from the label of its Nodes', () => {
  const cluster = seenCluster(AKS);
  expect(stage.access(cluster, [cluster])).toMatchObject({ entry: { aks: { resourceGroup: 'rg' } } });
});

it('init reads subscription and groups from the machines, and the location from the API server', () => {
  const cluster = seenCluster(AKS);
  expect(stage.values([cluster])).toMatchObject([
    { key: 'subscription', value: SUBSCRIPTION },
    { key: 'location', value: 'westeurope' },
    { key: 'resourceGroups', value: ['mc_rg_blue_westeurope'] },
  ]);
  expect(stage.scopeOf([cluster])).toEqual({ region: null, account: SUBSCRIPTION });
  expect(stage.steps('prod', [cluster], 'checkout').join('\n')).not.toContain('keyvault');
});

it('init writes no command if there is no machine, and names what to fill in', () => {
  const cluster = seenCluster({});
  expect(stage.values([cluster]).map(({ key, value }) => [key, value])).toEqual([
    ['subscription', null],
    ['location', null],
    ['resourceGroups', null],
  ]);
});
