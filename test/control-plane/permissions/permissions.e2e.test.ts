import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NeededPermission } from '../../../kubernetes/doctor.ts';
import { neededPermissions } from '../../../kubernetes/doctor.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { runAtHand } from '../entry-points/programs.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { scenarios, type Ready } from './permission-scenarios.ts';
import { accessWithout, inWords } from './restricted-account.ts';

/**
 * Each permission of the shipped manifest is needed: without it, its scenario fails for that reason, and with it, the
 * same scenario succeeds.
 */

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const permission = (words: string): NeededPermission => {
  const found = neededPermissions.find((one) => inWords(one) === words);
  if (!found) throw new Error(`nothing needs ${words}`);
  return found;
};

const answerTo = async (access: TestbedAccess, command: readonly string[], timeout: string): Promise<unknown> => {
  const { stdout, stderr } = await runAtHand(access, [...command, '--timeout', timeout, '--json']);
  if (stdout === '') throw new Error(`cloudfence ${command.join(' ')} said nothing but: ${stderr}`);
  return JSON.parse(stdout);
};

/**
 * Without the permission to create events, people cannot be told why. Half a minute leaves time to repeat a detach that
 * the stand-in for EC2 answers too late on a busy computer.
 */
const LONG_ENOUGH = '30s';

const expectToFailWithout = async (words: string, { command, comesToItsEnd }: Ready): Promise<void> => {
  const { verb, resource } = permission(words);
  const answer = await answerTo(await accessWithout(testbed, permission(words)), await command(), LONG_ENOUGH);
  expect({ words, answer, cameToItsEnd: await comesToItsEnd(answer, 'now') }).toEqual({
    words,
    answer,
    cameToItsEnd: false,
  });
  if (words !== 'create events')
    expect(JSON.stringify(answer)).toMatch(new RegExp(`cannot ${verb} resource ..${resource}`));
};

it('every permission has a scenario, and every scenario a permission', () => {
  expect(scenarios.flatMap(({ needs }) => needs).toSorted()).toEqual(neededPermissions.map(inWords).toSorted());
});

/**
 * Each scenario takes its time for failing calls, so a few of them run at the same time. More would delay the calls.
 */
const inTurn = pLimit(3);
const WITH_ITS_TURN_MS = 480_000;

describe.concurrent.each(scenarios)('$title', ({ needs, open }) => {
  const lastAnswerTo = async (scene: Ready): Promise<unknown> => {
    for (const words of needs) await expectToFailWithout(words, scene);
    return answerTo(testbed.access, await scene.command(), '3m');
  };
  const play = async () => {
    const scene = await open(testbed);
    const answer = await lastAnswerTo(scene);
    return { answer, cameToItsEnd: await scene.comesToItsEnd(answer, 'soon') };
  };
  it(
    `does not finish without: ${needs.join(', ')}; finishes with all permissions`,
    async () => expect(await inTurn(play)).toEqual({ answer: expect.anything(), cameToItsEnd: true }),
    WITH_ITS_TURN_MS,
  );
});
