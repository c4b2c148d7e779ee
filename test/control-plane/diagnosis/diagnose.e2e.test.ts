import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerSchema, type AnswerJson } from '../../../diagnosis/answer.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { openTestbed } from '../../testbed/testbed.ts';
import { until } from '../../testbed/until.ts';
import { runAtHand } from '../doors/doors.ts';
import { openStage } from '../scenes/stage.ts';
import { openScene, type Scene } from '../scenes/scene.ts';
import { lonePod, on } from '../scenes/workload.ts';

/** Causes as a real control plane shows them: the objects and events are its own. */

let testbed: Testbed;
beforeAll(async () => {
  testbed = await openTestbed();
});
afterAll(() => testbed?.close());

interface Diagnosed extends AnswerJson {
  readonly code: number;
}

/** The built CLI with the credentials of a person who may read everything. */
const diagnose = async (target: string): Promise<Diagnosed> => {
  const { access } = testbed;
  const kubeconfigs = { ...access.kubeconfigs, cloudfence: access.kubeconfigs.admin };
  const { code, stdout, stderr } = await runAtHand({ ...access, kubeconfigs }, ['diagnose', target, '--json']);
  if (stdout === '') throw new Error(`diagnose ended with ${code} and said nothing but: ${stderr}`);
  return { code, ...answerSchema.parse(JSON.parse(stdout)) };
};

const kindsOf = ({ findings }: AnswerJson): readonly string[] => findings.map(({ cause }) => cause.kind);

const notReady = (name: string) =>
  until(
    `${name} is not Ready`,
    async () =>
      testbed.kubelets.nodes
        .get(name)
        ?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
    90_000,
  );

/** A pod that waits for a claim which a pod on another node uses. */
const waitsFor = async (scene: Scene, claim: string): Promise<void> => {
  const [first, second] = await Promise.all([scene.addNode(), scene.addNode()]);
  await scene.addClaim(claim);
  await scene.create(lonePod('holder', { claims: [claim], spec: on(first.name) }));
  await scene.runs('holder', first);
  await scene.create(lonePod('waiter', { claims: [claim], spec: on(second.name) }));
  await until('the waiter is placed', async () =>
    scene.pods('waiter').some(({ spec }) => spec.nodeName === second.name),
  );
};

describe.concurrent('diagnose on a real control plane', () => {
  it('tells a machine that is off from one that is only cut off', async () => {
    const stage = await openStage(testbed, 'diagnose-off');
    const pod = `pod/${stage.scene.namespace}/db-0`;
    stage.home.kubelet.die();
    await notReady(stage.home.name);
    const cutOff = await diagnose(pod);
    expect({ code: cutOff.code, kinds: kindsOf(cutOff), unread: cutOff.unread }).toEqual({
      code: 4,
      kinds: ['machine-unreachable'],
      unread: [],
    });
    await stage.home.stop();
    const off = await diagnose(pod);
    expect({ code: off.code, kinds: kindsOf(off), unread: off.unread }).toEqual({
      code: 3,
      kinds: ['machine-off'],
      unread: [],
    });
    expect(off.findings[0]?.rehearsal?.steps[0]?.step).toBe('mark');
    expect(kindsOf(await diagnose(stage.disk))).toEqual(['machine-off']);
    expect(kindsOf(await diagnose(`node/${stage.home.name}`))).toContain('machine-off');
  });

  it('finds two workloads with one claim, and the event that Kubernetes wrote', async () => {
    const scene = await openScene(testbed, 'diagnose-shared');
    await waitsFor(scene, 'data');
    const answer = await until('the cause is known', async () => {
      const found = await diagnose(`pod/${scene.namespace}/waiter`);
      return kindsOf(found).includes('shared-claim') ? found : null;
    });
    expect(answer).toMatchObject({ code: 4, unread: [] });
    expect(kindsOf(await diagnose(`pod/${scene.namespace}/holder`))).toEqual(['not-waiting']);
  });

  it('names a claim that does not exist', async () => {
    const scene = await openScene(testbed, 'diagnose-missing');
    await scene.addNode();
    await scene.create(lonePod('app', { claims: ['nothing'] }));
    const answer = await diagnose(`pod/${scene.namespace}/app`);
    expect({ kinds: kindsOf(answer), unread: answer.unread }).toEqual({ kinds: ['claim-missing'], unread: [] });
  });
});
