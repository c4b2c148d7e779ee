import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { Change } from './changes.ts';
import { changesMade, expectRecovered, openCrippled } from './crippled.ts';
import {
  answerIn,
  beginCloudfence,
  beginDelivery,
  cloudfence,
  deliver,
  stateChanges,
  type StartedProgram,
  type CliAnswer,
} from '../entry-points/programs.ts';
import { openGates } from './gates.ts';
import { CHANGES } from './moments.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';
import type { When } from './strike.ts';
import { strikeAt, strikeAtEach } from './strike.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const moments: readonly When[] = ['before', 'after'];
const changes: readonly Change[] = ['mark', 'delete-pod', 'detach-disk'];

/** The old attachment needs no nudge if the attacher itself tries again first. The new one always needs one. */
const nudgedOnce = (made: readonly Change[]): readonly Change[] =>
  made.filter((change, at) => change !== 'nudge' || made[at - 1] !== 'nudge');

describe.concurrent('a fence whose process is killed and started again', () => {
  it('makes these changes if nothing goes wrong', async () => {
    const crippled = await openCrippled(testbed, 'undisturbed');
    const { says } = await cloudfence(crippled.gates.access, 'fence', crippled.home.instance);
    expect(says.outcome).toBe('fenced');
    await expectRecovered(crippled);
    expect(nudgedOnce(changesMade(crippled.gates))).toEqual(nudgedOnce(CHANGES));
    await crippled.close();
  });

  it('again and again, before and after each of its changes, ends as if nothing had happened', async () => {
    const crippled = await openCrippled(testbed, 'killed');
    const { gates, home } = crippled;
    let running: StartedProgram | null = null;
    let deaths = 0;
    gates.handle(
      strikeAtEach(() => {
        deaths += 1;
        running?.kill('SIGKILL');
      }),
    );
    const surviving = async (): Promise<CliAnswer> => {
      running = beginCloudfence(gates.access, 'fence', home.instance);
      const ran = await running.ended;
      return ran.stdout === '' ? surviving() : answerIn(ran);
    };
    expect((await surviving()).says.outcome).toBe('fenced');
    await expectRecovered(crippled);
    expect(deaths).toBeGreaterThanOrEqual(2 * new Set(CHANGES).size);
    await crippled.close();
  });

  it.for(changes)(
    'after its %s, in the function, ends as if nothing had happened when its message comes again',
    async (change) => {
      const crippled = await openCrippled(testbed, 'killed-function');
      const { gates, home } = crippled;
      const message = stateChanges(home.instance, ['stopped'], gates.access.ec2);
      const first = await beginDelivery(gates.access, message);
      gates.handle(strikeAt({ change, nth: 1 }, 'after', () => first.kill('SIGKILL')));
      expect((await first.ended).stdout).not.toContain('batchItemFailures');
      expect(await deliver(gates.access, message)).toEqual({ batchItemFailures: [] });
      await expectRecovered(crippled);
      await crippled.close();
    },
  );

  it.for(moments)('%s it deletes the Node of a terminated instance, ends as if nothing had happened', async (when) => {
    const [stage, gates] = await Promise.all([openStage(testbed, 'killed-terminated'), openGates(testbed.access)]);
    await stage.home.terminate();
    const first = beginCloudfence(gates.access, 'fence', stage.home.instance);
    gates.handle(strikeAt({ change: 'delete-node', nth: 1 }, when, () => first.kill('SIGKILL')));
    expect(await first.ended).toMatchObject({ stdout: '' });
    expect((await cloudfence(gates.access, 'fence', stage.home.instance)).code).toBe(0);
    await expectMoved(stage, { gone: [stage.home] });
    await gates.close();
  });

  it.for(moments)('%s it deletes an attachment whose Node is gone, ends as if nothing had happened', async (when) => {
    const [stage, gates] = await Promise.all([openStage(testbed, 'killed-nodeless'), openGates(testbed.access)]);
    await stage.home.stop();
    await testbed.admin.write('DELETE', `/api/v1/nodes/${stage.home.name}`);
    const first = beginCloudfence(gates.access, 'fence', stage.home.instance);
    gates.handle(strikeAt({ change: 'delete-attachment', nth: 1 }, when, () => first.kill('SIGKILL')));
    expect(await first.ended).toMatchObject({ stdout: '' });
    expect((await cloudfence(gates.access, 'fence', stage.home.instance)).code).toBe(0);
    await expectMoved(stage, { gone: [stage.home] });
    await gates.close();
  });
});
