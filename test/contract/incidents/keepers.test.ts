import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { InvalidInput, PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { objectNameOf, parseIncident, type Incident } from '../../../incidents/incident.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { keepIncident } from '../../../incidents/keep.ts';
import { record, eventTrigger } from '../../incidents/recorded.ts';
import { never } from '../../sandbox/in-process.ts';
import { startMachine, stopped } from '../../simulation/incidents.ts';
import { keepers, type KeeperHarness } from './stand-ins.ts';

/** What the place for incidents must do on every cloud. */

const trigger = eventTrigger('event-1', 'state-change-stopped', '2026-01-01T00:00:20.000Z');

let fence: Incident;
let release: Incident;
beforeAll(async () => {
  const scene = stopped();
  const { shown: first } = await record(scene, trigger);
  startMachine(scene.world, scene.scene.holder);
  scene.world.advance(90_000);
  const { shown: second } = await record(scene, trigger, null, { runId: 'second' });
  if (!first || !second) throw new Error('both runs have something to show');
  [fence, release] = [first, second];
});

describe.each(keepers)('the incidents of %s', (_, topics, open) => {
  let there: KeeperHarness;
  beforeAll(async () => {
    there = await open();
  });
  afterAll(() => there.close());
  beforeEach(() => {
    there.objects.clear();
    there.announced.length = 0;
    there.trouble.status = null;
  });
  const objects = () => there.keeper.objects;
  const kept = () => parseIncident(there.objects.get(objectNameOf(fence))?.text ?? '');

  it('a removal that is denied is an error', async () => {
    there.trouble.status = 403;
    await expect(objects().remove('notes/a ü', never())).rejects.toThrow(PermissionDenied);
  });

  it('a write without an answer is sent once, because its repetition would conflict with it', async () => {
    there.trouble.status = 503;
    const before = there.asked.length;
    await expect(objects().write('one', '{}', null, never())).rejects.toThrow(Unavailable);
    expect(there.asked.length - before).toBe(1);
  });

  it('concurrent runs complete one object', async () => {
    await Promise.all(
      [fence, release, fence].map((shown) => keepIncident(shown, defaultPolicy, there.keeper, never())),
    );
    expect([...there.objects.keys()].sort()).toEqual([objectNameOf(fence), `notes/watch/${objectNameOf(fence)}`]);
    expect(kept()).toMatchObject({ state: 'released', steps: expect.arrayContaining([...fence.steps]) });
    expect(there.announced.map(({ topic }) => topic)).toEqual(expect.arrayContaining([...topics]));
    expect(there.announced).toHaveLength(2 * topics.length);
  });

  it('a fence is reported once to each topic, with texts for people', async () => {
    await keepIncident(fence, defaultPolicy, there.keeper, never());
    await keepIncident(fence, defaultPolicy, there.keeper, never());
    expect(there.announced.map(({ topic }) => topic).sort()).toEqual([...topics].sort());
    for (const { message } of there.announced)
      expect(message).toMatchObject({
        about: 'fence',
        incident: fence.id,
        object: objectNameOf(fence),
        texts: { page: expect.stringMatching(/^Cloudfence fenced Node \S+ in sandbox$/) },
      });
  });

  it('an object that cannot be read stays as it is', async () => {
    there.objects.set(objectNameOf(fence), { text: '{"version":2}', version: 7 });
    await expect(keepIncident(fence, defaultPolicy, there.keeper, never())).rejects.toThrow(InvalidInput);
    expect(there.objects.get(objectNameOf(fence))?.version).toBe(7);
  });

  it.each([
    [403, PermissionDenied, PermissionDenied],
    [503, Unavailable, Unavailable],
    [400, Refused, Refused],
    [404, null, Refused],
  ])('the status %i is reported with its meaning', async (status, reading, writing) => {
    there.trouble.status = status;
    if (reading) await expect(objects().read('one', never())).rejects.toThrow(reading);
    else expect(await objects().read('one', never())).toBeNull();
    await expect(objects().write('one', 'x', null, never())).rejects.toThrow(writing);
  });

  it('a place that is gone is reported as unavailable, and a call ends with its signal', async () => {
    const gone = await open();
    await gone.close();
    await expect(gone.keeper.objects.read('one', never())).rejects.toThrow(/ECONNREFUSED/);
    await expect(objects().read('one', AbortSignal.abort(new Error('enough')))).rejects.toThrow(
      /enough|no response|abort/,
    );
  });
});
