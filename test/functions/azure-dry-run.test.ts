import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { onEvent } from '../../functions/azure/on-event.ts';
import { replay } from '../../functions/azure/handlers.ts';
import { webhook } from '../../functions/azure/webhook.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { change, scene } from '../sandbox/azure/azure-runs.ts';
import { azureInstall, cloudEvent, gridEvent, post, takeAll, type AzureInstall } from './azure-install.ts';

/** A request for a dry run anywhere in a message concerns that message and no other. */

const off = () => {
  const staged = scene();
  change(staged.world, staged.holder, deallocate, 60_000);
  return { ...staged, install: azureInstall(staged.world) };
};
const ends = ({ lines }: AzureInstall) =>
  lines
    .filter(({ decision }) => decision === 'fenced' || decision === 'would-fence')
    .map(({ decision, dryRun }) => [decision, dryRun]);
const acted = ({ lines }: AzureInstall) =>
  lines.filter(({ decision, result }) => decision === 'step' && result !== 'dry-run');
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
const dry = (holder: string) => ({ ...cloudEvent(holder), dryRun: true });

const wrappings: readonly (readonly [string, (holder: string) => unknown])[] = [
  ['in one of several events', (holder) => [gridEvent(holder), { ...gridEvent(holder), dryRun: true }]],
  ['in the data', (holder) => ({ ...cloudEvent(holder), data: { ...cloudEvent(holder).data, dryRun: true } })],
  ['next to the event', dry],
  ['in a body', (holder) => ({ body: JSON.stringify(dry(holder)) })],
  ['next to a body', (holder) => ({ body: JSON.stringify(cloudEvent(holder)), dryRun: true })],
  ['in the text of a storage queue', (holder) => ({ messageText: base64(dry(holder)) })],
  ['in one of several records', (holder) => ({ records: [gridEvent(holder), dry(holder)] })],
  ['in base64', (holder) => base64(dry(holder))],
  ['zipped', (holder) => gzipSync(JSON.stringify(dry(holder)))],
  [
    'in an envelope of Cloudfence',
    (holder) => ({ cloudfence: 'retry', failures: 1, body: JSON.stringify(dry(holder)) }),
  ],
  [
    'next to an envelope of Cloudfence',
    (holder) => ({ cloudfence: 'retry', failures: 1, body: JSON.stringify(cloudEvent(holder)), dryRun: true }),
  ],
];

it.each(wrappings)('a message that requests a dry run %s is answered, and nothing is done', async (_, messageFor) => {
  const { holder, install } = off();
  await onEvent(install.getDependencies)([messageFor(holder)], install.context);
  expect([ends(install), acted(install), install.queues]).toEqual([[['would-fence', true]], [], {}]);
});

it('the webhook recognizes a dry run, even in an attribute of an unreadable CloudEvent', async () => {
  const { holder, install } = off();
  await webhook(install.getDependencies)(post(dry(holder)), install.context);
  await onEvent(install.getDependencies)(takeAll(install), install.context);
  expect([ends(install), acted(install)]).toEqual([[['would-fence', true]], []]);
  const { data, ...attributes } = cloudEvent(holder);
  const headers = {
    ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])),
    'ce-dryrun': 'true',
  };
  await webhook(install.getDependencies)(post(data, { headers }), install.context);
  await onEvent(install.getDependencies)(takeAll(install), install.context);
  expect(acted(install)).toEqual([]);
  expect(install.queues['dead-letters']).toMatchObject([
    { properties: { reason: expect.stringMatching(/`dryRun` is neither true nor false/) } },
  ]);
});

it('a message next to a dry run is not a dry run, and neither is a request by a person', async () => {
  const { holder, install } = off();
  await onEvent(install.getDependencies)([dry(holder), gridEvent(holder)], install.context);
  expect(acted(install)).toContainEqual(expect.objectContaining({ step: 'mark' }));
  expect(ends(install)).toContainEqual(['would-fence', true]);
  const { holder: another, install: other } = off();
  const { body } = await replay(other.getDependencies)(post({ body: JSON.stringify(dry(another)) }), other.context);
  expect([JSON.parse(body), acted(other)]).toMatchObject([{ outcome: 'would-fence', dryRun: true }, []]);
});
