import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { turn } from '../../testbed/knobs.ts';
import { powerOff } from '../scenes/power-off.ts';
import { openScene } from '../scenes/scene.ts';
import { podsOn, worldOf, worldWith } from '../scenes/world.ts';
import { apart, deployment } from '../scenes/workload.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** Two pods on two nodes, and one volume for both. */
const openStage = async () => {
  const scene = await openScene(testbed, 'shared');
  const [home, other] = [await scene.addNode(), await scene.addNode()];
  const disk = await scene.addClaim('shared', { accessMode: 'ReadWriteMany', volumeMode: 'Block' });
  await scene.create(deployment('web', 'RollingUpdate', { devices: ['shared'], spec: apart('web') }, 2));
  await Promise.all([scene.runs('web', home), scene.runs('web', other)]);
  expect(await worldOf(scene)).toEqual(worldWith(scene, { shared: [home, other] }, []));
  return { scene, home, other, disk };
};

describe.concurrent('a volume that several nodes share', () => {
  it('leaves the dead node and still serves the others', async () => {
    const { scene, home, other } = await openStage();
    const spare = await scene.addRefuge();
    const { says, left, harmed } = await powerOff(scene, home);
    await scene.runs('web', spare);
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { shared: [other, spare] }, [home]));
  });

  it('is never detached through the cloud, however long its driver fails', async () => {
    const { scene, home, other, disk } = await openStage();
    await turn(testbed.access, disk, { failDetach: 'the driver is out of order' });
    const living = podsOn(scene, [other]);
    await home.stop();
    const { code, says } = await cloudfence(testbed.access, 'fence', home.instance, '--timeout', '15s');
    expect({ code, outcome: says.outcome, reason: says.reason }).toEqual({
      code: 3,
      outcome: 'waiting',
      reason: expect.stringMatching(/^attachments-going: .*the driver is out of order/),
    });
    expect(says.left).toContainEqual({
      what: `disk/${disk}`,
      why: 'attached to several instances, or a Multi-Attach volume',
    });
    expect((await worldOf(scene)).volumes).toEqual({
      shared: { ec2: [home.name, other.name].sort(), kubernetes: [`${home.name} (going)`, other.name].sort() },
    });
    expect(podsOn(scene, [other])).toEqual(living);
    await turn(testbed.access, disk, {});
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    expect(await worldOf(scene)).toEqual(worldWith(scene, { shared: other }, [home]));
  });
});
