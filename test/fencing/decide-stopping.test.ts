import { describe, expect, it } from 'vitest';
import { applyStepResult } from '../../fencing/loop/apply-step.ts';
import { type FirstStopping, shortHash } from '../../fencing/model/cluster-facts.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { startRun } from '../../fencing/loop/state.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { alone, cluster, machine, marked, node, NOW, optOut, record, view } from './view-builder.ts';

/** If the cloud gives no time, a run notes on the Node, for later runs, what it has seen. */

const boot = (machineId = 'm-1', generation = 'boot-1') => `${shortHash(machineId)}${shortHash(generation)}`;
const noted = (minutesAgo: number, of = boot()): FirstStopping => ({ at: NOW - minutesAgo * 60_000, boot: of });
const silent = node({ ready: 'Unknown', readySince: NOW - 10 * 60_000 });
const policy = { ...defaultPolicy, unreachable: 'power-off' } as const;

const given = (stopping: FirstStopping | null, change: Partial<View> = {}, facts: Partial<MachineFacts> = {}): View =>
  view({
    machine: machine({ power: 'stopping', since: null, ...facts }),
    policy,
    cluster: cluster({ node: { ...silent, stopping } }),
    memory: {
      ...view().memory,
      connectivity: { value: alone, requestedAt: 900 },
    },
    ...change,
  });
const on = (change: Partial<View['cluster']['node'] & object>) => ({
  cluster: cluster({ node: { ...silent, ...change } }),
});

describe('a machine that is stopping, whose cloud does not say since when', () => {
  it.each([
    ['is noted at once', given(null), 'note-stopping'],
    ['is noted once', given(noted(1)), 'wait stopping'],
    ['is forced off ten minutes after an earlier run noted it', given(noted(11)), 'power-off'],
    ['... and not before', given(noted(9)), 'wait stopping'],
    ['a note of another boot means nothing for this one', given(noted(11, boot('m-1', 'boot-0'))), 'note-stopping'],
    ['... and neither does a note of another machine', given(noted(11, boot('m-2'))), 'note-stopping'],
    ['a time in the future is noted again', given(noted(-600)), 'note-stopping'],
    ['... from a minute ahead', given(noted(-1)), 'note-stopping'],
    ['an hour is too long ago', given(noted(60)), 'note-stopping'],
    ['is an alarm after exactly ten minutes', given(noted(10), { policy: defaultPolicy }), 'wait stopping-too-long'],
    ['is waited for if its Node is gone', given(null, { cluster: cluster({ node: null }) }), 'wait stopping'],
    ['a note that an earlier, failed stop may have left is written again', given(noted(61)), 'note-stopping'],
    ['... but our own clocks may differ a little: then the time counts as now', given(noted(-0.5)), 'wait stopping'],
    ['is noted even under the default policy', given(null, { policy: defaultPolicy }), 'note-stopping'],
    [
      '... which makes it an alarm ten minutes later',
      given(noted(11), { policy: defaultPolicy }),
      'wait stopping-too-long',
    ],
    ['is noted even on a control-plane node', given(null, on({ controlPlane: true })), 'note-stopping'],
    [
      '... which is an alarm and is never powered off',
      given(null, on({ controlPlane: true, stopping: noted(11) })),
      'refused power-off-refused',
    ],
    ['is noted even on a Node that is opted out', given(null, on({ optOuts: [optOut('no')] })), 'note-stopping'],
    [
      '... which is not powered off either',
      given(null, on({ optOuts: [optOut('no')], stopping: noted(11) })),
      'refused opted-out',
    ],
    [
      'is noted by the Node if the cloud does not distinguish boots',
      given(null, {}, { generation: null }),
      'note-stopping',
    ],
    ['... once', given(noted(1, boot('m-1', 'boot-a')), {}, { generation: null }), 'wait stopping'],
    [
      '... or if the stop itself changes what the cloud says about the boot',
      given(noted(11, boot('m-1', 'boot-a')), {}, { generation: 'another', generationDrifts: true }),
      'power-off',
    ],
    ['nothing is noted if the cloud gives the time', given(null, {}, { since: NOW - 60_000 }), 'wait stopping'],
    ['nothing is noted in a dry run', given(null, { policy: { ...policy, dryRun: true } }), 'wait stopping'],
    ['nothing is noted in shadow mode', given(null, { policy: { ...policy, shadow: true } }), 'wait stopping'],
    ['nothing is noted under a pause', given(null, { policy: { ...policy, paused: 'upgrade' } }), 'refused paused'],
    [
      'the other thresholds still count',
      given(noted(11), on({ stopping: noted(11), ready: 'True' })),
      'refused power-off-refused',
    ],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));

  it.each([
    ['it is noted', given(null), 'note-stopping', 'stopping'],
    ['the note goes', given(noted(11), {}, { power: 'running' }), 'note-stopping', 'no-longer-stopping'],
    ['it is powered off', given(noted(11)), 'power-off', 'power-off-by-policy'],
  ])('each step has its reason: %s', (_, situation, step, code) => {
    expect(decide(situation)).toMatchObject({ step: { do: step }, because: { code } });
  });

  it('may be powered off once its Node has been unreachable for exactly five minutes', () => {
    const since = (ms: number) => given(null, on({ stopping: noted(11), readySince: NOW - ms }));
    expect(said(since(5 * 60_000))).toBe('power-off');
    expect(said(since(5 * 60_000 - 1))).toBe('refused power-off-refused');
  });

  it('is noted with this run’s first sight', () => {
    const firstStopping = { at: NOW - 7_000, generation: 'boot-1' };
    const decision = decide(given(noted(-600), { memory: { ...view().memory, firstStopping } }));
    expect(decision).toMatchObject({
      step: { node: { uid: 'node-uid' }, stopping: { at: NOW - 7_000, boot: boot() } },
    });
  });
});

