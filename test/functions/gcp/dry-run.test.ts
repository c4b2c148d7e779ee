import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onEvent } from '../../../functions/gcp/on-event.ts';
import { replay } from '../../../functions/gcp/replay.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { createGceSandbox } from '../../../sandbox/gce-sandbox.ts';
import { stopGuest } from '../../../sandbox/gce/scenario.ts';
import { gceDatabaseOnTwoNodes, nodeNameOf } from '../../../sandbox/scenes/gce-database.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { MINUTE } from '../../sandbox/gce/gce-world.ts';
import { bearer, installOver, pushOf, type GcpInstall } from './install.ts';

/** A request for a dry run anywhere in a message concerns that message. */

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

const off = () => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const { holder } = gceDatabaseOnTwoNodes(world);
  stopGuest(world, holder);
  world.advance(MINUTE / 2);
  const entry = world.parts.gce.events.findLast(({ protoPayload }) =>
    protoPayload.methodName.endsWith('guestTerminate'),
  );
  const isMarked = () =>
    (getObject(world, 'nodes', nodeNameOf(holder))?.spec.taints ?? []).some(
      ({ key }) => key === 'cloudfence.dev/quarantine',
    );
  return { world, holder, entry, isMarked, install: installOver(world, keys) };
};
const ends = ({ lines }: GcpInstall) =>
  lines
    .filter(({ decision }) => decision === 'fenced' || decision === 'would-fence')
    .map(({ decision, dryRun }) => [decision, dryRun]);
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

const wrappings: readonly (readonly [string, (entry: object | undefined) => object])[] = [
  [
    'in the entry that is pushed',
    (entry) => ({ message: { data: base64({ ...entry, dryRun: true }), messageId: 'm-1' } }),
  ],
  [
    'in its labels',
    (entry) => ({ message: { data: base64({ ...entry, labels: { dryRun: true } }), messageId: 'm-1' } }),
  ],
  ['next to the message', (entry) => ({ message: { data: base64(entry), messageId: 'm-1' }, dryRun: true })],
  ['in the message', (entry) => ({ message: { data: base64(entry), messageId: 'm-1', dryRun: true } })],
  ['in a push without a message id', (entry) => ({ message: { data: base64({ ...entry, dryRun: true }) } })],
  [
    'zipped in it',
    (entry) => ({
      message: { data: gzipSync(JSON.stringify({ ...entry, dryRun: true })).toString('base64'), messageId: 'm-1' },
    }),
  ],
  [
    'in a CloudEvent of Eventarc',
    (entry) => ({ specversion: '1.0', type: 'google.cloud.audit.log.v1.written', data: { ...entry, dryRun: true } }),
  ],
  [
    'in the text of a CloudEvent',
    (entry) => ({ specversion: '1.0', type: 'x', data: JSON.stringify({ ...entry, dryRun: true }) }),
  ],
  [
    'in a CloudEvent of Pub/Sub',
    (entry) => ({ specversion: '1.0', type: 'x', data: { message: { data: base64({ ...entry, dryRun: true }) } } }),
  ],
  [
    'in a CloudEvent in base64',
    (entry) => ({ specversion: '1.0', type: 'x', data_base64: base64({ ...entry, dryRun: true }) }),
  ],
  [
    'in one of several entries',
    (entry) => ({ message: { data: base64({ entries: [entry, { ...entry, dryRun: true }] }), messageId: 'm-1' } }),
  ],
];

it.each(wrappings)('a message that requests a dry run %s is answered, and nothing is done', async (_, bodyFor) => {
  const { entry, isMarked, install } = off();
  const request = { headers: { authorization: bearer(keys) }, body: bodyFor(entry) };
  expect(await onEvent(async () => install.dependencies)(request, install.limit())).toEqual({ status: 204 });
  expect([ends(install), isMarked(), install.published]).toEqual([[['would-fence', true]], false, []]);
});

it.each(['maybe', 'true', 0, null])('a message whose dry-run flag is unclear (%j) is a dead letter', async (dryRun) => {
  const { entry, isMarked, install } = off();
  expect(
    await onEvent(async () => install.dependencies)(pushOf(keys, entry, { dryRun: String(dryRun) }), install.limit()),
  ).toEqual({ status: 204 });
  expect(await onEvent(async () => install.dependencies)(pushOf(keys, { ...entry, dryRun }), install.limit())).toEqual({
    status: 204,
  });
  expect([ends(install), isMarked()]).toEqual([[], false]);
  expect(install.published).toMatchObject(
    [1, 2].map(() => ({
      topic: 'dead-letters',
      attributes: { reason: expect.stringMatching(/`dryRun` is neither true nor false/) },
    })),
  );
});

it('a push next to a dry run is not a dry run, and pulled messages are answered one by one', async () => {
  const { entry, isMarked, install } = off();
  const pulled = (value: object) => ({ ackId: 'a', message: { data: base64(value) } });
  const body = { receivedMessages: [pulled({ ...entry, dryRun: true })] };
  expect(await replay(async () => install.dependencies)({ headers: {}, body }, install.limit())).toMatchObject({
    body: { outcome: 'would-fence', dryRun: true },
  });
  expect(isMarked()).toBe(false);
  const both = { receivedMessages: [pulled({ ...entry, dryRun: true }), pulled({ ...entry })] };
  expect(await replay(async () => install.dependencies)({ headers: {}, body: both }, install.limit())).toMatchObject({
    body: { results: [{ dryRun: false }, { dryRun: true }] },
  });
  expect(isMarked()).toBe(true);
});
