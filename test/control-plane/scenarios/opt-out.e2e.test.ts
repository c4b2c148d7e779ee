import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { powerOff } from '../scenes/power-off.ts';
import { openScene } from '../scenes/scene.ts';
import { podsOn, worldOf, worldWith } from '../scenes/world.ts';
import { lonePod, on, statefulSet } from '../scenes/workload.ts';

const OPT_OUT = 'cloudfence.dev/opt-out';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

/** A database on a node that also has someone else's pod. */
const openStage = async (title: string) => {
  const scene = await openScene(testbed, title);
  const home = await scene.addNode();
  await scene.addClaim('data-db-0');
  await scene.create(statefulSet('db'));
  await scene.runs('db-0', home);
  await scene.create(lonePod('neighbour', { spec: on(home.name) }));
  await scene.runs('neighbour', home);
  const refuge = await scene.addRefuge();
  const annotate = (path: string, reason: string | null) =>
    testbed.admin.write('PATCH', path, { metadata: { annotations: { [OPT_OUT]: reason } } });
  return { scene, home, refuge, annotate };
};

type Stage = Awaited<ReturnType<typeof openStage>>;

const podPath = ({ scene }: Stage) => `/api/v1/namespaces/${scene.namespace}/pods/neighbour`;
const nodePath = (name: string) => `/api/v1/nodes/${name}`;

describe.concurrent('an opt-out', () => {
  it.for([
    {
      where: 'on the Node',
      path: ({ home }: Stage) => nodePath(home.name),
      noted: [`annotation ${OPT_OUT}`],
      named: ({ home }: Stage) =>
        `Node ${home.name} is opted out by its annotation ${OPT_OUT}: handled by the storage team. To remove the opt-out: \`kubectl annotate node ${home.name} ${OPT_OUT}-\``,
    },
    {
      where: 'on one of its Pods',
      path: podPath,
      noted: [],
      named: ({ scene }: Stage) =>
        `Pod ${scene.namespace}/neighbour is opted out by its annotation ${OPT_OUT}: handled by the storage team. To remove the opt-out: \`kubectl annotate -n ${scene.namespace} pod neighbour ${OPT_OUT}-\``,
    },
  ])('$where keeps the whole Node as it is, by name, until it is removed', async ({ path, named, noted }) => {
    const stage = await openStage('opt-out');
    const { scene, home, refuge, annotate } = stage;
    await annotate(path(stage), 'handled by the storage team');
    const before = podsOn(scene, scene.nodes);
    const { code, says, harmed } = await powerOff(scene, home);
    expect({ code, outcome: says.outcome, reason: says.reason, steps: says.steps }).toEqual({
      code: 4,
      outcome: 'refused',
      reason: `opted-out: ${named(stage)}`,
      steps: [],
    });
    expect(podsOn(scene, scene.nodes)).toEqual(before);
    const untouched = worldWith(scene, { 'data-db-0': home }, []);
    expect(await worldOf(scene)).toEqual({ ...untouched, ours: { ...untouched.ours, [home.name]: noted } });
    await annotate(path(stage), null);
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    await scene.runs('db-0', refuge);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
    expect(harmed()).toEqual([]);
  });

  it('on one of its Pods counts even when its Node is gone', async () => {
    const { scene, home, annotate } = await openStage('opt-out-gone');
    await annotate(`/api/v1/namespaces/${scene.namespace}/pods/db-0`, 'handled by the storage team');
    const before = podsOn(scene, scene.nodes);
    await home.stop();
    await testbed.admin.write('DELETE', nodePath(home.name));
    const { says } = await cloudfence(testbed.access, 'fence', home.instance);
    expect(says).toMatchObject({ outcome: 'refused', reason: expect.stringMatching(/^opted-out: Pod /), steps: [] });
    expect(podsOn(scene, scene.nodes)).toEqual(before);
    expect((await worldOf(scene)).volumes).toEqual(worldWith(scene, { 'data-db-0': home }, []).volumes);
  });
});
