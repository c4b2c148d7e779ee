import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { openPodHistory } from '../scenes/pod-history.ts';
import { powerOff, powerOffWithEvent } from '../scenes/power-off.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { worldOf, worldWith } from '../scenes/world.ts';
import { apart, noDisruption, statefulSet } from '../scenes/workload.ts';

/**
 * The taint-eviction controller repeats its delete for less than a second. Its queue is empty long before this time.
 */
const WATCHED_S = 30;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A database that runs on the only node. */
const openStage = async (title: string) => {
  const scene = await openScene(testbed, title);
  const home = await scene.addNode();
  await scene.addClaim('data-db-0');
  await scene.create(statefulSet('db'));
  return { scene, home, former: await scene.runs('db-0', home) };
};

const whereRuns = async ({ nodes, pods }: Scene, name: string) => {
  const pod = await until(`${name} runs`, async () => pods(name).find(({ status }) => status.phase === 'Running'));
  const node = nodes.find((one) => one.name === pod.spec.nodeName);
  if (!node) throw new Error(`${name} runs on ${pod.spec.nodeName}, which is none of the scene`);
  return { node, pod };
};

describe.concurrent('StatefulSets', () => {
  it.for(['one', 'another', 'a third'])(
    `are not evicted by name within ${WATCHED_S} s after they have moved (%s)`,
    async () => {
      const { scene, home, former } = await openStage('watched');
      const refuge = await scene.addRefuge();
      const history = openPodHistory(scene, 'db-0');
      const { says } = await powerOff(scene, home);
      const successor = await scene.runs('db-0', refuge);
      expect(says.outcome).toBe('fenced');
      expect(await history.forAnother(WATCHED_S)).toEqual([
        { uid: former.metadata.uid, deleted: true },
        { uid: successor.metadata.uid, deleted: false },
      ]);
    },
  );

  it('with three replicas lose only the one whose node died, and get it back on a spare node', async () => {
    const scene = await openScene(testbed, 'three');
    for (const which of [0, 1, 2]) {
      await scene.addNode();
      await scene.addClaim(`data-db-${which}`);
    }
    await scene.create(statefulSet('db', { spec: apart('db') }, 3));
    const [first, second, third] = await Promise.all([
      whereRuns(scene, 'db-0'),
      whereRuns(scene, 'db-1'),
      whereRuns(scene, 'db-2'),
    ]);
    const spare = await scene.addRefuge();
    const { says, harmed } = await powerOff(scene, second.node);
    const successor = await scene.runs('db-1', spare);
    expect(says.outcome).toBe('fenced');
    expect(successor.metadata.uid).not.toBe(second.pod.metadata.uid);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(
      worldWith(scene, { 'data-db-0': first.node, 'data-db-1': spare, 'data-db-2': third.node }, [second.node]),
    );
  });

  it('move both if both ran on the same node and the AWS handler gets the event', async () => {
    const scene = await openScene(testbed, 'two');
    const home = await scene.addNode();
    for (const name of ['red', 'blue']) {
      await scene.addClaim(`data-${name}-0`);
      await scene.create(statefulSet(name));
    }
    await Promise.all([scene.runs('red-0', home), scene.runs('blue-0', home)]);
    const refuge = await scene.addRefuge();
    const { harmed } = await powerOffWithEvent(scene, home);
    await Promise.all([scene.runs('red-0', refuge), scene.runs('blue-0', refuge)]);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-red-0': refuge, 'data-blue-0': refuge }, [home]));
  });

  it('move although a PodDisruptionBudget forbids the eviction of their pods', async () => {
    const scene = await openScene(testbed, 'budget');
    const home = await scene.addNode();
    await scene.addClaim('data-db-0');
    await scene.create(noDisruption('db'));
    await scene.create(statefulSet('db'));
    await scene.runs('db-0', home);
    const eviction = await testbed.admin.call('POST', `/api/v1/namespaces/${scene.namespace}/pods/db-0/eviction`, {
      metadata: { name: 'db-0' },
    });
    expect(eviction.status).toBe(429);
    const refuge = await scene.addRefuge();
    const { says, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect(says.outcome).toBe('fenced');
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });

  it('move although someone force-deleted their pod early and the next was bound to the dead node', async () => {
    const { scene, home, former } = await openStage('early');
    await home.stop();
    await testbed.admin.write('DELETE', `/api/v1/namespaces/${scene.namespace}/pods/db-0`, { gracePeriodSeconds: 0 });
    const back = await until('the next pod is on the dead node', async () =>
      scene
        .pods('db-0')
        .find(({ metadata, spec }) => metadata.uid !== former.metadata.uid && spec.nodeName === home.name),
    );
    const refuge = await scene.addRefuge();
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    const successor = await scene.runs('db-0', refuge);
    expect(new Set([former, back, successor].map(({ metadata }) => metadata.uid)).size).toBe(3);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });

  it('leave their volume free as long as there is no other node, and use it once there is one', async () => {
    const { scene, home } = await openStage('nowhere');
    const { says } = await powerOff(scene, home);
    expect(says.outcome).toBe('fenced');
    expect(scene.pods('db-0').map(({ spec, status }) => [spec.nodeName, status.phase])).toEqual([['', 'Pending']]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': null }, [home]));
    const refuge = await scene.addRefuge();
    await scene.runs('db-0', refuge);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });
});
