import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { onEvent } from '../../functions/aws/on-event.ts';
import { replay } from '../../functions/aws/replay.ts';
import { MAX_ATTEMPTS } from '../../functions/acknowledge.ts';
import { shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { stopMachine, stopped } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { again, batchOf, installOver, stateChange, type Install } from './install.ts';

/** A request for a dry run anywhere in a message concerns that message and no other. */

const deliver = (install: Install, ...bodies: readonly unknown[]) =>
  onEvent(async () => install.dependencies)(batchOf(...bodies), install.context());
const ends = ({ lines }: Install) =>
  lines
    .filter(({ decision, step }) => step === null && decision !== 'look-again')
    .map(({ decision, dryRun }) => [decision, dryRun]);
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
const dry = (id: string) => ({ ...stateChange(id), dryRun: true });
const off = () => {
  const { world, scene } = stopped();
  return { world, holder: scene.holder, spare: scene.spare, install: installOver(world), before: stateOf(world) };
};

const wrappings: readonly (readonly [string, (id: string) => unknown])[] = [
  ['next to the detail', dry],
  [
    'in the detail',
    (id) => stateChange(id, 'stopped', { detail: { 'instance-id': id, state: 'stopped', dryRun: true } }),
  ],
  ['in a text', (id) => JSON.stringify(JSON.stringify(dry(id)))],
  ['in a body', (id) => ({ body: JSON.stringify(dry(id)) })],
  ['next to a body', (id) => ({ body: JSON.stringify(stateChange(id)), dryRun: true })],
  ['in the Message of SNS', (id) => ({ Type: 'Notification', Message: JSON.stringify(dry(id)) })],
  [
    'in a record of SNS',
    (id) => ({ Records: [{ EventSource: 'aws:sns', Sns: { Message: JSON.stringify(dry(id)) } }] }),
  ],
  [
    'in one of two records in it',
    (id) => ({ Records: [{ body: JSON.stringify(stateChange(id)) }, { body: JSON.stringify(dry(id)) }] }),
  ],
  ['next to its records', (id) => ({ Records: [{ body: JSON.stringify(stateChange(id)) }], dryRun: true })],
  ['in a list', (id) => [stateChange(id), dry(id)]],
  ['on a line', (id) => `${JSON.stringify(stateChange(id))}\n${JSON.stringify(dry(id))}`],
  ['in base64', (id) => base64(dry(id))],
  ['zipped and in base64', (id) => gzipSync(JSON.stringify(dry(id))).toString('base64')],
  ['in another spelling', (id) => ({ ...stateChange(id), 'dry-run': true })],
];

describe('a message that requests a dry run', () => {
  it.each(wrappings)('%s, is answered, and nothing is done', async (_, messageFor) => {
    const { world, holder, install, before } = off();
    expect(await deliver(install, messageFor(holder))).toEqual(again());
    expect(stateOf(world)).toEqual(before);
    expect(ends(install)).toEqual([['would-fence', true]]);
  });

  it.each(wrappings.filter(([name]) => name !== 'in one of two records in it'))(
    '%s, has the same result if it is sent to replay',
    async (_, messageFor) => {
      const { world, holder, install, before } = off();
      expect(await replay(async () => install.dependencies)(messageFor(holder), install.context())).toMatchObject({
        outcome: 'would-fence',
        dryRun: true,
      });
      expect(stateOf(world)).toEqual(before);
    },
  );

  it.each(['maybe', 'false', 1, null, {}])('but not clearly (%j) is reported, and nothing is done', async (dryRun) => {
    const { world, holder, install, before } = off();
    expect(await deliver(install, { body: JSON.stringify({ ...stateChange(holder), dryRun }) })).toEqual(again());
    expect(stateOf(world)).toEqual(before);
    expect(install.dead).toMatchObject([{ reason: expect.stringMatching(/`dryRun` is neither true nor false/) }]);
  });

  it('and has to wait comes back as a dry run', async () => {
    const { world, spare, install, before } = off();
    shutdownTakes(world, spare, 6_000_000);
    stopMachine(world, spare);
    await deliver(install, { ...stateChange(spare, 'stopping'), dryRun: true });
    for (let hop = 1; hop <= MAX_ATTEMPTS; hop += 1) await deliver(install, install.sentAgain.at(-1)?.message);
    world.advance(6_000_000);
    await deliver(install, install.sentAgain.at(-1)?.message);
    expect(install.sentAgain.length).toBeLessThanOrEqual(MAX_ATTEMPTS);
    expect(ends(install).every(([, dryRun]) => dryRun)).toBe(true);
    expect(stateOf(world).nodes).toEqual(before.nodes);
  });
});

describe('a message next to one that requests a dry run', () => {
  it.each([
    ['before', (id: string) => [dry(id), stateChange(id)]],
    ['after', (id: string) => [stateChange(id), dry(id)]],
  ])('is not a dry run, be it %s it', async (_, bodies) => {
    const { world, holder, install } = off();
    expect(await deliver(install, ...bodies(holder))).toEqual(again());
    expect(stateOf(world).nodes.some((node) => node.includes('quarantine'))).toBe(true);
    expect(new Set(ends(install))).toEqual(
      new Set([
        ['fenced', false],
        ['would-fence', true],
      ]),
    );
  });

  it('is not a dry run in a batch that a person sends, either', async () => {
    const { world, holder, install } = off();
    const answer = await replay(async () => install.dependencies)(
      batchOf(dry(holder), stateChange(holder)),
      install.context(),
    );
    expect(answer).toMatchObject({
      results: expect.arrayContaining([
        expect.objectContaining({ dryRun: true }),
        expect.objectContaining({ dryRun: false, outcome: 'fenced' }),
      ]),
    });
    expect(stateOf(world).nodes.some((node) => node.includes('quarantine'))).toBe(true);
  });
});
