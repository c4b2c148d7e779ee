import { expect, it } from 'vitest';
import { applyStepResult } from '../../fencing/loop/apply-step.ts';
import { type RunState, startRun } from '../../fencing/loop/state.ts';
import { withClusterRead } from '../../fencing/loop/reads.ts';
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
const PARKED = { outOfService: false, ours: false, quarantine: true };
const seen = (state: RunState, shown: NodeFacts, mono: number): RunState =>
  withClusterRead(state, { value: cluster({ node: shown }), requestedAt: at(mono), receivedAt: mono + 20 }, at(mono));

const releasedWith = (shown: Parameters<typeof record>[0]) => {
  const step: Step = { do: 'release-node', node: targetNode(marked()), record: record(shown), tombstone: null };
  return applyStepResult(begun, { step, because: because('settled', 'x') }, 'done', at(0), at(1));
};

it('a run that has released a fence still knows which boot it was', () => {
  expect(releasedWith({ generation: 'boot-1' })).toMatchObject({ record: null, releasedBoot: 'boot-1' });
});

it('a run that has released a fence does not know its boot if operations rename it', () => {
  expect(releasedWith({ generation: 'boot-1', generationDrifts: true })).toMatchObject({ releasedBoot: null });
});

it('a run that has released no fence knows that', () => expect(begun.releasedBoot).toBeUndefined());

it.each([
  ['a release knows since when our taint is gone', 'release', node(), 120],
  ['a release knows that our taint stands', 'release', marked(), null],
  ['no other run needs that time', 'fence', node(), null],
] as const)('%s', (_, intent, shown, since) => {
  const first = seen({ ...begun, request: { ...request, intent } }, shown, 100);
  expect(first.memory.untainted?.since ?? null).toBe(since);
  expect(seen(first, shown, 5_000).memory.untainted?.since ?? null).toBe(since);
  expect(seen(first, marked(), 5_000).memory.untainted).toBeNull();
});

it('a release waits anew if our taint was set and removed between two of its looks', () => {
  const [before, after] = ['2026-11-21T00:00:00.000Z', '2026-11-21T00:00:04.000Z'].map((released) =>
    marked({ phase: 'fenced', released }, { taints: PARKED }),
  );
  const releasing = { ...begun, request: { ...request, intent: 'release' as const } };
  const first = seen(releasing, before ?? node(), 100);
  expect(seen(first, after ?? node(), 5_000).memory.untainted?.since).toBe(5_020);
  expect(seen(first, before ?? node(), 5_000).memory.untainted?.since).toBe(120);
});
