import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { cloudfence, runAtHand, type ProgramResult } from '../entry-points/programs.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';
import { under } from '../../testbed/installation.ts';
import { expectMoved, expectUntouched, openStage } from '../scenes/stage.ts';

/** On its own control plane: one Node may be fenced within 15 minutes, and all fences of a cluster count. */
let testbed: OwnTestbed;
let access: TestbedAccess;
beforeAll(async () => {
  testbed = await openOwnTestbed();
  access = await under(testbed.access, { cap: { share: 0, atOnce: 1 } });
});
afterAll(() => testbed?.close());

const capAs = (who: 'admin' | 'cloudfence', ...flags: string[]): Promise<ProgramResult> =>
  runAtHand({ ...access, kubeconfigs: { ...access.kubeconfigs, cloudfence: access.kubeconfigs[who] } }, [
    'cap',
    ...flags,
  ]);

it('a second machine is refused after the fence of the first, until a person overrides the cap', async () => {
  const [first, second] = [await openStage(testbed, 'first'), await openStage(testbed, 'second')];
  await first.home.stop();
  expect((await cloudfence(access, 'fence', first.home.instance)).says.outcome).toBe('fenced');
  await second.home.stop();
  const { code, says } = await cloudfence(access, 'fence', second.home.instance);
  expect({ code, reason: says.reason }).toEqual({
    code: 4,
    reason: expect.stringMatching(
      /^cap-reached: Nodes fenced within 15 minutes: 1 of at most 1 \(0 % of \d+\); this fence can begin at /,
    ),
  });
  await expectUntouched(second);

  const override = ['--override', '5m', '--reason', 'both are off'];
  expect(await capAs('cloudfence', ...override)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cannot patch resource .*configmaps/),
  });
  expect(await capAs('admin', ...override)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /fenced within 15 minutes: 1 of at most 1 .*\n {2}overridden until .*: both are off\n {2}begun .*, finished/,
    ),
  });
  expect((await cloudfence(access, 'fence', second.home.instance)).says.outcome).toBe('fenced');
  await expectMoved(second, { fenced: [second.home] });
  expect(await capAs('admin', '--end')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('overridden') });
});
