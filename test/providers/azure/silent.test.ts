import { afterEach, beforeEach, expect, it } from 'vitest';
import { timing } from '../../../fencing/model/policy.ts';
import { Unavailable } from '../../../fencing/model/errors.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { azureCloud } from '../../../providers/azure/index.ts';
import { createSender } from '../../../providers/azure/rest.ts';
import { credential, patient, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { openStandIn, type StandIn } from '../stand-in.ts';
import { arrival, endsWithin, useRealTime, useVirtualTime } from '../virtual-time.ts';

/** A service of Azure that takes each request and never answers it. */
let silent: StandIn;

beforeEach(async () => {
  silent = await openStandIn(() => new Promise(() => undefined));
});
afterEach(() => {
  useRealTime();
  return silent.close();
});

const clients = () => azureClients({ subscription, credential, endpoint: silent.url });

const sendTo = ({ url }: StandIn) =>
  createSender({ host: url, credential })('events', { text: '', notBefore: null, properties: {} });

it.each([
  ['a look', 60_000, () => azureCloud(clients()).look([`${prefix}/virtualmachines/db-0`], { disks: false }, patient())],
  ['a message', 11_000, () => sendTo(silent)],
])('%s that is not answered ends within %i ms', async (_, ms, call) => {
  useVirtualTime();
  const ended = call().catch((error: unknown) => error);
  await arrival(silent, 1);
  expect(await endsWithin(ms, ended)).toBe(true);
  expect(await ended).toBeInstanceOf(Unavailable);
});

it('a message to a queue that asks for a long pause fails within seconds, before its function ends', async () => {
  const busy = await openStandIn(() => ({ status: 503, headers: { 'retry-after': '300' } }));
  useVirtualTime();
  const ended = sendTo(busy).catch((error: unknown) => error);
  await arrival(busy, 1);
  expect(await endsWithin(11_000, ended)).toBe(true);
  expect(await ended).toBeInstanceOf(Unavailable);
  await busy.close();
});

it('a detach is followed for as long as fencing waits before it forces it, and not longer', () => {
  const { everyMs, times } = clients().polling;
  expect(everyMs * times).toBe(timing.plainDetach);
});
