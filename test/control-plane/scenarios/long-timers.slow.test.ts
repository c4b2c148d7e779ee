import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { cloudfence } from '../entry-points/programs.ts';
import { forbidDeletingPods } from '../scenes/forbidden.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import { openPodHistory } from '../scenes/pod-history.ts';
import { powerOff } from '../scenes/power-off.ts';
import type { Scene } from '../scenes/scene.ts';
import { openScene } from '../scenes/scene.ts';
import { until } from '../../testbed/until.ts';
import { podsOn, worldOf, worldWith } from '../scenes/world.ts';
import { deployment, lonePod, OUT_OF_SERVICE, statefulSet, tolerating, toleratingAll } from '../scenes/workload.ts';

/** A Node is NotReady 50 s after its last report, and its pods are evicted 300 s later. */
const NOT_READY_WITHIN_MS = 90_000;
const EVICTED_WITHIN_MS = 450_000;
const PAST_EVICTION_S = 360;

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

const openStage = async (title: string) => {
  const scene = await openScene(testbed, title);
  const home = await scene.addNode();
  await scene.addClaim('data-db-0');
  await scene.create(statefulSet('db'));
  return { scene, home, former: await scene.runs('db-0', home) };
};

const unreachable = ({ name }: TestbedNode): Promise<boolean> =>
  until(
    `${name} is tainted as unreachable`,
    async () =>
      testbed.kubelets.nodes
        .get(name)
        ?.spec.taints.some(({ key, effect }) => key === 'node.kubernetes.io/unreachable' && effect === 'NoExecute'),
    NOT_READY_WITHIN_MS,
  );

const isEnding = ({ pods }: Scene, prefix: string, node: TestbedNode): boolean =>
  pods(prefix).some(({ metadata, spec }) => spec.nodeName === node.name && metadata.deletionTimestamp != null);

const evicted = (scene: Scene, prefix: string, node: TestbedNode) =>
  until(`Kubernetes evicts ${prefix} from ${node.name}`, async () => isEnding(scene, prefix, node), EVICTED_WITHIN_MS);

describe.concurrent('with the timers of Kubernetes', () => {
  it('nothing moves by itself, and a node whose pods do not end is still fenced', async () => {
    const { scene, home, former } = await openStage('late');
    await scene.addClaim('data');
    await scene.create(deployment('web', 'RollingUpdate', { claims: ['data'] }));
    await scene.runs('web', home);
    const refuge = await scene.addRefuge();
    await home.stop();
    await Promise.all([evicted(scene, 'db-0', home), evicted(scene, 'web', home)]);
    const waiting = await until('the Deployment has a pod elsewhere', async () =>
      scene.pods('web').find(({ spec }) => spec.nodeName === refuge.name),
    );
    expect(await worldOf(scene)).toMatchObject({
      volumes: worldWith(scene, { 'data-db-0': home, data: home }, []).volumes,
    });
    expect(scene.pods('db-0').map(({ metadata }) => metadata.uid)).toEqual([former.metadata.uid]);
    const before = podsOn(scene, [refuge]);
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    await Promise.all([scene.runs('db-0', refuge), scene.runs('web', refuge)]);
    expect(scene.pods('web').map(({ metadata }) => metadata.uid)).toEqual([waiting.metadata.uid]);
    expect(podsOn(scene, [refuge])).toEqual(expect.arrayContaining([...before]));
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, data: refuge }, [home]));
  });

  it('the pod that moved is not evicted at the time that was set for its predecessor', async () => {
    const { scene, home, former } = await openStage('hour');
    const refuge = await scene.addRefuge();
    await home.stop();
    await unreachable(home);
    const history = openPodHistory(scene, 'db-0');
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    const successor = await scene.runs('db-0', refuge);
    expect(await history.forAnother(PAST_EVICTION_S)).toEqual([
      { uid: former.metadata.uid, deleted: true },
      { uid: successor.metadata.uid, deleted: false },
    ]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });

  it('a pod that tolerates only the taint goes when it is evicted, and one that tolerates all stays', async () => {
    const { scene, home } = await openStage('tolerance');
    for (const name of ['patient', 'stoic']) await scene.addClaim(name);
    await scene.create(lonePod('patient', { claims: ['patient'], spec: tolerating(OUT_OF_SERVICE) }));
    await scene.create(lonePod('stoic', { claims: ['stoic'], spec: toleratingAll }));
    await Promise.all([scene.runs('patient', home), scene.runs('stoic', home)]);
    const refuge = await scene.addRefuge();
    const { says, harmed } = await powerOff(scene, home);
    expect(says.outcome).toBe('fenced');
    expect(await worldOf(scene)).toMatchObject({
      volumes: { patient: { ec2: [home.name] }, stoic: { ec2: [home.name] } },
    });
    await evicted(scene, 'patient', home);
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced' },
    });
    expect(scene.pods('patient')).toEqual([]);
    await until('its volume is free', async () => (await worldOf(scene)).volumes['patient']?.kubernetes.length === 0);
    expect(podsOn(scene, [home])).toEqual([expect.stringMatching(/^stoic of uid \S+ on \S+$/)]);
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge, patient: null, stoic: home }, [home]));
  });

  it('Kubernetes finishes a fence if Cloudfence may not touch the pods, because the mark stays', async () => {
    const { scene, home } = await openStage('forbidden');
    const refuge = await scene.addRefuge();
    await forbidDeletingPods(testbed, scene.namespace, 'db-0');
    const { code, says, harmed } = await powerOff(scene, home);
    expect({ code, outcome: says.outcome, reason: says.reason }).toEqual({
      code: 1,
      outcome: 'failed',
      reason: expect.stringMatching(/^step-refused: declined: pod\/\S+\/db-0: .*deleted by their own people/),
    });
    await scene.runs('db-0', refuge, EVICTED_WITHIN_MS);
    expect(await cloudfence(testbed.access, 'fence', home.instance)).toMatchObject({
      code: 0,
      says: { outcome: 'fenced', steps: [{ step: 'park' }] },
    });
    expect(harmed()).toEqual([]);
    expect(await worldOf(scene)).toEqual(worldWith(scene, { 'data-db-0': refuge }, [home]));
  });
});
