import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence, deliver } from '../entry-points/programs.ts';
import { spotWarning, stateChanges } from '../entry-points/events.ts';
import { turn } from '../../testbed/knobs.ts';
import { node } from '../../testbed/objects.ts';
import { expectMoved, expectUntouched, openStage } from '../scenes/stage.ts';
import { until } from '../../testbed/until.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const record = z.looseObject({ fence: z.string(), phase: z.string(), generation: z.string() });

const nothingToRedeliver = { batchItemFailures: [] };

describe.concurrent('an instance that stops in an unusual way', () => {
  it('a Spot instance is not touched at its warning, and is fenced once it is terminated', async () => {
    const stage = await openStage(testbed, 'spot');
    const { home } = stage;
    expect(await deliver(testbed.access, spotWarning(home.instance, 'terminate', testbed.access.ec2))).toEqual(
      nothingToRedeliver,
    );
    await expectUntouched(stage);
    await home.terminate();
    expect(
      await deliver(testbed.access, stateChanges(home.instance, ['shutting-down', 'terminated'], testbed.access.ec2)),
    ).toEqual(nothingToRedeliver);
    await expectMoved(stage, { gone: [home] });
  });

  it('a hibernated instance is refused, and nothing has changed when it resumes', async () => {
    const stage = await openStage(testbed, 'hibernated');
    const { home } = stage;
    const { bootID } = node.parse(await testbed.admin.get(`/api/v1/nodes/${home.name}`)).status.nodeInfo;
    await home.hibernate();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance);
    expect({ code, outcome: says.outcome, steps: says.steps }).toEqual({ code: 4, outcome: 'refused', steps: [] });
    expect(says.reason).toMatch(/^suspended: .*Client\.UserInitiatedHibernate/);
    await expectUntouched(stage);
    await home.start(bootID);
    expect(await deliver(testbed.access, stateChanges(home.instance, ['stopped'], testbed.access.ec2))).toEqual(
      nothingToRedeliver,
    );
    await expectUntouched(stage);
  });

  it('an instance that was started again before the first look is not touched, whatever the events say', async () => {
    const stage = await openStage(testbed, 'flap');
    await stage.home.stop();
    await stage.home.start();
    await stage.scene.runs('db-0', stage.home);
    expect(
      await deliver(testbed.access, stateChanges(stage.home.instance, ['stopping', 'stopped'], testbed.access.ec2)),
    ).toEqual(nothingToRedeliver);
    await expectUntouched(stage);
  });

  it('an instance that is started during a fence keeps its disk, and is fenced again after that boot', async () => {
    const stage = await openStage(testbed, 'mid-fence');
    const { home, disk } = stage;
    await turn(testbed.access, disk, { delayMs: 8_000, failDetach: 'the driver is out of order' });
    await home.stop();
    const first = cloudfence(testbed.access, 'fence', home.instance, '--timeout', '30s');
    const fence = async () =>
      record.parse(
        JSON.parse(
          node.parse(await testbed.admin.get(`/api/v1/nodes/${home.name}`)).metadata.annotations[
            'cloudfence.dev/fence'
          ] ?? 'null',
        ),
      );
    const { fence: former, generation } = await until('the fence is under way', async () =>
      (await fence()).phase === 'fencing' ? fence() : null,
    );
    await home.power();
    const { code, says: halted } = await first;
    expect({ code, reason: halted.reason }).toEqual({ code: 3, reason: expect.stringMatching(/^return-unproven/) });
    expect(halted.steps.map(({ step }) => step)).not.toContain('detach-disk');
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    await home.stop();
    const second = cloudfence(testbed.access, 'fence', home.instance);
    await until('the disk is free', async () => (await testbed.ec2.holderOf(disk)) !== home.instance);
    await turn(testbed.access, disk, {});
    const { says } = await second;
    expect(says.outcome).toBe('fenced');
    expect(says.steps.map(({ step }) => step)).toEqual(expect.arrayContaining(['mark', 'detach-disk']));
    const anew = await fence();
    expect(anew.phase).toBe('fenced');
    expect(anew.fence).not.toBe(former);
    expect(anew.generation).not.toBe(generation);
    await expectMoved(stage, { fenced: [home] });
  });
});
