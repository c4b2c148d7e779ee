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

/** Where the cloud gives no time, what a run has seen is noted on the Node for the runs that come later. */

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
      connectivity: alone,
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
    ['is forced ten minutes after an earlier run has noted it', given(noted(11)), 'power-off'],
    ['... and not before', given(noted(9)), 'wait stopping'],
    [
      'what was noted of another boot says nothing of this one',
      given(noted(11, boot('m-1', 'boot-0'))),
      'note-stopping',
    ],
    ['... nor of another machine', given(noted(11, boot('m-2'))), 'note-stopping'],
    ['a time that lies ahead is noted anew', given(noted(-600)), 'note-stopping'],
    ['one that an earlier stop may have left, which failed, is noted anew', given(noted(61)), 'note-stopping'],
    ['... but clocks of our own may differ a little: then it counts as now', given(noted(-0.5)), 'wait stopping'],
    ['is noted under the default policy, too', given(null, { policy: defaultPolicy }), 'note-stopping'],
    [
      '... which makes it an alarm ten minutes later',
      given(noted(11), { policy: defaultPolicy }),
      'wait stopping-too-long',
    ],
    ['is noted on a control-plane node, too', given(null, on({ controlPlane: true })), 'note-stopping'],
    [
      '... which is an alarm, and never powered off',
      given(null, on({ controlPlane: true, stopping: noted(11) })),
      'refused power-off-refused',
    ],
    ['is noted on a Node that is opted out, too', given(null, on({ optOuts: [optOut('no')] })), 'note-stopping'],
    [
      '... which is not powered off, either',
      given(null, on({ optOuts: [optOut('no')], stopping: noted(11) })),
      'refused opted-out',
    ],
    [
      'is noted by the Node where the cloud tells no boots apart',
      given(null, {}, { generation: null }),
      'note-stopping',
    ],
    ['... once', given(noted(1, boot('m-1', 'boot-a')), {}, { generation: null }), 'wait stopping'],
    [
      '... and where the stop itself changes what the cloud says of the boot',
      given(noted(11, boot('m-1', 'boot-a')), {}, { generation: 'another', generationDrifts: true }),
      'power-off',
    ],
    ['nothing is noted where the cloud gives the time', given(null, {}, { since: NOW - 60_000 }), 'wait stopping'],
    ['nothing in a dry run', given(null, { policy: { ...policy, dryRun: true } }), 'wait stopping'],
    ['nothing under a pause', given(null, { policy: { ...policy, paused: 'upgrade' } }), 'refused paused'],
    [
      'the other thresholds stand',
      given(noted(11), on({ stopping: noted(11), ready: 'True' })),
      'refused power-off-refused',
    ],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));

  it('is noted with this run’s first sight', () => {
    const firstStopping = { at: NOW - 7_000, generation: 'boot-1' };
    const decision = decide(given(noted(-600), { memory: { ...view().memory, firstStopping } }));
    expect(decision).toMatchObject({
      step: { node: { uid: 'node-uid' }, stopping: { at: NOW - 7_000, boot: boot() } },
    });
  });
});

it('is not reported as fenced if only a note was written before its Node went', () => {
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
    ['... under the default policy, too', given(null, { policy: defaultPolicy }, busy), 'wait stopping'],
    ['... and where the cloud gives no time', given(null, {}, { ...busy, since: null }), 'wait stopping'],
    ['has stopped: what was noted goes', given(noted(11), {}, busy), 'note-stopping'],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));
});

describe('the note of a stop', () => {
  it.each([
    ['goes with the mark once the machine is off', given(noted(11), {}, { power: 'off' }), 'mark'],
    [
      '... or by itself where nothing is to be marked',
      given(
        null,
        { cluster: cluster({ node: { ...silent, stopping: noted(11) }, pods: [], volumes: [] }) },
        { power: 'off', disks: [] },
      ),
      'note-stopping',
    ],
    [
      '... or is marked already',
      given(null, { cluster: cluster({ node: marked({}, { stopping: noted(11) }) }) }, { power: 'off' }),
      'note-stopping',
    ],
    ['goes once it runs again', given(noted(11), {}, { power: 'running' }), 'note-stopping'],
    [
      '... also under a fence of before',
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
