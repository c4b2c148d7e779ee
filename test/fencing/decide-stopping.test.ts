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

/** If the cloud does not say since when a machine is stopping, a run notes on the Node when it saw that first. */

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

describe('a machine that is stopping, if the cloud does not say since when', () => {
  it.each([
    ['is noted on its Node at once', given(null), 'note-stopping'],
    ['is not noted twice', given(noted(1)), 'wait stopping'],
    ['is powered off ten minutes after an earlier run noted it', given(noted(11)), 'power-off'],
    ['is waited for until ten minutes after an earlier run noted it', given(noted(9)), 'wait stopping'],
    ['is noted again if the note is of another boot', given(noted(11, boot('m-1', 'boot-0'))), 'note-stopping'],
    ['is noted again if the note is of another machine', given(noted(11, boot('m-2'))), 'note-stopping'],
    ['is noted again if the note dates from the future', given(noted(-600)), 'note-stopping'],
    ['is noted again if the note dates from a minute ahead', given(noted(-1)), 'note-stopping'],
    ['is noted again if the note is an hour old', given(noted(60)), 'note-stopping'],
    [
      'raises an alarm after exactly ten minutes',
      given(noted(10), { policy: defaultPolicy }),
      'wait stopping-too-long',
    ],
    ['is waited for if its Node is gone', given(null, { cluster: cluster({ node: null }) }), 'wait stopping'],
    ['is noted again if an earlier stop, which failed, may have left the note', given(noted(61)), 'note-stopping'],
    [
      'is waited for if the note is half a minute ahead, because our own clocks may differ by that',
      given(noted(-0.5)),
      'wait stopping',
    ],
    ['is noted under the default policy, too', given(null, { policy: defaultPolicy }), 'note-stopping'],
    [
      'raises an alarm under the default policy, ten minutes after the note',
      given(noted(11), { policy: defaultPolicy }),
      'wait stopping-too-long',
    ],
    ['is noted on a control-plane node, too', given(null, on({ controlPlane: true })), 'note-stopping'],
    [
      'is refused on a control-plane node ten minutes after the note, because that is never powered off',
      given(null, on({ controlPlane: true, stopping: noted(11) })),
      'refused power-off-refused',
    ],
    ['is noted on a Node that is opted out, too', given(null, on({ optOuts: [optOut('no')] })), 'note-stopping'],
    [
      'is refused on a Node that is opted out ten minutes after the note',
      given(null, on({ optOuts: [optOut('no')], stopping: noted(11) })),
      'refused opted-out',
    ],
    [
      'is noted by the boot of the Node if the cloud does not distinguish boots',
      given(null, {}, { generation: null }),
      'note-stopping',
    ],
    [
      'is not noted twice by the boot of the Node',
      given(noted(1, boot('m-1', 'boot-a')), {}, { generation: null }),
      'wait stopping',
    ],
    [
      'is powered off by a note of the boot of the Node if the stop changes its generation',
      given(noted(11, boot('m-1', 'boot-a')), {}, { generation: 'another', generationDrifts: true }),
      'power-off',
    ],
    ['is not noted if the cloud gives the time', given(null, {}, { since: NOW - 60_000 }), 'wait stopping'],
    ['is not noted in a dry run', given(null, { policy: { ...policy, dryRun: true } }), 'wait stopping'],
    ['is not noted in shadow mode', given(null, { policy: { ...policy, shadow: true } }), 'wait stopping'],
    ['is not noted during a pause', given(null, { policy: { ...policy, paused: 'upgrade' } }), 'refused paused'],
    [
      'is not powered off while its Node is Ready, however old the note',
      given(noted(11), on({ stopping: noted(11), ready: 'True' })),
      'refused power-off-refused',
    ],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));

  it.each([
    ['the note is written', given(null), 'note-stopping', 'stopping'],
    ['the note is removed', given(noted(11), {}, { power: 'running' }), 'note-stopping', 'no-longer-stopping'],
    ['the machine is powered off', given(noted(11)), 'power-off', 'power-off-by-policy'],
  ])('gives the reason of each step: %s', (_, situation, step, code) => {
    expect(decide(situation)).toMatchObject({ step: { do: step }, because: { code } });
  });

  it('is powered off once its Node has been unreachable for exactly five minutes', () => {
    const since = (ms: number) => given(null, on({ stopping: noted(11), readySince: NOW - ms }));
    expect(said(since(5 * 60_000))).toBe('power-off');
    expect(said(since(5 * 60_000 - 1))).toBe('refused power-off-refused');
  });

  it('is noted with the time at which this run saw it first', () => {
    const firstStopping = { at: NOW - 7_000, generation: 'boot-1' };
    const decision = decide(given(noted(-600), { memory: { ...view().memory, firstStopping } }));
    expect(decision).toMatchObject({
      step: { node: { uid: 'node-uid' }, stopping: { at: NOW - 7_000, boot: boot() } },
    });
  });
});

it('a machine is not reported as fenced if this run only wrote a note before the Node was deleted', () => {
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

describe('a machine that is off, while an operation on it is under way', () => {
  const busy = { offUnderOperation: true, since: NOW - 20 * 60_000 };
  it.each([
    ['is waited for, however long it has been off', given(null, {}, busy), 'wait stopping'],
    ['is waited for under the default policy, too', given(null, { policy: defaultPolicy }, busy), 'wait stopping'],
    ['is waited for if the cloud gives no time', given(null, {}, { ...busy, since: null }), 'wait stopping'],
    ['has stopped: its note is removed', given(noted(11), {}, busy), 'note-stopping'],
  ])('%s', (_, situation, expected) => expect(said(situation)).toBe(expected));
});

describe('the note of a stop', () => {
  it.each([
    [
      'goes with the mark if the machine is gone',
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
      'stays until a second read confirms that the machine is off',
      given(noted(11), {}, { power: 'off-if-repeated' }),
      'wait second-read',
    ],
    ['goes with the mark if the machine is off', given(noted(11), {}, { power: 'off' }), 'mark'],
    [
      'goes without a mark if nothing is to be freed',
      given(
        null,
        { cluster: cluster({ node: { ...silent, stopping: noted(11) }, pods: [], volumes: [] }) },
        { power: 'off', disks: [] },
      ),
      'note-stopping',
    ],
    [
      'goes by itself if the mark is already there',
      given(null, { cluster: cluster({ node: marked({}, { stopping: noted(11) }) }) }, { power: 'off' }),
      'note-stopping',
    ],
    ['goes once the machine runs again', given(noted(11), {}, { power: 'running' }), 'note-stopping'],
    [
      'goes once the machine runs again, even if an earlier fence is left',
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
