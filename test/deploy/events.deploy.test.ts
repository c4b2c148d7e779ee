import { beforeAll, expect, it } from 'vitest';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { install, type Installed } from './installed.ts';
import { fencedAndMoved, stopIn, type Holder } from './stopping-machines.ts';

/** From the event bus to the fence, through the functions that `serverless deploy` created. */

let deployed: Installed;
/** Called after each accepted write to a Node. Returns true to lose the answer. */
let afterNodeWrite: (path: string) => boolean = () => false;

const faults: Faults = {
  after: ({ method, path }) =>
    method === 'PATCH' && path.startsWith('/api/v1/nodes/') && afterNodeWrite(path) ? 'drop' : undefined,
};

beforeAll(async () => {
  deployed = await install({ holders: 4, faults, before: (world, [lost]) => lost && stopIn(world, lost, 1_000) });
  await deployed.listen();
  return () => deployed.close();
});

const untilFenced = async (holder: Holder, timeout: number): Promise<void> => {
  await expect.poll(() => deployed.fenceStateOf(holder), { timeout, interval: 100 }).toEqual(fencedAndMoved);
  expect(deployed.violations()).toEqual([]);
};

it('a machine whose events were lost is found and fenced by the sweep', async () => {
  const lost = deployed.holder(0);
  expect(await deployed.invoke('sweep', {})).toMatchObject({ results: [{ instance: lost.machine }], unreachable: [] });
  if (deployed.fenceStateOf(lost).phase !== 'fenced') await deployed.invoke('sweep', {});
  await untilFenced(lost, 20_000);
});

it('its decision is in `serverless logs`, and the place of its code in `serverless info`', async () => {
  expect(await deployed.serverless('logs', '-f', 'sweep')).toMatchObject({
    code: 0,
    said: expect.stringContaining(deployed.holder(0).machine),
  });
  expect(await deployed.serverless('info')).toMatchObject({
    code: 0,
    said: expect.stringMatching(/on-event: cloudfence-ministack-on-event/),
  });
});

it('a machine that stops is fenced by its event, and its disk is used elsewhere', async () => {
  const holder = deployed.holder(1);
  stopIn(deployed.world, holder, 500);
  await expect.poll(() => deployed.stateOf(holder)).toBe('stopped');
  await deployed.tell(holder.machine, 'stopped');
  await untilFenced(holder, 30_000);
});

it('a fence leaves an object in the bucket and one message on the bus', async () => {
  const { node, machine } = deployed.holder(1);
  const id = deployed.fenceIdOf(deployed.holder(1));
  await expect
    .poll(() => deployed.incident({ cluster: 'sandbox', node, id }), { timeout: 20_000, interval: 500 })
    .toMatchObject({
      id,
      machine,
      state: 'fenced',
      triggers: [{ kind: 'event' }],
      phases: { marked: expect.any(String) },
    });
  const heard: unknown[] = [];
  await expect
    .poll(async () => heard.push(...(await deployed.heard())), { timeout: 20_000, interval: 500 })
    .toBeGreaterThan(1);
  expect(heard).toMatchObject([
    { source: 'cloudfence', 'detail-type': 'Cloudfence Fence', detail: { machine: deployed.holder(0).machine } },
    { source: 'cloudfence', 'detail-type': 'Cloudfence Fence', detail: { machine, incident: id } },
  ]);
});

it('a machine that is still stopping comes back through the queue, and is fenced once it is off', async () => {
  const holder = deployed.holder(2);
  stopIn(deployed.world, holder, 6_000);
  await deployed.tell(holder.machine, 'stopping');
  await expect.poll(() => deployed.waitingMessages(), { timeout: 10_000, interval: 100 }).toBeGreaterThan(0);
  expect([deployed.stateOf(holder), deployed.fenceStateOf(holder)]).toEqual([
    'stopping',
    { phase: null, diskMoved: false },
  ]);
  await untilFenced(holder, 45_000);
});

it('a function that is killed during a fence leaves its record, and the redelivery continues from there', async () => {
  const holder = deployed.holder(3);
  const killed: unknown[] = [];
  afterNodeWrite = (path) => {
    if (killed.length > 0 || !path.endsWith(holder.node)) return false;
    killed.push({ functions: deployed.ministack.killFunctions(), ...deployed.fenceStateOf(holder) });
    return true;
  };
  stopIn(deployed.world, holder, 500);
  await expect.poll(() => deployed.stateOf(holder)).toBe('stopped');
  await deployed.tell(holder.machine, 'stopped');
  await expect
    .poll(() => killed, { timeout: 10_000 })
    .toEqual([{ functions: expect.any(Number), phase: 'fencing', diskMoved: false }]);
  expect(killed).not.toMatchObject([{ functions: 0 }]);
  await untilFenced(holder, 110_000);
}, 130_000);

it('a test event of the doctor passes the bus, its rule, and the queue, and the doctor sees it arrive', async () => {
  const answer = await deployed.call('doctor', { question: 'test-event' });
  expect(answer).toMatchObject({
    checks: expect.arrayContaining([
      {
        what: expect.stringMatching(/^test event: event bus → rule cloudfence-ministack-test-event/),
        verdict: 'ok',
        says: expect.stringMatching(/^on-event received it after \d+ ms, and acted on nothing/),
      },
    ]),
  });
});

it('an unreadable event becomes a dead letter that gives the reason', async () => {
  await deployed.send('EC2 Instance State-change Notification', '{"instance-id": 7, "state": "stopped"}');
  const letter = { body: expect.stringContaining('"instance-id"'), reason: expect.stringMatching(/instance-id/) };
  await expect.poll(() => deployed.deadLetter(), { timeout: 20_000, interval: 500 }).toMatchObject(letter);
});
