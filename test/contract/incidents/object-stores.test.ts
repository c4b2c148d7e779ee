import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderStore, objectsInFolder } from '../../../cli/incident-place.ts';
import { InvalidInput, Unexpected } from '../../../fencing/model/errors.ts';
import { objectNameOf, parseIncident, type Incident } from '../../../incidents/incident.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { keepIncident } from '../../../incidents/keep.ts';
import type { IncidentKeeper, ObjectStore } from '../../../incidents/store.ts';
import { eventTrigger, record } from '../../incidents/recorded.ts';
import { never } from '../../sandbox/in-process.ts';
import { startMachine, stopped } from '../../simulation/incidents.ts';
import { keepers, type KeeperHarness } from './stand-ins.ts';

/** What every place in which incidents are stored must do. */

interface StoreHarness {
  readonly keeper: IncidentKeeper;
  /** Returns what the place itself stores under a name. */
  readonly textOf: (name: string) => Promise<string | null>;
  readonly close: () => Promise<void>;
}

const ofKeeper = (open: () => Promise<KeeperHarness>) => async (): Promise<StoreHarness> => {
  const { keeper, objects, close } = await open();
  return { keeper, textOf: async (name) => objects.get(name)?.text ?? null, close };
};

const ofFolder = async (): Promise<StoreHarness> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-incidents-'));
  return {
    keeper: folderStore(path.join(folder, 'not yet there')),
    textOf: (name) => readFile(path.join(folder, 'not yet there', name), 'utf8').catch(() => null),
    close: () => rm(folder, { recursive: true }),
  };
};

const trigger = eventTrigger('event-1', 'state-change-stopped', '2026-01-01T00:00:20.000Z');

describe.each([...keepers.map(([name, , open]) => [name, ofKeeper(open)] as const), ['a folder', ofFolder] as const])(
  'the objects of %s',
  (_, open) => {
    let there: StoreHarness;
    let objects: ObjectStore;
    beforeAll(async () => {
      there = await open();
      ({ objects } = there.keeper);
    });
    afterAll(() => there.close());
    const namesIn = async (prefix: string) => (await objects.list(prefix, never())).map(({ name }) => name).sort();

    it('are read back with their version, whatever their name', async () => {
      const name = 'incidents/eu%2Fprod/node ü/f+1.json';
      expect(await objects.read(name, never())).toBeNull();
      expect(await objects.write(name, '{"a":"ü"}', null, never())).toBe(true);
      expect(await there.textOf(name)).toBe('{"a":"ü"}');
      expect(await objects.read(name, never())).toEqual({ text: '{"a":"ü"}', version: expect.stringMatching(/./) });
      expect(await namesIn('incidents/eu')).toEqual([name]);
      expect(await namesIn('notes/')).toEqual([]);
      expect((await objects.list('incidents/eu', never())).map(({ written }) => typeof written)).toEqual(['number']);
    });

    it('are written only if the version that was read is still there', async () => {
      await objects.write('one', 'first', null, never());
      expect(await objects.write('one', 'another first', null, never())).toBe(false);
      const version = (await objects.read('one', never()))?.version ?? '';
      expect(await objects.write('one', 'second', version, never())).toBe(true);
      expect(await objects.write('one', 'late', version, never())).toBe(false);
      expect(await there.textOf('one')).toBe('second');
      await objects.remove('one', never());
      expect(await objects.write('one', 'over nothing', version, never())).toBe(false);
      expect(await there.textOf('one')).toBeNull();
    });

    it('are removed, and it is no error if an object is already gone', async () => {
      await objects.write('notes/a ü', '{}', null, never());
      await objects.remove('notes/a ü', never());
      await objects.remove('notes/a ü', never());
      expect(await namesIn('notes/')).toEqual([]);
    });

    it('complete one incident although runs write at the same time', async () => {
      const scene = stopped();
      const { shown: fence } = await record(scene, trigger);
      startMachine(scene.world, scene.scene.holder);
      scene.world.advance(90_000);
      const { shown: release } = await record(scene, trigger, null, { runId: 'second' });
      if (!fence || !release) throw new Error('both runs have something to show');
      const shown: readonly Incident[] = [fence, release, fence];
      await Promise.all(shown.map((each) => keepIncident(each, defaultPolicy, there.keeper, never())));
      expect(parseIncident((await there.textOf(objectNameOf(fence))) ?? '')).toMatchObject({
        state: 'released',
        steps: expect.arrayContaining([...fence.steps]),
      });
      expect(await namesIn('notes/')).toEqual([`notes/watch/${objectNameOf(fence)}`]);
    });
  },
);

it('a name never leads out of the folder', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-incidents-'));
  const objects = objectsInFolder(path.join(folder, 'inside'));
  for (const name of ['../outside.json', 'incidents/../../outside.json']) {
    await expect(objects.write(name, '{}', null, never())).rejects.toThrow(InvalidInput);
    await expect(objects.read(name, never())).rejects.toThrow(InvalidInput);
  }
  await rm(folder, { recursive: true });
});

it('a file counts as missing only if it is gone: a file that cannot be read is an error', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-incidents-'));
  const objects = objectsInFolder(folder);
  await objects.write('one', '{}', null, never());
  await symlink('gone', path.join(folder, 'leads-to-nothing'));
  expect((await objects.list('', never())).map(({ name }) => name)).toEqual(['one']);
  await symlink('leads-to-itself', path.join(folder, 'leads-to-itself'));
  await expect(objects.list('', never())).rejects.toThrow(Unexpected);
  await expect(objects.list('', never())).rejects.toThrow(/leads-to-itself cannot be read \(ELOOP\)/);
  await rm(folder, { recursive: true });
});
