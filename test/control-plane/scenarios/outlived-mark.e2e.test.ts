import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { diedAfterMark } from '../scenes/died-after-mark.ts';
import { expectUntouched } from '../scenes/stage.ts';
import { PARKED, worldOf } from '../scenes/world.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

describe.concurrent('a machine that came back under a mark that a killed run left', () => {
  it('loses our taint with the first look that sees it run, and the quarantine once its boot is proven', async () => {
    const stage = await diedAfterMark(testbed, 'outlived');
    const { scene, home, refuge, disk } = stage;
    await home.power();
    const { says } = await cloudfence(testbed.access, 'fence', home.instance, '--timeout', '15s');
    expect(says).toMatchObject({ outcome: 'waiting', steps: [{ step: 'lift-out-of-service', result: 'done' }] });
    expect((await worldOf(scene)).ours).toEqual({ [home.name]: PARKED, [refuge.name]: [] });
    await home.kubelet.boot();
    expect(await testbed.ec2.holderOf(disk)).toBe(home.instance);
    expect(await cloudfence(testbed.access, 'release', home.name, '--timeout', '120s')).toMatchObject({
      code: 0,
      says: { outcome: 'released' },
    });
    await expectUntouched(stage);
  });
});
