import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OwnBench } from '../../testbed/bench.ts';
import { openOwnBench } from '../../testbed/bench.ts';
import { turn } from '../../testbed/knobs.ts';
import { listOf, volumeAttachment } from '../../testbed/objects.ts';
import { until } from '../../testbed/until.ts';
import { cloudfence } from '../doors/doors.ts';
import { powerOffWithEvent } from '../scenes/power-off.ts';
import type { Stage } from '../scenes/stage.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';

/** On a control plane of its own, whose CSI controller dies. */
let bench: OwnBench;
beforeAll(async () => {
  bench = await openOwnBench();
});
const startController = (): Promise<void> => bench.driver.start().then(bench.attacher.start);
afterEach(startController);
afterAll(() => bench?.close());

const isGoing = async ({ home }: Stage): Promise<boolean> => {
  const { items } = listOf(volumeAttachment).parse(await bench.admin.get('/apis/storage.k8s.io/v1/volumeattachments'));
  return items.some(({ metadata, spec }) => spec.nodeName === home.name && metadata.deletionTimestamp != null);
};

describe('a CSI controller that is killed in the middle of a detach', () => {
  it('finishes it when it is back', async () => {
    const stage = await openStage(bench, 'restart');
    const { home, disk } = stage;
    await turn(bench.access, disk, { delayMs: 5_000 });
    await home.stop();
    const answering = cloudfence(bench.access, 'fence', home.instance);
    await until('the old attachment is going', () => isGoing(stage));
    await Promise.all([bench.driver.stop(), bench.attacher.stop()]);
    await startController();
    expect(await answering).toMatchObject({ code: 0, says: { outcome: 'fenced' } });
    await expectMoved(stage, { fenced: [home] });
  });
});

/** As the EBS driver does when an instance that it looks at in the same batch is not known to EC2 any more. */
describe('a driver that says it has detached a volume, and has not', () => {
  it('does not keep the disk on a stopped machine: the CLI detaches it, and then nudges the new attachment', async () => {
    const stage = await openStage(bench, 'lost');
    const { home, disk } = stage;
    await turn(bench.access, disk, { loseDetach: true });
    await home.stop();
    const { code, says } = await cloudfence(bench.access, 'fence', home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    const steps = says.steps.map(({ step }) => step);
    expect(steps).toContain('detach-disk');
    expect(steps.slice(0, steps.indexOf('detach-disk'))).not.toContain('nudge');
    await expectMoved(stage, { fenced: [home] });
  });

  it('nor does the AWS handler let it', async () => {
    const stage = await openStage(bench, 'lost');
    await turn(bench.access, stage.disk, { loseDetach: true });
    await powerOffWithEvent(stage.scene, stage.home);
    await expectMoved(stage, { fenced: [stage.home] });
    expect(await bench.ec2.holderOf(stage.disk)).toBe(stage.refuge.instance);
  });
});
