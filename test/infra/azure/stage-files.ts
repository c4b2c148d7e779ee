/** Two stages: one with the required parameters, and one that sets every parameter. */

export const SUBSCRIPTION = '11112222-3333-4444-8555-666677778888';
const group = (name: string) => `/subscriptions/${SUBSCRIPTION}/resourceGroups/${name}`;

export const plain = {
  subscription: SUBSCRIPTION,
  resourceGroups: ['MC_blue'],
  clusters: [{ name: 'prod', aks: { resourceGroup: 'rg-aks' } }],
};

export const full = {
  subscription: SUBSCRIPTION,
  location: 'northeurope',
  resourceGroups: ['MC_blue', 'MC_green'],
  clusters: [
    { name: 'a', aks: { resourceGroup: 'rg-aks', cluster: 'blue' } },
    { name: 'b', keyVault: { vault: 'kv-fences', secret: 'kubeconfig' } },
  ],
  policy: { unreachable: 'power-off', fenceAfter: '30s' },
  pause: 'upgrade until Friday',
  shadow: true,
  keyVaults: [`${group('rg-secrets')}/providers/Microsoft.KeyVault/vaults/kv-fences`],
  systemTopic: `${group('rg-events')}/providers/Microsoft.EventGrid/systemTopics/of-all`,
  health: true,
  keylessDelivery: false,
  node: 22,
  sweepEvery: '10m',
  maximumInstances: 50,
  timeout: '2m',
  memory: 2048,
  subnet: `${group('rg-net')}/providers/Microsoft.Network/virtualNetworks/net/subnets/functions`,
  incidentDays: 90,
  incidentTopic: `${group('rg-events')}/providers/Microsoft.EventGrid/topics/incidents`,
  logDays: 90,
  actionGroup: `${group('rg-pager')}/providers/Microsoft.Insights/actionGroups/pager`,
};
