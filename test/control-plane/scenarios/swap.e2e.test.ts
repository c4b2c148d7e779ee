import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { until } from '../../testbed/until.ts';
import { cloudfence } from '../entry-points/programs.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { onlyOn, statefulSet } from '../scenes/workload.ts';
import { worldOf, worldWith } from '../scenes/world.ts';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A database that is kept on one node. */
const addDatabase = async (scene: Scene, name: string, home: TestbedNode): Promise<void> => {
  await scene.addClaim(`data-${name}-0`);
  await scene.create(statefulSet(name, { spec: () => onlyOn(home.name) }));
  await scene.runs(`${name}-0`, home);
};

const send = async ({ namespace }: Scene, name: string, to: TestbedNode): Promise<void> => {
  await testbed.admin.write('PATCH', `/apis/apps/v1/namespaces/${namespace}/statefulsets/${name}`, {
    spec: { template: { spec: onlyOn(to.name) } },
  });
  await testbed.admin.write('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}-0`);
};

const isReady = ({ name }: TestbedNode): boolean | undefined =>
  testbed.kubelets.nodes.get(name)?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');

describe('two machines that stop together', () => {
  it('exchange their volumes once they are back', async () => {
    const scene = await openScene(testbed, 'swap');
    const [one, other] = [await scene.addNode(), await scene.addNode()];
    await Promise.all([addDatabase(scene, 'a', one), addDatabase(scene, 'b', other)]);
    await Promise.all([one.stop(), other.stop()]);
    const fenced = await Promise.all([one, other].map(({ instance }) => cloudfence(testbed.access, 'fence', instance)));
    expect(fenced.map(({ says }) => says.outcome)).toEqual(['fenced', 'fenced']);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-a-0': null, 'data-b-0': null }, [one, other]));
    await Promise.all([send(scene, 'a', other), send(scene, 'b', one)]);
    await Promise.all([one.start(), other.start()]);
    await until('both are Ready', async () => isReady(one) && isReady(other), 90_000);
    const released = await Promise.all(
      [one, other].map(({ name }) => cloudfence(testbed.access, 'release', name, '--timeout', '100s')),
    );
    expect(released.map(({ says }) => says.outcome)).toEqual(['released', 'released']);
    await Promise.all([scene.runs('a-0', other), scene.runs('b-0', one)]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-a-0': other, 'data-b-0': one }, []));
  });
});
