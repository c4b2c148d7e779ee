import { expect, it } from 'vitest';
import { azureClients } from '../../../providers/azure/client.ts';
import { azureDrill } from '../../../providers/azure/drill.ts';
import { openCloudServer } from '../../../sandbox/cloud-server.ts';

/** Reasons against stopping a machine of Azure in a drill, as ARM shows them. */

const SUBSCRIPTION = '11112222-3333-4444-8555-666677778888';
const COMPUTE = `/subscriptions/${SUBSCRIPTION}/resourcegroups/mc_pool/providers/microsoft.compute`;
const VM = `${COMPUTE}/virtualmachines/node-1`;
const MEMBER = `${COMPUTE}/virtualmachinescalesets/pool/virtualmachines/0`;
const VM_ID = '0e107f76-27b6-4673-8102-acf8aee20842';

interface Answers {
  readonly machine?: string;
  readonly properties?: object;
  readonly repairs?: boolean;
  readonly actions?: readonly string[];
}

const hazardsOf = async ({ machine = VM, properties, repairs = false, actions = ['*'] }: Answers) => {
  const answers = (url: string): object => {
    if (/authorization\/permissions/i.test(url)) return { value: [{ actions, notActions: [] }] };
    if (/\/virtualmachinescalesets\/pool(?:\?|$)/i.test(url))
      return { name: 'pool', location: 'x', properties: { automaticRepairsPolicy: { enabled: repairs } } };
    const own = { vmId: VM_ID, provisioningState: 'Succeeded', ...properties };
    return { id: machine, name: 'node-1', instanceId: '0', location: 'westeurope', properties: own };
  };
  const server = await openCloudServer(({ url = '' }) => ({
    call: url,
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(answers(url)),
    cut: null,
  }));
  const credential = { getToken: async () => null };
  const polling = { everyMs: 1, times: 1 };
  const clients = azureClients({ subscription: SUBSCRIPTION, credential, endpoint: server.url, polling });
  try {
    const drill = azureDrill(clients, { credential, endpoint: server.url });
    const { hazards } = await drill.inspect({ machine, incarnation: VM_ID }, AbortSignal.timeout(10_000));
    return hazards.map(({ group, says }) => `${group ?? '-'}: ${says}`);
  } finally {
    await server.close();
  }
};

const REPAIRS = [expect.stringMatching(/^pool: the scale set pool repairs or replaces its instances/)];

it.each<[string, Answers, readonly unknown[]]>([
  ['nothing', {}, []],
  ['a Spot VM', { properties: { priority: 'Spot' } }, ['-: the machine is a Spot VM, which may not start again']],
  [
    'an OS disk in the host',
    { properties: { storageProfile: { osDisk: { diffDiskSettings: { option: 'Local' } } } } },
    ['-: the machine has an ephemeral OS disk, which is lost if its host cannot start it again'],
  ],
  ['a managed OS disk', { properties: { storageProfile: { osDisk: { managedDisk: { id: 'disk-1' } } } } }, []],
  ['a scale set that repairs', { machine: MEMBER, repairs: true }, REPAIRS],
  ['a scale set that does not', { machine: MEMBER }, []],
  [
    'a flexible scale set that repairs',
    { properties: { virtualMachineScaleSet: { id: `${COMPUTE}/virtualMachineScaleSets/pool` } }, repairs: true },
    REPAIRS,
  ],
  [
    'a permission that is missing',
    { actions: ['Microsoft.Compute/*/read', 'Microsoft.Compute/virtualMachines/powerOff/action'] },
    [`-: these credentials do not have Microsoft.Compute/virtualMachines/start/action on ${VM}`],
  ],
])('a drill on Azure checks this: %s', async (_case, answers, expected) =>
  expect(await hazardsOf(answers)).toEqual(expected),
);
