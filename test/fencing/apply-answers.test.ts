import { describe, expect, it } from 'vitest';
import { actOn, type Command } from '../../fencing/loop/command.ts';
import { errorsIn, reduce, reportsOf, type StepAnswer } from '../../fencing/loop/reduce.ts';
import { startRun, type RunState } from '../../fencing/loop/state.ts';
import { withClusterRead, withMachineRead } from '../../fencing/loop/reads.ts';
import {
  InvalidInput,
  PermissionDenied,
  ProofExpired,
  Refused,
  Unavailable,
  Unexpected,
} from '../../fencing/model/errors.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import type { Moment } from '../../fencing/rules/view.ts';
import { cluster, machine, marked, node, NOW, pod, record, view, volume } from './view-builder.ts';

/** What a run knows after it sent several steps at the same time, each with its own answer. */

const at = (mono: number): Moment => ({ wall: NOW + mono, mono });
const { request, identityRules } = view();
const names = ['first', 'second', 'third'];
const read = withClusterRead(
  withMachineRead(
    startRun({ request, policy: defaultPolicy, identityRules, runId: 'run', deadline: 60_000 }),
    { value: machine(), requestedAt: at(100), receivedAt: 120 },
    at(120),
  ),
  {
    value: cluster({ node: marked(), pods: names.map((uid) => pod({ uid, name: uid })) }),
    requestedAt: at(100),
    receivedAt: 120,
  },
  at(120),
);
const known: RunState = { ...read, cleared: { step: 'delete-pod first', at: 200 } };

const sideBySide = (steps: readonly Step[]): Extract<Command, { do: 'act' }> => {
  const [first, ...others] = steps.map((step) => ({ step, because: because('off-proven', 'off') }));
  if (!first) throw new Error('no step');
  return { ...actOn({ cluster: 'a', node: 'node-a' }, first, 2_100), alongside: others };
};
const deletes = sideBySide(names.map((uid) => ({ do: 'delete-pod', pod: { namespace: 'default', name: uid, uid } })));
const result = (answers: readonly StepAnswer[]) => ({ to: 'act', answers, sentAt: at(400) }) as const;
const after = (...answers: readonly StepAnswer[]) => reduce(known, deletes, result(answers), at(500));
const no = new Refused('no');

describe('deletes of pods that were sent at the same time', () => {
  it('are all remembered if all took effect, and the facts and the recheck stay valid', () => {
    const done = after('done', 'already', 'done');
    expect([...done.memory.sinceLook]).toEqual(names.map((uid) => `delete-pod ${uid}`));
    expect([...done.memory.deleted.keys()]).toEqual(names);
    expect(done).toMatchObject({ cluster: known.cluster, cleared: known.cleared, resumeAt: null });
    expect(done.steps.map(({ target, result: says }) => `${target} ${says}`)).toEqual([
      'pod/default/first done',
      'pod/default/second already',
      'pod/default/third done',
    ]);
  });

  it('report each pod that they deleted, and whether it used a volume', () => {
    const [first, second] = [pod({ uid: 'first', volumes: [] }), pod({ uid: 'second' })];
    const some = {
      ...known,
      cluster: { value: cluster({ pods: [first, second] }), requestedAt: at(100), receivedAt: 120 },
    };
    const { steps } = reduce(some, deletes, result(['done', 'done', 'already']), at(500));
    expect(steps.map((step) => step.pod)).toEqual([
      { namespace: 'default', name: 'first', uid: 'first', hasVolume: false },
      { namespace: 'default', name: 'second', uid: 'second', hasVolume: true },
      undefined,
    ]);
  });

  it('continue if one was refused, which is tried again after the next look', () => {
    const one = after('done', no, 'done');
    expect(one).toMatchObject({ cluster: known.cluster, cleared: null, resumeAt: null, ending: null });
    expect([...one.memory.failedSinceLook]).toEqual(['delete-pod second']);
    expect([...one.memory.sinceLook]).toEqual(['delete-pod first', 'delete-pod third']);
    expect(one.refusals).toEqual(new Map([['delete-pod second', 1]]));
    const again = withClusterRead(one, { value: cluster(), requestedAt: at(600), receivedAt: 620 }, at(620));
    expect(again.memory.failedSinceLook.size).toBe(0);
  });

  it('give up only the pod whose delete is refused again and again, however many others are deleted', () => {
    let six = known;
    for (let nth = 0; nth < 6; nth += 1) six = reduce(six, deletes, result(['done', no, 'done']), at(500));
    expect([...six.memory.declined.keys()]).toEqual(['delete-pod second']);
    expect(six.ending).toBeNull();
  });

  it('pause if the API server did not answer one of them, although another took effect', () => {
    const some = after('done', new Unavailable('429'), no);
    expect(some).toMatchObject({ cluster: null, machine: null, resumeAt: 1_000, steps: { length: 3 } });
    expect(some.memory.sinceLook.size).toBe(0);
  });

  it('pause if all failed, and longer each time', () => {
    const once = after(no, no, new PermissionDenied('forbidden'));
    expect(once).toMatchObject({ resumeAt: 1_500, cluster: null, ending: null });
    expect([...once.memory.declined.keys()]).toEqual(['delete-pod third']);
    expect(reduce(once, deletes, result([no, no, no]), at(500)).resumeAt).toBe(2_500);
  });

  it('are sent again if they were not sent, and are not reported', () => {
    const late = new ProofExpired('late');
    const some = after('done', late, late);
    expect(some).toMatchObject({ cleared: null, cluster: known.cluster, resumeAt: null, failures: 0 });
    expect([some.memory.failedSinceLook.size, some.steps.length]).toEqual([0, 1]);
    expect(after(late, late, late)).toMatchObject({ machine: null, cleared: null, failures: 1, steps: [] });
  });

  it('are reported one by one, except those that were not sent', () => {
    const answers = result(['done', new ProofExpired('late'), no]);
    const some = reduce(known, deletes, answers, at(500));
    expect(reportsOf(answers, some).map(({ target }) => target)).toEqual(['pod/default/first', 'pod/default/third']);
    expect(reportsOf({ to: 'sleep', polls: 0 }, some)).toEqual([]);
    expect(errorsIn(answers).map(({ name }) => name)).toEqual(['ProofExpired', 'Refused']);
    expect(errorsIn({ to: 'failed', error: no })).toEqual([no]);
    expect(errorsIn({ to: 'sleep', polls: 0 })).toEqual([]);
  });
});

