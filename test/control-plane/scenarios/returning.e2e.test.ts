import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { powerOff } from '../scenes/power-off.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { worldOf, worldWith } from '../scenes/world.ts';
import { daemonSet, lonePod, onlyOn, OUT_OF_SERVICE, statefulSet, tolerating } from '../scenes/workload.ts';

const FINALIZER = 'example.org/backup';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const uidsOf = ({ pods }: Scene, prefix: string): readonly string[] => pods(prefix).map(({ metadata }) => metadata.uid);

describe.concurrent('a node that comes back after a fence', () => {
  it('has its DaemonSet’s pod and volume again, and still has the pods that stayed', async () => {
    const scene = await openScene(testbed, 'back');
    const home = await scene.addNode();
    for (const claim of ['data-db-0', 'kept', 'cache']) await scene.addClaim(claim);
    await scene.create(statefulSet('db'));
    await scene.create(lonePod('patient', { claims: ['kept'], spec: tolerating(OUT_OF_SERVICE) }));
    await scene.create(daemonSet('cache', { claims: ['cache'], spec: () => onlyOn(home.name) }));
    await Promise.all(['db-0', 'patient', 'cache'].map((name) => scene.runs(name, home)));
    const [patient, cache] = [uidsOf(scene, 'patient'), uidsOf(scene, 'cache')];
    const refuge = await scene.addRefuge();
    const { harmed } = await powerOff(scene, home);
    const moved = await scene.runs('db-0', refuge);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, kept: home, cache: null }, [home]));
    await home.start();
    expect(await cloudfence(testbed.access, 'release', home.name, '--timeout', '90s')).toMatchObject({
      code: 0,
      says: { outcome: 'released' },
    });
    const again = await scene.runs('cache', home);
    expect(cache).not.toContain(again.metadata.uid);
    expect(uidsOf(scene, 'patient')).toEqual(patient);
    expect(uidsOf(scene, 'db-0')).toEqual([moved.metadata.uid]);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, kept: home, cache: home }, []));
  });

  it('is released while a finalizer still holds a pod from before the fence', async () => {
    const scene = await openScene(testbed, 'held');
    const home = await scene.addNode();
    await scene.addClaim('data');
    await scene.create(lonePod('lone', { claims: ['data'], metadata: { finalizers: [FINALIZER] } }));
    await scene.runs('lone', home);
    const { says } = await powerOff(scene, home);
    expect(says.outcome).toBe('fenced');
    const before = uidsOf(scene, 'lone');
    await home.start();
    expect(await cloudfence(testbed.access, 'release', home.name, '--timeout', '90s')).toMatchObject({
      code: 0,
      says: { outcome: 'released' },
    });
    expect(before).toHaveLength(1);
    expect(uidsOf(scene, 'lone')).toEqual(before);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { data: null }, []));
  });
});
