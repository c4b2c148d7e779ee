import { afterAll, beforeAll, expect, it } from 'vitest';
import { onEvent } from '../../../functions/gcp/on-event.ts';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';
import { createGceSandbox, SANDBOX_PROJECT } from '../../../sandbox/gce-sandbox.ts';
import { stopGuest } from '../../../sandbox/gce/scenario.ts';
import { gceDatabaseOnTwoNodes } from '../../../sandbox/scenes/gce-database.ts';
import { openKeyServer, type KeyServer } from '../../providers/gcp/key-server.ts';
import { about, isMarked, namesMachine, sample, samplesOf } from '../samples.ts';
import { installOver, pushOf } from './install.ts';

/**
 * Every sample of the cloud as input of the function. If it names a machine that is off, that machine is marked. No
 * sample is ignored silently.
 */

let keys: KeyServer;
beforeAll(async () => {
  keys = await openKeyServer();
});
afterAll(() => keys.close());

const deliver = async (text: string) => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const { holder } = gceDatabaseOnTwoNodes(world);
  stopGuest(world, holder);
  world.advance(30_000);
  const install = installOver(world, keys);
  const sent = about(text, holder, readHints, { account: SANDBOX_PROJECT.project, region: null });
  const answer = await onEvent(async () => install.dependencies)(pushOf(keys, sent), install.limit());
  return { ...install, answer, hasMarked: isMarked(install, holder) };
};

it.each(samplesOf('gcp').filter((name) => !name.startsWith('pubsub-cloudevent-STRUCTURED')))(
  '%s is reported, and the machine that it names is fenced',
  async (name) => {
    const { lines, answer, published, hasMarked } = await deliver(sample('gcp', name));
    const deadLetters = published.filter(({ topic }) => topic === 'dead-letters');
    expect({ isLogged: lines.length > 0, answer, deadLetters, hasMarked }).toEqual({
      isLogged: true,
      answer: { status: 204 },
      deadLetters: [],
      hasMarked: namesMachine(sample('gcp', name), readHints),
    });
  },
);

it('a message whose data is plain text becomes a dead letter', async () => {
  const { lines, published } = await deliver(
    sample('gcp', 'pubsub-cloudevent-STRUCTURED-shape.google-cloudevents.json'),
  );
  expect([lines, published]).toMatchObject([
    [{ decision: 'not-understood' }],
    [{ topic: 'dead-letters', attributes: { reason: expect.stringMatching(/not JSON/) } }],
  ]);
});
