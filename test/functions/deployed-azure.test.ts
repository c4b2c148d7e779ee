import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { lazyDependencies } from '../../functions/azure/dependencies.ts';
import { openArmServer } from '../../sandbox/azure/arm-server.ts';
import { addMachine } from '../../sandbox/azure/scenario.ts';
import { azureWorld, patient, subscription as ofWorld } from '../sandbox/azure/azure-world.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../providers/stand-in.ts';

/**
 * What a deployed function on Azure does with its environment: to which queues it sends, which machines it serves, and
 * which clusters it searches.
 */

const subscription = '11111111-1111-1111-1111-111111111111';
const NOW = Date.UTC(2026, 10, 21);

const taken: object[] = [];
const take = ({ url, headers, body }: Request): Answered => {
  taken.push({
    url,
    text: String(body),
    due: headers['brokerproperties'] ?? null,
    reason: headers['reason'] ?? null,
  });
  return { status: 201 };
};

let bus: StandIn;
beforeAll(async () => {
  bus = await openStandIn(take);
});
beforeEach(() => {
  const variables = {
    AZURE_SUBSCRIPTION_ID: subscription,
    CLOUDFENCE_BUS__fullyQualifiedNamespace: bus.url,
    CLOUDFENCE_EVENTS_QUEUE: 'events',
    CLOUDFENCE_DEAD_LETTERS_QUEUE: 'dead-letters',
    CLOUDFENCE_RESOURCE_GROUPS: 'shop,bank',
    CLOUDFENCE_SETTINGS: '{"clusters":[]}',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  taken.splice(0);
});
afterAll(() => bus.close());

it('a message goes to its queue with its delay, and a dead letter to the other queue with its reason', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
  const { queues } = await lazyDependencies()();
  await queues.events('{"a":1}', 90);
  await queues.events('{"a":2}', 0);
  await queues.dead({ reason: 'not JSON', body: '{' });
  expect(taken).toEqual([
    {
      url: '/events/messages',
      text: '{"a":1}',
      due: JSON.stringify({ ScheduledEnqueueTimeUtc: 'Sat, 21 Nov 2026 00:01:30 GMT' }),
      reason: null,
    },
    { url: '/events/messages', text: '{"a":2}', due: null, reason: null },
    { url: '/dead-letters/messages', text: '{', due: null, reason: '"not JSON"' },
  ]);
});

it.each([
  [subscription, 'shop', true],
  [subscription, 'Bank', true],
  [subscription, 'others', false],
  ['22222222-2222-2222-2222-222222222222', 'shop', false],
])('a machine of subscription %s in group %s is served: %s', async (owner, group, isServed) => {
  const { whyNotServed } = await lazyDependencies()();
  const machine = `/subscriptions/${owner}/resourcegroups/${group}/providers/microsoft.compute/virtualmachines/n-1`;
  expect(whyNotServed({ machine, account: null, region: null }) === null).toBe(isServed);
});

it.each([ofWorld.toLowerCase(), ofWorld.toUpperCase()])(
  'a machine is served, looked up, and found in its set if the subscription is written as %s',
  async (written) => {
    const world = azureWorld();
    const machine = addMachine(world, { set: 'Pool' });
    const arm = await openArmServer(world);
    vi.stubEnv('AZURE_SUBSCRIPTION_ID', written);
    vi.stubEnv('CLOUDFENCE_AZURE_ENDPOINT', arm.url);
    vi.stubEnv('CLOUDFENCE_RESOURCE_GROUPS', '');
    const { whyNotServed, ports, expand } = await lazyDependencies()();
    expect(whyNotServed({ machine, account: null, region: null })).toBeNull();
    expect(await ports.cloud.look([machine], { disks: false }, patient())).toMatchObject([{ power: 'running' }]);
    expect(await expand([machine.replace(/\/virtualmachines\/[^/]+$/, '')], patient())).toEqual([machine]);
    await arm.close();
  },
);

it('a scale set of a group that is not served is not listed, because ARM would deny that', async () => {
  const { expand } = await lazyDependencies()();
  const set = `/subscriptions/${subscription}/resourcegroups/others/providers/microsoft.compute/virtualmachinescalesets/pool`;
  expect(await expand([set], patient())).toEqual([set]);
});

it('each configured cluster is searched, and fences are not only simulated', async () => {
  const clusters = ['blue', 'green'].map((name) => ({ name, keyVault: { vault: 'v', secret: name } }));
  vi.stubEnv('CLOUDFENCE_SETTINGS', JSON.stringify({ clusters }));
  const { ports, policy } = await lazyDependencies()();
  expect(ports.clusters.map(({ name }) => name)).toEqual(['blue', 'green']);
  expect(policy.dryRun).toBe(false);
});
