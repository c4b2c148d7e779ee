import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { turn } from '../../testbed/knobs.ts';
import { listOf, volumeAttachment } from '../../testbed/objects.ts';
import { until } from '../../testbed/until.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { powerOffWithEvent } from '../scenes/power-off.ts';
import type { Stage } from '../scenes/stage.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';

/** On its own control plane, whose CSI controller dies. */
let testbed: OwnTestbed;
beforeAll(async () => {
  testbed = await openOwnTestbed();
});
const startController = (): Promise<void> => testbed.driver.start().then(testbed.attacher.start);
afterEach(startController);
afterAll(() => testbed?.close());

const isGoing = async ({ home }: Stage): Promise<boolean> => {
  const { items } = listOf(volumeAttachment).parse(
    await testbed.admin.get('/apis/storage.k8s.io/v1/volumeattachments'),
  );
  return items.some(({ metadata, spec }) => spec.nodeName === home.name && metadata.deletionTimestamp != null);
};

describe('a CSI controller that is killed in the middle of a detach', () => {
  it('finishes the detach when it is back', async () => {
    const stage = await openStage(testbed, 'restart');
    const { home, disk } = stage;
    await turn(testbed.access, disk, { delayMs: 5_000 });
    await home.stop();
    const answering = cloudfence(testbed.access, 'fence', home.instance);
    await until('the old attachment is going', () => isGoing(stage));
    await Promise.all([testbed.driver.stop(), testbed.attacher.stop()]);
    await startController();
    expect(await answering).toMatchObject({ code: 0, says: { outcome: 'fenced' } });
    await expectMoved(stage, { fenced: [home] });
  });
});

/** The EBS driver fails like this if EC2 no longer knows one instance of a batch. */
describe('a driver that reports a detach that did not happen', () => {
  it('does not keep the disk on a stopped machine: the CLI detaches it and nudges the new attachment', async () => {
    const stage = await openStage(testbed, 'lost');
    const { home, disk } = stage;
    await turn(testbed.access, disk, { loseDetach: true });
    await home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    const steps = says.steps.map(({ step }) => step);
    expect(steps).toContain('detach-disk');
    expect(steps.slice(0, steps.indexOf('detach-disk'))).not.toContain('nudge');
    await expectMoved(stage, { fenced: [home] });
  });

  it('does not keep it from the AWS handler either', async () => {
    const stage = await openStage(testbed, 'lost');
    await turn(testbed.access, stage.disk, { loseDetach: true });
    await powerOffWithEvent(stage.scene, stage.home);
    await expectMoved(stage, { fenced: [stage.home] });
    expect(await testbed.ec2.holderOf(stage.disk)).toBe(stage.refuge.instance);
  });
});
