import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Bench } from '../bench/bench.ts';
import { openBench } from '../bench/bench.ts';
import { turn } from '../bench/knobs.ts';
import { node as nodeSchema } from '../bench/objects.ts';
import { until } from '../bench/until.ts';
import type { CliAnswer } from '../doors/doors.ts';
import { cloudfence } from '../doors/doors.ts';
import type { Intervention } from '../scenes/by-hand.ts';
import { removeFence, removeTaint, renewLease } from '../scenes/by-hand.ts';
import type { Stage } from '../scenes/stage.ts';
import { openStage } from '../scenes/stage.ts';
import { FENCED, worldOf } from '../scenes/world.ts';

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';
const CLAIM = 'data-db-0';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench?.close());

const going = z.object({ phase: z.string() });

/** A fence that has come as far as a driver lets it that fails after eight seconds, and what it says when that has happened meanwhile. */
const interrupted = async (stage: Stage, meanwhile: Intervention): Promise<CliAnswer> => {
  const { scene, home, disk } = stage;
  await turn(bench.access, disk, { delayMs: 8_000, failDetach: 'the driver is out of order' });
  await home.stop();
  const answering = cloudfence(bench.access, 'fence', home.instance, '--timeout', '25s');
  await until('the volume is being detached', async () => {
    const { metadata } = nodeSchema.parse(await bench.admin.get(`/api/v1/nodes/${home.name}`));
    const { phase } = going.parse(JSON.parse(metadata.annotations['cloudfence.dev/fence'] ?? '{"phase":""}'));
    return phase === 'fencing' && (await worldOf(scene)).volumes[CLAIM]?.kubernetes.includes(`${home.name} (going)`);
  });
  await meanwhile(stage);
  return answering;
};

const interruptions: readonly { readonly what: string; readonly happens: Intervention; readonly reason: string; readonly stands: readonly string[] }[] = [
  { what: 'its kubelet renews its Lease', happens: renewLease, reason: 'lease-renewed-after-off', stands: FENCED },
  { what: 'somebody takes the taint away', happens: removeTaint, reason: 'taint-removed-by-hand', stands: FENCED.filter((mark) => !mark.endsWith(OUT_OF_SERVICE)) },
  { what: 'somebody takes the whole fence away', happens: removeFence, reason: 'fence-removed-by-hand', stands: [] },
];

describe.concurrent('a fence goes no further when meanwhile', () => {
  it.for(interruptions)('$what', async ({ happens, reason, stands }) => {
    const stage = await openStage(bench, 'interrupted');
    const { scene, home, refuge, disk } = stage;
    const { code, says } = await interrupted(stage, happens);
    expect({ code, reason: says.reason.split(':')[0] }).toEqual({ code: 4, reason });
    expect(says.steps.map(({ step }) => step)).not.toContain('detach-disk');
    expect(await bench.ec2.holderOf(disk)).toBe(home.instance);
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: stands, [refuge.name]: [] });
    await turn(bench.access, disk, {});
  });

  it('its machine has booted anew; and is not released while a volume of the time before is still attached', async () => {
    const stage = await openStage(bench, 'too-early');
    const { scene, home, refuge, disk } = stage;
    const { code, says } = await interrupted(stage, () => home.start());
    expect({ code, outcome: says.outcome, reason: says.reason }).toEqual({ code: 3, outcome: 'waiting', reason: expect.stringMatching(/^return-unproven: .* is still attached/) });
    expect(says.steps.map(({ step }) => step)).not.toContain('detach-disk');
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: FENCED, [refuge.name]: [] });
    await turn(bench.access, disk, {});
    await scene.runs('db-0', refuge);
    expect(await bench.ec2.holderOf(disk)).toBe(refuge.instance);
  });
});
