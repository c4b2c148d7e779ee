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
  const step: Step = {
    do: 'release-node',
    node: targetNode(marked()),
    record: record({ generation: 'boot-1' }),
    tombstone: null,
  };
  const after = applyStepResult(begun, { step, because: because('settled', 'x') }, 'done', at(0), at(1));
  expect(after).toMatchObject({ record: null, releasedBoot: 'boot-1' });
});

it.each([
  ['a release knows since when our taint is gone', 'release', node(), 120],
  ['a release knows that our taint stands', 'release', marked(), null],
  ['no other run needs that time', 'fence', node(), null],
] as const)('%s', (_, intent, shown, since) => {
  const first = seen({ ...begun, request: { ...request, intent } }, shown, 100);
  expect(first.memory.untaintedSince).toBe(since);
  expect(seen(first, shown, 5_000).memory.untaintedSince).toBe(since);
  expect(seen(first, marked(), 5_000).memory.untaintedSince).toBeNull();
});