it('a machine is not reported as fenced if only a note was written before its Node went', () => {
  const { request, policy: of, identityRules: reading, runId, now } = given(null);
  const decision = decide(given(null));
  if (decision.do !== 'step') throw new Error('nothing is noted');
  const { memory } = applyStepResult(
    startRun({ request, policy: of, identityRules: reading, runId, deadline: 60_000 }),
    { step: decision.step, because: decision.because },
    'done',
    now,
    now,
  );
  expect(said(given(null, { memory, cluster: cluster({ node: null, pods: [], volumes: [] }) }))).toBe(
    'ignored no-node',
  );
});

describe('a machine that is off except for an operation on it', () => {
  const busy = { offUnderOperation: true, since: NOW - 20 * 60_000 };
  it.each([
    ['is waited for, however long it has been off', given(null, {}, busy), 'wait stopping'],
    ['... even under the default policy', given(null, { policy: defaultPolicy }, busy), 'wait stopping'],
    ['... and if the cloud gives no time', given(null, {}, { ...busy, since: null }), 'wait stopping'],
    ['has stopped: the note goes', given(noted(11), {}, busy), 'note-stopping'],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));
});

describe('the note of a stop', () => {
  it.each([
    [
      'goes with the mark once the machine is gone',
      given(
        null,
        {
          cluster: cluster({ node: { ...silent, stopping: noted(11) }, lease: null }),
          memory: { ...view().memory, witness: 'released' },
        },
        { power: 'missing', generation: null },
      ),
      'mark',
    ],
    [
      '... or once a second read confirms that it is off',
      given(noted(11), {}, { power: 'off-if-repeated' }),
      'wait second-read',
    ],
    ['goes with the mark once the machine is off', given(noted(11), {}, { power: 'off' }), 'mark'],
    [
      '... or by itself if nothing is to be marked',
      given(
        null,
        { cluster: cluster({ node: { ...silent, stopping: noted(11) }, pods: [], volumes: [] }) },
        { power: 'off', disks: [] },
      ),
      'note-stopping',
    ],
    [
      '... or if the mark is already there',
      given(null, { cluster: cluster({ node: marked({}, { stopping: noted(11) }) }) }, { power: 'off' }),
      'note-stopping',
    ],
    ['goes once it runs again', given(noted(11), {}, { power: 'running' }), 'note-stopping'],
    [
      '... even under an earlier fence',
      given(null, on({ stopping: noted(11), record: record(), recordText: 'x', label: 'run.1' }), { power: 'running' }),
      'note-stopping',
    ],
    ['goes under any policy', given(noted(11), { policy: defaultPolicy }, { power: 'running' }), 'note-stopping'],
    ['stays while the cloud gives no power state', given(noted(11), {}, { power: 'unknown' }), 'refused power-unknown'],
    [
      'stays in a dry run',
      given(noted(11), { policy: { ...policy, dryRun: true } }, { power: 'running', since: NOW - 60_000 }),
      'refused power-off-refused',
    ],
    [
      'stays on a Node that names another machine',
      given(
        null,
        on({ stopping: noted(11), identitySources: [{ source: 'providerID', driver: null, value: 'm-2' }] }),
        { power: 'running' },
      ),
      'refused identity-contradicted',
    ],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));
});
