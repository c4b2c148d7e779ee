import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OwnTestbed } from '../../testbed/testbed.ts';
import { openOwnTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';
import { deployment } from '../scenes/workload.ts';

/** On its own control plane, whose attacher stops and starts, and which never forces a detach. */
let testbed: OwnTestbed;
beforeAll(async () => {
  testbed = await openOwnTestbed(['--disable-force-detach-on-timeout=true']);
});
afterEach(() => testbed.attacher.start());
afterAll(() => testbed?.close());

describe('a controller manager that must not force a detach', () => {
  it('releases a fenced machine’s volume like any other', async () => {
    const stage = await openStage(testbed, 'unforced');
    await stage.home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', stage.home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    expect(says.steps.map(({ step }) => step)).not.toContain('detach-disk');
    await expectMoved(stage, { fenced: [stage.home] });
  });
});

describe('a CSI attacher that is down', () => {
  it('does not keep the disk, and cleans up when it is back', async () => {
    const stage = await openStage(testbed, 'attacher-down');
    const { home, disk } = stage;
    await testbed.attacher.stop();
    await home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance, '--timeout', '25s');
    expect({ code, outcome: says.outcome }).toEqual({ code: 3, outcome: 'waiting' });
    expect(says.reason).toMatch(/^attachments-going/);
    expect(says.steps.map(({ step }) => step)).toContain('detach-disk');
    expect(await testbed.ec2.holderOf(disk)).toBeNull();
    await testbed.attacher.start();
    expect((await cloudfence(testbed.access, 'fence', home.instance)).says.outcome).toBe('fenced');
    await expectMoved(stage, { fenced: [home] });
  });

  it('is replaced first if its own pod was on the dead machine', async () => {
    const stage = await openStage(testbed, 'attacher-on-it');
    const { scene, home, refuge } = stage;
    const cordon = (on: boolean | null) =>
      testbed.admin.write('PATCH', `/api/v1/nodes/${refuge.name}`, { spec: { unschedulable: on } });
    await cordon(true);
    await scene.create(
      deployment('ebs-csi-controller', 'RollingUpdate', {
        spec: () => ({ priorityClassName: 'system-cluster-critical' }),
      }),
    );
    await scene.runs('ebs-csi-controller', home);
    await cordon(null);
    await Promise.all([home.stop(), testbed.attacher.stop()]);
    const answering = cloudfence(testbed.access, 'fence', home.instance);
    await scene.runs('ebs-csi-controller', refuge);
    await testbed.attacher.start();
    const { says } = await answering;
    expect(says.outcome).toBe('fenced');
    expect(
      says.steps.filter(({ step }) => step === 'delete-pod').map(({ target }) => target.replace(/^pod\/[^/]+\//, '')),
    ).toEqual([expect.stringMatching(/^ebs-csi-controller-/), 'db-0']);
    await expectMoved(stage, { fenced: [home] });
  });
});
