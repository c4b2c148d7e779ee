import { expect, it } from 'vitest';
import { applyStepResult } from '../../fencing/loop/apply-step.ts';
import { type RunState, startRun, withClusterRead } from '../../fencing/loop/state.ts';
import type { NodeFacts } from '../../fencing/model/cluster-facts.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { cluster, marked, node, NOW, record, view } from './view-builder.ts';

/** What a run that releases a fence knows about it. */

const at = (mono: number) => ({ wall: NOW + mono, mono });
const { request, identityRules } = view();
const begun = startRun({ request, policy: defaultPolicy, identityRules, runId: 'run', deadline: 60_000 });
const seen = (state: RunState, shown: NodeFacts, mono: number): RunState =>
  withClusterRead(state, { value: cluster({ node: shown }), requestedAt: at(mono), receivedAt: mono + 20 }, at(mono));

it('a run that has released a fence still knows which boot it was', () => {
const releasedWith = (shown: Parameters<typeof record>[0]) => {
  const step: Step = { do: 'release-node', node: targetNode(marked()), record: record(shown), tombstone: null };
  return applyStepResult(begun, { step, because: because('settled', 'x') }, 'done', at(0), at(1));
};

  expect(releasedWith({ generation: 'boot-1' })).toMatchObject({ record: null, releasedBoot: 'boot-1' });
});

it('a run that has released a fence does not know its boot if operations rename it', () => {
  expect(releasedWith({ generation: 'boot-1', generationDrifts: true })).toMatchObject({ releasedBoot: null });
});

it.each([
it('a run that has released no fence knows that', () => expect(begun.releasedBoot).toBeUndefined());

  ['a release knows since when our taint is gone', 'release', node(), 120],
  ['a release knows that our taint stands', 'release', marked(), null],
  ['no other run needs that time', 'fence', node(), null],
] as const)('%s', (_, intent, shown, since) => {
  const first = seen({ ...begun, request: { ...request, intent } }, shown, 100);
  expect(first.memory.untaintedSince).toBe(since);
  expect(seen(first, shown, 5_000).memory.untaintedSince).toBe(since);
  expect(seen(first, marked(), 5_000).memory.untaintedSince).toBeNull();
});
