import { describe, expect, it } from 'vitest';
import { applyStepResult } from '../../fencing/loop/apply-step.ts';
import { type RunState, startRun } from '../../fencing/loop/state.ts';
import { withClusterRead } from '../../fencing/loop/reads.ts';
import type { NodeFacts } from '../../fencing/model/cluster-facts.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because, type Reason } from '../../fencing/model/reason.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { cluster, marked, node, NOW, PARKED, record, view } from './view-builder.ts';

/** What a run that releases a fence knows about it. */

const at = (mono: number) => ({ wall: NOW + mono, mono });
const { request, identityRules } = view();
const begun = startRun({ request, policy: defaultPolicy, identityRules, runId: 'run', deadline: 60_000 });
const seen = (state: RunState, shown: NodeFacts, mono: number): RunState =>
  withClusterRead(state, { value: cluster({ node: shown }), requestedAt: at(mono), receivedAt: mono + 20 }, at(mono));

const releasedWith = (shown: Parameters<typeof record>[0]) => {
  const step: Step = { do: 'release-node', node: targetNode(marked()), record: record(shown), tombstone: null };
  return applyStepResult(begun, { step, because: because('settled', 'x') }, 'done', at(0), at(1));
};

it('a run that has released a fence still knows which boot it was', () => {
  expect(releasedWith({ generation: 'boot-1' })).toMatchObject({ record: null, endedBoot: 'boot-1' });
});

it('a run that has released a fence does not know its boot if operations rename it', () => {
  expect(releasedWith({ generation: 'boot-1', generationDrifts: true })).toMatchObject({ endedBoot: null });
});

describe('a run that moves a fence to the present boot', () => {
  const moved = { code: 'nothing-left-to-free', says: 'x' } as const;
  const parked: Step = { do: 'park', node: targetNode(marked()), record: record({ generation: 'boot-2' }) };
  const remarked: Step = { ...parked, do: 'mark', addOutOfService: false };
  const after = (from: RunState, step: Step, reason: Reason): RunState =>
    applyStepResult(from, { step, because: reason }, 'done', at(0), at(1));
  const fenced = { ...begun, record: record({ generation: 'boot-1' }) };

  it.each([
    ['still knows which boot was fenced', fenced, parked, 'boot-1'],
    ['still knows it if the quarantine was removed', fenced, remarked, 'boot-1'],
    ['does not know it if the record was lost', begun, parked, null],
    [
      'does not know it if operations rename it',
      { ...begun, record: record({ generationDrifts: true }) },
      parked,
      null,
    ],
  ] as const)('%s', (_, from, step, boot) => expect(after(from, step, moved).endedBoot).toBe(boot));

  it('has not ended a fence that begins afterwards, or that it only parks', () => {
    const begins: Reason = { code: 'off-proven', says: 'x' };
    expect(after(after(fenced, parked, moved), remarked, begins).endedBoot).toBeUndefined();
    expect(after(fenced, parked, { code: 'fenced', says: 'x' }).endedBoot).toBeUndefined();
    expect(after(after(fenced, parked, moved), parked, { code: 'fenced', says: 'x' }).endedBoot).toBe('boot-1');
  });
  it('has not ended it if it only removes our taint', () => {
    const lift: Step = { do: 'lift-out-of-service', node: targetNode(marked()), record: null };
    expect(after(fenced, lift, moved).endedBoot).toBeUndefined();
  });
});

it('a run that has released no fence knows that', () => expect(begun.endedBoot).toBeUndefined());

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
