import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { changesMade, expectRecovered, openCrippled, type Crippled } from './crippled.ts';
import { isDestructive } from './changes.ts';
import { answerIn, beginCloudfence } from '../entry-points/programs.ts';
import type { Pause } from './freeze.ts';
import { freezeAt, pauseInWords } from './freeze.ts';
import { podsOn, worldOf } from '../scenes/world.ts';

/** Longer than a proof lasts. */
const FROZEN_MS = 2_500;
/** A run that waited for the return of the machine would wait for a long time. */
const WAITS_NO_LONGER = '30s';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const firstOf = (change: 'mark' | 'delete-pod' | 'fail-pod' | 'detach-disk' | 'nudge') => ({ change, nth: 1 });
const cleared = (after: Pause['after']): Pause => ({ after, at: 'recheck' });
const answered = (after: Pause['after']): Pause => ({ after, at: 'answer' });

const pauses: readonly Pause[] = [
  cleared(null),
  answered(firstOf('mark')),
  cleared(firstOf('mark')),
  answered(firstOf('delete-pod')),
  cleared(firstOf('delete-pod')),
  cleared(firstOf('fail-pod')),
  cleared({ change: 'delete-pod', nth: 2 }),
  answered(firstOf('detach-disk')),
  answered(firstOf('nudge')),
];
const inWords = (pause: Pause) => ({ pause, words: pauseInWords(pause) });
/**
 * If the machine stays off, a delay at any step leads to the same world. So it is enough to delay the important steps.
 */
const delays = pauses.filter(
  ({ after }) => after?.change !== 'fail-pod' && after?.change !== 'nudge' && after?.change !== 'mark',
);

/**
 * Freezes a fence at that moment, lets the world continue without it, and lets the fence continue. Returns its requests
 * since then, and its answer.
 */
const thawed = async ({ gates, home }: Crippled, pause: Pause, meanwhile: () => Promise<void>, timeout = '4m') => {
  const process = beginCloudfence(gates.access, 'fence', home.instance, '--timeout', timeout);
  try {
    const { handling, frozen } = freezeAt(pause, () => process);
    gates.handle(handling);
    await Promise.race([frozen, process.ended.then(() => Promise.reject(new Error('it ended before it was frozen')))]);
    await Promise.all([meanwhile(), delay(FROZEN_MS)]);
    const at = performance.now();
    process.kill('SIGCONT');
    const { says } = answerIn(await process.ended);
    return { says, asked: gates.seen.filter((seen) => seen.at > at).flatMap(({ change }) => change ?? []) };
  } finally {
    process.kill('SIGKILL');
  }
};

describe.concurrent('a fence that was frozen', () => {
  it.for(delays.map(inWords))('$words, continues to the end, because the machine is still off', async ({ pause }) => {
    const crippled = await openCrippled(testbed, 'frozen');
    const { says } = await thawed(crippled, pause, async () => undefined);
    expect(says.outcome).toBe('fenced');
    await expectRecovered(crippled);
    await crippled.close();
  });

  it.for(pauses.map(inWords))(
    '$words, while the machine was started, does nothing more to that machine',
    async ({ pause }) => {
      const crippled = await openCrippled(testbed, 'frozen-started');
      const { scene, home, refuge, disk, driver, gates } = crippled;
      let livingThen: readonly string[] = [];
      const { says, asked } = await thawed(
        crippled,
        pause,
        async () => {
          await home.start();
          livingThen = podsOn(scene, [home]);
        },
        WAITS_NO_LONGER,
      );
      expect(asked.filter(isDestructive)).toEqual([]);
      expect(says.outcome).not.toBe('fenced');
      expect(podsOn(scene, [home])).toEqual(livingThen);
      const done = new Set(changesMade(gates));
      if (!done.has('detach-disk')) expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
      await driver.mend();
      const where = done.has('delete-pod') ? refuge : home;
      await scene.runs('db-0', where);
      expect(await testbed.ec2.holderOf(disk)).toBe(where.instance);
      await crippled.close();
    },
  );

  it('with its Node read for the mark, while the machine was started, does not send the mark', async () => {
    const crippled = await openCrippled(testbed, 'frozen-marking');
    const { scene, home, refuge, disk, driver } = crippled;
    const { says, asked } = await thawed(
      crippled,
      { after: null, at: 'read for the mark' },
      home.power,
      WAITS_NO_LONGER,
    );
    expect(asked.filter(isDestructive)).toEqual([]);
    expect(says.steps).toEqual([]);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: [], [refuge.name]: [] });
    await driver.mend();
    await home.kubelet.boot();
    await scene.runs('db-0', home);
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    await crippled.close();
  });
});
