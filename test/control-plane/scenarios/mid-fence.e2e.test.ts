import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { turn } from '../../testbed/knobs.ts';
import { node as nodeSchema } from '../../testbed/objects.ts';
import { until } from '../../testbed/until.ts';
import type { StartedProgram } from '../entry-points/programs.ts';
import { answerIn, beginCloudfence, cloudfence } from '../entry-points/programs.ts';
import type { Intervention } from '../scenes/by-hand.ts';
import { changeRecord, removeFence, removeRecord, removeTaint, renewLease } from '../scenes/by-hand.ts';
import type { Stage } from '../scenes/stage.ts';
import { openStage } from '../scenes/stage.ts';
import { MARKED, PARKED, worldOf } from '../scenes/world.ts';

const CLAIM = 'data-db-0';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const going = z.object({ phase: z.string() });

/**
 * A fence that has come as far as its driver allows, which fails after eight seconds. Resolves while the fence
 * continues.
 */
const underWay = async ({ scene, home, disk }: Stage): Promise<StartedProgram> => {
  await turn(testbed.access, disk, { delayMs: 8_000, failDetach: 'the driver is out of order' });
  await home.stop();
  const begun = beginCloudfence(testbed.access, 'fence', home.instance, '--timeout', '90s');
  await until('the volume is being detached', async () => {
    const { metadata } = nodeSchema.parse(await testbed.admin.get(`/api/v1/nodes/${home.name}`));
    const { phase } = going.parse(JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? '{"phase":""}'));
    return phase === 'fencing' && (await worldOf(scene)).volumes[CLAIM]?.kubernetes.includes(`${home.name} (going)`);
  });
  return begun;
};

const interruptions: readonly {
  readonly what: string;
  readonly happens: Intervention;
  readonly reason: string;
  readonly stands: readonly string[];
}[] = [
  { what: 'its kubelet renews its Lease', happens: renewLease, reason: 'lease-renewed-after-off', stands: MARKED },
  { what: 'someone removes the taint', happens: removeTaint, reason: 'taint-removed-by-hand', stands: PARKED },
  {
    what: 'someone removes the whole fence',
    happens: removeFence,
    reason: 'fence-removed-by-hand',
    stands: ['label cloudfence.node-restriction.kubernetes.io/fenced'],
  },
];

describe.concurrent('a fence stops if meanwhile', () => {
  it.for(interruptions)('$what', async ({ happens, reason, stands }) => {
    const stage = await openStage(testbed, 'interrupted');
    const { scene, home, refuge, disk } = stage;
    const begun = await underWay(stage);
    await happens(stage);
    const { code, says } = answerIn(await begun.ended);
    expect({ code, reason: says.reason.split(':')[0] }).toEqual({ code: 4, reason });
    expect(says.steps.map(({ step }) => step)).not.toContain('detach-disk');
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: stands, [refuge.name]: [] });
    await turn(testbed.access, disk, {});
  });
});

const byKubelet: readonly { readonly what: string; readonly happens: Intervention }[] = [
  { what: 'removes', happens: removeRecord },
  { what: 'changes', happens: changeRecord },
];

describe.concurrent('a fence continues with a new record to its end if its kubelet', () => {
  it.for(byKubelet)('$what the record', async ({ happens }) => {
    const stage = await openStage(testbed, 'recordless');
    const { scene, home, refuge, disk } = stage;
    const begun = await underWay(stage);
    await happens(stage);
    await turn(testbed.access, disk, {});
    const { code, says } = answerIn(await begun.ended);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    await scene.runs('db-0', refuge);
    expect(await testbed.ec2.holderOf(disk)).toBe(refuge.instance);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: PARKED, [refuge.name]: [] });
    const { metadata } = nodeSchema.parse(await testbed.admin.get(`/api/v1/nodes/${home.name}`));
    expect(JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? '{}')).toMatchObject({ phase: 'fenced' });
  });
});

describe.concurrent('a machine that has rebooted in the middle of a fence', () => {
  it('is not released while a volume from before the fence is still attached', async () => {
    const stage = await openStage(testbed, 'too-early');
    const { scene, home, refuge, disk } = stage;
    const begun = await underWay(stage);
    begun.kill('SIGKILL');
    await home.start();
    const { says } = await cloudfence(testbed.access, 'release', home.name, '--timeout', '20s');
    expect(says).toMatchObject({
      outcome: 'waiting',
      reason: expect.stringMatching(/^return-unproven: .* is still attached$/),
      steps: [{ step: 'lift-out-of-service' }],
    });
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: PARKED, [refuge.name]: [] });
    await turn(testbed.access, disk, {});
    await scene.runs('db-0', refuge);
    expect(await testbed.ec2.holderOf(disk)).toBe(refuge.instance);
  });
});
