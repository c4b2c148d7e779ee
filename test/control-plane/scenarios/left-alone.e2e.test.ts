import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { powerOff } from '../scenes/power-off.ts';
import { openScene } from '../scenes/scene.ts';
import { addMirrorPod } from '../scenes/static-pod.ts';
import { podsOn, worldOf, worldWith } from '../scenes/world.ts';
import {
  daemonSet,
  ephemeral,
  lonePod,
  on,
  onlyOn,
  OUT_OF_SERVICE,
  statefulSet,
  tolerating,
} from '../scenes/workload.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A database whose node is about to die, before anything else runs there. */
const openStage = async (title: string) => {
  const scene = await openScene(testbed, title);
  const home = await scene.addNode();
  await scene.addClaim('data-db-0');
  await scene.create(statefulSet('db'));
  await scene.runs('db-0', home);
  return { scene, home };
};

describe.concurrent('next to a database that moves', () => {
  it('a pod that tolerates the taint keeps its volume on the dead node', async () => {
    const { scene, home } = await openStage('tolerates');
    await scene.addClaim('kept');
    await scene.create(lonePod('patient', { claims: ['kept'], spec: tolerating(OUT_OF_SERVICE) }));
    await scene.runs('patient', home);
    const refuge = await scene.addRefuge();
    const { says, left, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect(says.outcome).toBe('fenced');
    expect(left).toContainEqual({
      what: `pod/${scene.namespace}/patient`,
      why: 'it tolerates the out-of-service taint',
    });
    expect(left).toContainEqual({
      what: expect.stringMatching(/^volumeattachment\/csi-/),
      why: `pod ${scene.namespace}/patient still uses ebs.csi.aws.com^${scene.disks.get('kept')}`,
    });
    expect(podsOn(scene, [home])).toEqual([expect.stringMatching(/^patient of uid \S+ on \S+$/)]);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, kept: home }, [home]));
  });

  it('a static pod, a DaemonSet’s pod without a volume, and a finished pod keep their objects', async () => {
    const { scene, home } = await openStage('paper');
    await addMirrorPod(scene, 'static', home);
    await scene.create(daemonSet('agent'));
    await scene.create(lonePod('over', { spec: on(home.name) }));
    await Promise.all(['static', 'agent', 'over'].map((name) => scene.runs(name, home)));
    await testbed.admin.write('PATCH', `/api/v1/namespaces/${scene.namespace}/pods/over/status`, {
      status: { phase: 'Succeeded' },
    });
    const refuge = await scene.addRefuge();
    await scene.runs('agent', refuge);
    const before = podsOn(scene, [home]).filter((pod) => !pod.startsWith('db-0'));
    const { says, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect(says.outcome).toBe('fenced');
    expect(before).toHaveLength(3);
    expect(podsOn(scene, [home])).toEqual(before);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });

  it('a DaemonSet’s pod with a volume is deleted, its volume is freed, and no pod replaces it', async () => {
    const { scene, home } = await openStage('daemon');
    await scene.addVolume('scratch', { storageClassName: scene.namespace });
    await scene.create(daemonSet('cache', { spec: () => ({ ...onlyOn(home.name), ...ephemeral(scene.namespace) }) }));
    await scene.runs('cache', home);
    const refuge = await scene.addRefuge();
    const { says, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect(says.outcome).toBe('fenced');
    expect(podsOn(scene, [home])).toEqual([]);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, scratch: null }, [home]));
  });
});
