import { expect, it } from 'vitest';
import { addFault } from '../../../sandbox/gce/faults.ts';
import { inProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { addDisk, addInstance, failHost } from '../../../sandbox/gce/scenario.ts';
import { instanceIn } from '../../../sandbox/gce/state.ts';
import { checkedCalls } from '../../contract/discovery/checked-calls.ts';
import { computeDocument } from '../../contract/discovery/document.ts';
import { MINUTE, gceWorld, place, zone } from './gce-world.ts';
import { handOf } from './sdk-hand.ts';

const document = computeDocument();
const area = { project: place.project, zone };

const scene = () => {
  const world = gceWorld();
  const checked = checkedCalls(document, inProcessFetch(world));
  const { instances, disks, regionDisks, operations } = handOf(world, checked.fetch);
  const path = addInstance(world, { gracefulTakes: MINUTE, labels: { a: 'b' }, hostname: 'h.example.org' });
  const at = { ...area, instance: path.split('/').at(-1) ?? '' };
  const see = () => instances.get(at);
  return { world, checked, instances, disks, regionDisks, operations, path, at, see };
};

it('answers every method that it supports as Google’s document describes, in every status', async () => {
  const { world, checked, instances, disks, regionDisks, operations, path, at, see } = scene();
  const statuses = new Set<string>();
  const through = async (call: Promise<unknown>): Promise<void> => {
    await call;
    for (let n = 0; n < 40; n += 1) {
      statuses.add((await see())[0].status ?? '');
      world.advance(5_000);
    }
  };
  addDisk(world, { path: `projects/${place.project}/regions/${place.region}/disks/r`, accessMode: null });
  await regionDisks.get({ project: place.project, region: place.region, disk: 'r' });
  await instances.attachDisk({
    ...at,
    attachedDiskResource: {
      source: `projects/${place.project}/regions/${place.region}/disks/r`,
      mode: 'READ_WRITE',
      deviceName: 'r',
    },
  });
  await through(instances.reset(at));
  await through(instances.suspend(at));
  await through(instances.resume(at));
  await through(instances.stop({ ...at, requestId: '00000000-0000-4000-8000-000000000001' }));
  await through(instances.start(at));
  failHost(world, path);
  world.advance(10 * MINUTE);
  const [{ latestResponse }] = await instances.detachDisk({ ...at, deviceName: 'r' });
  const operation = { ...area, operation: latestResponse.name ?? '' };
  await operations.get(operation);
  await operations.wait(operation);
  await disks.get({ ...area, disk: at.instance });
  await instances.delete(at);
  world.advance(10 * MINUTE);
  expect(instanceIn(world, path)).toBeUndefined();
  expect([...statuses].toSorted()).toEqual([
    'PENDING_STOP',
    'PROVISIONING',
    'RUNNING',
    'STAGING',
    'STOPPING',
    'SUSPENDED',
    'SUSPENDING',
    'TERMINATED',
  ]);
  expect(checked.called.size).toBe(13);
  expect(checked.faults).toEqual([]);
});

it('puts the error of an operation where the document has it', async () => {
  const { world, checked, instances, operations, at } = scene();
  addFault(world.parts.gce, {
    method: 'instances.detachDisk',
    mishap: { kind: 'failing-operation', error: { code: 'INTERNAL_ERROR', status: 500 } },
  });
  const [{ latestResponse }] = await instances.detachDisk({ ...at, deviceName: 'r' });
  const [{ error, status }] = await operations.wait({ ...area, operation: latestResponse.name ?? '' });
  expect([status, error?.errors?.[0]?.code]).toEqual(['DONE', 'INTERNAL_ERROR']);
  expect(checked.faults).toEqual([]);
});

it.each([
  ['an id that is a number', { id: 4611686018427387 }, 'response.id: is no string'],
  ['an ID that is not a number', { id: 'node-1' }, 'response.id: node-1 is no uint64'],
  ['an invented status', { status: 'STOPED' }, /response\.status: STOPED is none of/],
  ['a misspelt field', { lastStartTimeStamp: '' }, 'response.lastStartTimeStamp: there is no such field'],
  ['a field in another format', { disks: { boot: true } }, 'response.disks: is no array'],
  ['a wrong field deep within', { disks: [{ boot: 'true' }] }, 'response.disks[0].boot: is no boolean'],
])('would find %s', async (_, wrong, fault) => {
  const world = gceWorld();
  const through = inProcessFetch(world);
  const checked = checkedCalls(document, async (input, init) => {
    const answer: object = JSON.parse(await (await through(input, init)).text());
    return Response.json({ ...answer, ...wrong });
  });
  const path = addInstance(world);
  await checked.fetch(`https://compute.googleapis.com/compute/v1/${path}`);
  expect(checked.faults).toEqual([
    typeof fault === 'string' ? expect.stringContaining(fault) : expect.stringMatching(fault),
  ]);
});

it('would find a call that the API does not have', async () => {
  const world = gceWorld();
  const checked = checkedCalls(document, inProcessFetch(world));
  const url = `https://compute.googleapis.com/compute/v1/${addInstance(world)}`;
  for (const [method, rest] of [
    ['POST', '/detachDisk'],
    ['POST', '/detachDisk?deviceName=a&force=true'],
    ['POST', '/pull'],
    ['GET', 'X'],
  ] as const) {
    await checked.fetch(url + rest, { method });
  }
  expect(checked.faults.map((fault) => fault.replace(/.*instances/, ''))).toEqual([
    '.detachDisk: deviceName is missing',
    '.detachDisk: there is no parameter force',
    '/node-1/pull: there is no such method',
    '.get: instance node-1X does not match [a-z](?:[-a-z0-9]{0,61}[a-z0-9])?|[1-9][0-9]{0,19}',
  ]);
});
