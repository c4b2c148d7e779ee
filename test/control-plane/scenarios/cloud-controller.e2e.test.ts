import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { CloudController } from '../scenes/cloud-controller.ts';
import { openCloudController, SHUTDOWN, UNINITIALIZED } from '../scenes/cloud-controller.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { addMachine } from '../../testbed/machines.ts';
import { node } from '../../testbed/objects.ts';
import type { Stage } from '../scenes/stage.ts';
import { expectMoved, openStage } from '../scenes/stage.ts';
import { until } from '../../testbed/until.ts';

let testbed: Testbed;
const controllers: CloudController[] = [];
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(async () => {
  await Promise.all(controllers.map((controller) => controller.close()));
  await testbed?.close();
});

/** A database on nodes that a cloud controller manages. */
const openTendedStage = async (title: string): Promise<Stage> => {
  const stage = await openStage(testbed, title);
  controllers.push(openCloudController(testbed, stage.scene.nodes));
  return stage;
};

const read = async (name: string) => node.parse(await testbed.admin.get(`/api/v1/nodes/${name}`));

const taintsOn = async (name: string) => (await read(name)).spec.taints.map(({ key }) => key);

const UNREACHABLE = 'node.kubernetes.io/unreachable';

/** Kubernetes treats a kubelet as silent after 50 s. */
const untilUnreachable = (name: string) =>
  until(`${name} is not Ready`, async () => (await taintsOn(name)).includes(UNREACHABLE), 90_000);

const endOfFence = async ({ home }: Stage): Promise<string> =>
  (await cloudfence(testbed.access, 'fence', home.instance)).says.outcome;

describe.concurrent('next to a cloud controller', () => {
  it('a fence stays while the Node gets and loses the shutdown taint, and is released as usual', async () => {
    const stage = await openTendedStage('shutdown');
    const { home } = stage;
    await home.stop();
    expect(await endOfFence(stage)).toBe('fenced');
    await until('the shutdown taint is there', async () => (await taintsOn(home.name)).includes(SHUTDOWN.key), 90_000);
    await expectMoved(stage, { fenced: [home] });
    await home.start();
    await until('the shutdown taint is gone', async () => !(await taintsOn(home.name)).includes(SHUTDOWN.key));
    expect((await cloudfence(testbed.access, 'release', home.name, '--timeout', '90s')).says.outcome).toBe('released');
    await expectMoved(stage, {});
    // The kubelet's status is enough for a release. The node lifecycle controller removes its own taint a little later.
    await until(
      'Kubernetes has taken its own taint off',
      async () => !(await taintsOn(home.name)).includes(UNREACHABLE),
    );
    expect(await taintsOn(home.name)).toEqual([]);
  });

  it('a machine is fenced although its Node has had the shutdown taint for a long time', async () => {
    const stage = await openTendedStage('shutdown-first');
    await stage.home.stop();
    await until(
      'the shutdown taint is there',
      async () => (await taintsOn(stage.home.name)).includes(SHUTDOWN.key),
      90_000,
    );
    expect(await endOfFence(stage)).toBe('fenced');
    await expectMoved(stage, { fenced: [stage.home] });
    expect(await taintsOn(stage.home.name)).toContain(SHUTDOWN.key);
  });

  it('the volumes of a terminated machine are freed after its Node was deleted', async () => {
    const stage = await openTendedStage('node-deleted');
    const { home } = stage;
    await home.terminate();
    await until(
      'its Node is deleted',
      async () => (await testbed.admin.call('GET', `/api/v1/nodes/${home.name}`)).status === 404,
      90_000,
    );
    expect(await endOfFence(stage)).toBe('fenced');
    await expectMoved(stage, { gone: [home] });
  });

  it('a Node that is not initialized yet is not fenced and keeps its taint', async () => {
    const zone = `uninitialized-${process.pid}`;
    const newcomer = await addMachine(testbed, zone, { taints: [UNINITIALIZED] });
    await newcomer.stop();
    await untilUnreachable(newcomer.name);
    expect((await cloudfence(testbed.access, 'fence', newcomer.instance)).says).toMatchObject({
      outcome: 'ignored',
      reason: expect.stringMatching(/^nothing-to-free/),
      steps: [],
    });
    expect(await taintsOn(newcomer.name)).toContain(UNINITIALIZED.key);
    controllers.push(openCloudController(testbed, [newcomer]));
    await newcomer.start();
    await until('it is initialized', async () => (await taintsOn(newcomer.name)).length === 0);
    expect(await taintsOn(newcomer.name)).toEqual([]);
  });
});
