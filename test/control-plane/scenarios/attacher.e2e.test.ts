import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OwnBench } from '../../testbed/bench.ts';
import { openOwnBench } from '../../testbed/bench.ts';
import { cloudfence } from '../doors/doors.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';
import { deployment } from '../scenes/workload.ts';

/** On a control plane of its own, whose attacher comes and goes, and which never detaches by force by itself. */
let bench: OwnBench;
beforeAll(async () => {
  bench = await openOwnBench(['--disable-force-detach-on-timeout=true']);
});
afterEach(() => bench.attacher.start());
afterAll(() => bench?.close());

describe('a controller manager that is told never to force a detach', () => {
  it('lets go of a fenced machine’s volume as any other', async () => {
    const stage = await openStage(bench, 'unforced');
    await stage.home.stop();
    const { code, says } = await cloudfence(bench.access, 'fence', stage.home.instance);
    expect({ code, outcome: says.outcome }).toEqual({ code: 0, outcome: 'fenced' });
    expect(says.steps.map(({ step }) => step)).not.toContain('detach-disk');
    await expectMoved(stage, { fenced: [stage.home] });
  });
});

describe('a CSI attacher that is down', () => {
  it('does not keep the disk, and tidies up when it is back', async () => {
    const stage = await openStage(bench, 'attacher-down');
    const { home, disk } = stage;
    await bench.attacher.stop();
    await home.stop();
    const { code, says } = await cloudfence(bench.access, 'fence', home.instance, '--timeout', '25s');
    expect({ code, outcome: says.outcome }).toEqual({ code: 3, outcome: 'waiting' });
    expect(says.reason).toMatch(/^attachments-going/);
    expect(says.steps.map(({ step }) => step)).toContain('detach-disk');
    expect(await bench.ec2.holderOf(disk)).toBeNull();
    await bench.attacher.start();
    expect((await cloudfence(bench.access, 'fence', home.instance)).says.outcome).toBe('fenced');
    await expectMoved(stage, { fenced: [home] });
  });

  it('because its own pod was on the dead machine gets another one first', async () => {
    const stage = await openStage(bench, 'attacher-on-it');
    const { scene, home, refuge } = stage;
    const cordon = (on: boolean | null) =>
      bench.admin.write('PATCH', `/api/v1/nodes/${refuge.name}`, { spec: { unschedulable: on } });
    await cordon(true);
    await scene.create(
      deployment('ebs-csi-controller', 'RollingUpdate', {
        spec: () => ({ priorityClassName: 'system-cluster-critical' }),
      }),
    );
    await scene.runs('ebs-csi-controller', home);
    await cordon(null);
    await Promise.all([home.stop(), bench.attacher.stop()]);
    const answering = cloudfence(bench.access, 'fence', home.instance);
    await scene.runs('ebs-csi-controller', refuge);
    await bench.attacher.start();
    const { says } = await answering;
    expect(says.outcome).toBe('fenced');
    expect(
      says.steps.filter(({ step }) => step === 'delete-pod').map(({ target }) => target.replace(/^pod\/[^/]+\//, '')),
    ).toEqual([expect.stringMatching(/^ebs-csi-controller-/), 'db-0']);
    await expectMoved(stage, { fenced: [home] });
  });
});
