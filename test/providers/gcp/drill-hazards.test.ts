import { expect, it } from 'vitest';
import { computeClients } from '../../../providers/gcp/client.ts';
import { gcpDrill } from '../../../providers/gcp/drill.ts';
import { openCloudServer } from '../../../sandbox/cloud-server.ts';
import { granted } from '../../permits.ts';
import { openStandIn } from '../stand-in.ts';

/** Reasons against stopping an instance of Compute Engine in a drill, as its API shows them. */

const MACHINE = 'projects/acme/zones/europe-west1-a/instances/node-1';
const ALL = ['compute.instances.stop', 'compute.instances.start'];

const hazardsOf = async (instance: object, permissions: readonly string[] = ALL): Promise<readonly string[]> => {
  const server = await openCloudServer(({ url = '' }) => ({
    call: url,
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(
      url.includes('/testIamPermissions')
        ? { permissions }
        : { id: '4711', name: 'node-1', status: 'RUNNING', ...instance },
    ),
    cut: null,
  }));
  const clients = computeClients({ newRequestId: () => '10000000-0000-4000-8000-000000000001', endpoint: server.url });
  try {
    const target = { machine: MACHINE, incarnation: '4711' };
    const { hazards } = await gcpDrill(clients, server.url).inspect(target, AbortSignal.timeout(10_000));
    return hazards.map(({ group, says }) => `${group ?? '-'}: ${says}`);
  } finally {
    await server.close();
  }
};

const GROUP = 'projects/1/zones/europe-west1-a/instanceGroupManagers/gke-pool-1';

it.each([
  ['nothing', {}, []],
  ['a Spot VM', { scheduling: { provisioningModel: 'SPOT' } }, [/^-: .* is a Spot VM/]],
  ['a preemptible VM', { scheduling: { preemptible: true } }, [/^-: .* is a Spot VM/]],
  [
    'a local SSD',
    { disks: [{ type: 'PERSISTENT', boot: true }, { type: 'SCRATCH' }] },
    [/^-: .* local SSDs, and a stop deletes their data/],
  ],
  [
    'a managed instance group',
    { metadata: { items: [{ key: 'created-by', value: GROUP }] } },
    [/^gke-pool-1: .* starts or replaces/],
  ],
])('a drill on Google Cloud checks this: %s', async (_case, instance, expected) =>
  expect(await hazardsOf(instance)).toEqual(expected.map((words) => expect.stringMatching(words))),
);

it('a drill on Google Cloud names the permission that is missing', async () =>
  expect(await hazardsOf({}, ['compute.instances.stop'])).toEqual([
    `-: these credentials do not have compute.instances.start on ${MACHINE}`,
  ]));

it('a drill on Google Cloud starts the machine that it has stopped, and no later one with its name', async () => {
  const server = await openStandIn(() => ({ body: { name: 'operation-1', status: 'RUNNING' } }));
  const clients = computeClients({ newRequestId: () => '10000000-0000-4000-8000-000000000001', endpoint: server.url });
  const target = { machine: MACHINE, incarnation: '4711' };
  await gcpDrill(clients, server.url).start(target, granted, AbortSignal.timeout(10_000));
  await server.close();
  const paths = server.asked.map(({ method, url }) => `${method} ${new URL(url, server.url).pathname}`);
  expect(paths).toEqual([expect.stringMatching(/^POST .*\/zones\/europe-west1-a\/instances\/4711\/start$/)]);
});