it('an imagined step is reported alone, without the steps before it', () => {
  const imagined = reduce(known, { ...deletes, do: 'imagine' }, { to: 'imagine' }, at(500));
  const twice = reduce(imagined, { ...deletes, do: 'imagine' }, { to: 'imagine' }, at(600));
  const again = reduce(twice, { ...deletes, do: 'imagine' }, { to: 'imagine' }, at(700));
  expect(again.steps.length).toBeGreaterThan(2);
  expect(reportsOf({ to: 'imagine' }, again)).toEqual([again.steps.at(-1)]);
});

describe('a step about more than one object', () => {
  const mark = sideBySide([{ do: 'mark', node: targetNode(node()), record: record(), addOutOfService: true }]);

  it.each([
    ['ends the run if the same call would always fail', new InvalidInput('no'), 'invalid'],
    ['ends the run if an unexpected error occurs', new Unexpected('no'), 'unexpected'],
  ])('%s', (_, error, code) =>
    expect(reduce(known, mark, result([error]), at(500))).toMatchObject({ ending: { reason: { code } } }),
  );

  it('is tried again after any other failure', () =>
    expect(reduce(known, mark, result([new Unavailable('no')]), at(500))).toMatchObject({
      ending: null,
      resumeAt: 1_000,
    }));

  it('leaves the run going if the error concerns only one of several objects', () =>
    expect(reduce(known, deletes, result([new Unexpected('no'), no, no]), at(500)).ending).toBeNull());
});

it('several detaches make the facts stale, and the run remembers each of them', () => {
  const volumes = ['disk-1', 'disk-2'].map((handle) => volume({ handle, key: `a-driver^${handle}` }));
  const standing = { ...known, cluster: { value: cluster({ volumes }), requestedAt: at(100), receivedAt: 120 } };
  const disks = volumes.map((one) => identityRules.diskOf(one) ?? '');
  const detach = (disk: string): Step => ({
    do: 'detach-disk',
    from: { machine: 'm-1', incarnation: null },
    disk,
    mode: 'plain',
  });
  const done = reduce(standing, sideBySide(disks.map(detach)), result(['done', 'done']), at(500));
  expect(done).toMatchObject({ machine: null, cluster: null, cleared: null });
  expect([...done.memory.detached]).toEqual(volumes.map(({ key }) => key));
  expect(done.memory.takenAt.size).toBe(2);
});
