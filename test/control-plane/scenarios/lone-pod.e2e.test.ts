import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import type { Outcome } from '../entry-points/programs.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { powerOff } from '../scenes/power-off.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { podsOn, worldOf, worldWith } from '../scenes/world.ts';
import { endingSlowly, lonePod, statefulSet } from '../scenes/workload.ts';

const FINALIZER = 'example.org/backup';
const HELD = 'its finalizers keep it, but it no longer uses a volume';

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const openStage = async (title: string) => {
  const scene = await openScene(testbed, title);
  return { scene, home: await scene.addNode() };
};

/** Kubernetes would do the same by itself a minute later, so this shows that Cloudfence did it. */
const stepsWithPods = ({ steps }: Outcome): readonly string[] =>
  steps
    .filter(({ step }) => step.endsWith('-pod'))
    .map(({ step, target, result }) => `${step} ${target.split('/').at(-1)} ${result}`);

describe.concurrent('a pod on a dead node', () => {
  it('that nothing recreates is deleted, and its volume is freed', async () => {
    const { scene, home } = await openStage('lone');
    await scene.addClaim('data');
    await scene.create(lonePod('lone', { claims: ['data'] }));
    await scene.runs('lone', home);
    await scene.addRefuge();
    const { says, left, harmed } = await powerOff(scene, home);
    expect({ outcome: says.outcome, left }).toEqual({ outcome: 'fenced', left: [] });
    expect(scene.pods('lone')).toEqual([]);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { data: null }, [home]));
  });

  it('that had a long grace period when the power went off does not terminate forever', async () => {
    const { scene, home } = await openStage('ending');
    await scene.addClaim('data-db-0');
    await scene.create(statefulSet('db', { spec: endingSlowly(3600) }));
    const former = await scene.runs('db-0', home);
    const refuge = await scene.addRefuge();
    await testbed.admin.write('DELETE', `/api/v1/namespaces/${scene.namespace}/pods/db-0`);
    const ending = await until('the pod is ending', async () =>
      scene.pods('db-0').find(({ metadata }) => metadata.deletionTimestamp != null),
    );
    expect(ending).toMatchObject({ metadata: { uid: former.metadata.uid }, status: { phase: 'Running' } });
    const { says, left, harmed } = await powerOff(scene, home);
    await scene.runs('db-0', refuge);
    expect({ outcome: says.outcome, left, pods: stepsWithPods(says) }).toEqual({
      outcome: 'fenced',
      left: [],
      pods: ['delete-pod db-0 done'],
    });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });

  it('that a finalizer holds releases its volume at once, and its name once the finalizer is gone', async () => {
    const { scene, home } = await openStage('finalizer');
    await scene.addClaim('data-db-0');
    await scene.create(statefulSet('db', { metadata: { finalizers: [FINALIZER] } }));
    const former = await scene.runs('db-0', home);
    const refuge = await scene.addRefuge();
    const { code, says, left, harmed } = await powerOff(scene, home);
    const pod = `/api/v1/namespaces/${scene.namespace}/pods/db-0`;
    expect(stepsWithPods(says)).toEqual(['fail-pod db-0 done', 'delete-pod db-0 done']);
    expect({ code, outcome: says.outcome, left }).toEqual({
      code: 0,
      outcome: 'fenced',
      left: [{ what: `pod/${scene.namespace}/db-0`, why: HELD }],
    });
    expect(podsOn(scene, [home])).toEqual([`db-0 of uid ${former.metadata.uid} on ${home.name}, being deleted`]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': null }, [home]));
    await testbed.admin.write('PATCH', pod, { metadata: { finalizers: null } });
    await scene.runs('db-0', refuge);
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced', steps: [] },
    });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });
});
