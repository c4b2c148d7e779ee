import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { lazyDependencies } from '../../functions/azure/dependencies.ts';
import { openStandIn, type Answered, type Request, type StandIn } from '../providers/stand-in.ts';

/** What a deployed function on Azure does with its environment: to which queues it sends, and which machines it serves. */

const subscription = '11111111-1111-1111-1111-111111111111';

const taken: object[] = [];
const take = ({ url, headers, body }: Request): Answered => {
  taken.push({ url, text: String(body), delayed: 'brokerproperties' in headers, reason: headers['reason'] ?? null });
  return { status: 201 };
};

let bus: StandIn;
beforeAll(async () => {
  bus = await openStandIn(take);
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
afterEach(() => taken.splice(0));
afterAll(() => {
  vi.unstubAllEnvs();
  return bus.close();
});

it('a message goes to its queue with its delay, and a dead letter to the other queue with its reason', async () => {
  const { queues } = await lazyDependencies()();
  await queues.events('{"a":1}', 90);
  await queues.events('{"a":2}', 0);
  await queues.dead({ reason: 'not JSON', body: '{' });
  expect(taken).toEqual([
    { url: '/events/messages', text: '{"a":1}', delayed: true, reason: null },
    { url: '/events/messages', text: '{"a":2}', delayed: false, reason: null },
    { url: '/dead-letters/messages', text: '{', delayed: false, reason: '"not JSON"' },
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
