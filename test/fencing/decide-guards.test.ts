import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import { type SurveyOfClusters, shortHash } from '../../fencing/model/cluster-facts.ts';
import type { Admission } from '../../fencing/model/ledger.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import {
  admitted,
  ago,
  alone,
  cluster,
  machine,
  marked,
  node,
  NOW,
  optOut,
  pod,
  record,
  view,
  volume,
} from './view-builder.ts';

const refusedAt: Admission = { ...admitted, admitted: false, begun: 4, unfinished: 2, opens: NOW + 60_000 };
const asked = (admission: Admission | null, change: Partial<View> = {}) =>
  view({ memory: { ...view().memory, admission }, ...change });
const policy = (change: Partial<typeof defaultPolicy>) => ({ ...defaultPolicy, ...change });

/** The Node is parked, and someone has bound a pod to it by name. */
const parked = {
  cluster: cluster({
    node: marked({ phase: 'fenced', released: ago(1_000) }),
    pods: [pod({ uid: 'late', volumes: [] })],
    volumes: [],
  }),
  machine: machine({ disks: [] }),
};
const nodesOnly = policy({ optOut: 'nodes' });

describe('guards forbid a fence of a machine that is off', () => {
  const cases: readonly [string, View, string][] = [
    ['a pause of all clusters', view({ policy: policy({ paused: 'upgrade' }) }), 'refused paused'],
    ['a pause of the cluster', view({ cluster: cluster({ surroundings: { paused: 'upgrade' } }) }), 'refused paused'],
    [
      'a pause in mid-fence, too',
      view({ cluster: cluster({ node: marked(), surroundings: { paused: 'upgrade' } }) }),
      'refused paused',
    ],
    [
      'an opted-out Node',
      view({ cluster: cluster({ node: node({ optOuts: [optOut('bare metal')] }) }) }),
      'refused opted-out',
    ],
    [
      'an administrator’s label if only that counts',
      view({ policy: nodesOnly, cluster: cluster({ node: node({ optOuts: [optOut('bare metal', 'label')] }) }) }),
      'refused opted-out',
    ],
    [
      'but not an annotation that its own kubelet may have written',
      view({ policy: nodesOnly, cluster: cluster({ node: node({ optOuts: [optOut('bare metal')] }) }) }),
      'mark',
    ],
    [
      'and not a tenant’s Pod',
      view({ policy: nodesOnly, cluster: cluster({ pods: [pod({ optOut: optOut('licence') })] }) }),
      'mark',
    ],
    [
      'no opt-out if the policy counts none',
      view({
        policy: { ...defaultPolicy, optOut: 'none' },
        cluster: cluster({
          node: node({ optOuts: [optOut('bare metal', 'label')] }),
          pods: [pod({ optOut: optOut('licence') })],
        }),
      }),
      'mark',
    ],
    [
      'one opted-out Pod refuses the whole Node',
      view({ cluster: cluster({ pods: [pod({ uid: 'a' }), pod({ uid: 'b', optOut: optOut('licence') })] }) }),
      'refused opted-out',
    ],
    [
      '... also one that a fence would leave alone',
      view({ cluster: cluster({ pods: [pod(), pod({ uid: 'b', optOut: optOut('licence'), tolerates: true })] }) }),
      'refused opted-out',
    ],
    [
      'but not a finished opted-out Pod',
      view({ cluster: cluster({ pods: [pod(), pod({ uid: 'b', optOut: optOut('licence'), finished: true })] }) }),
      'mark',
    ],
    [
      'an opt-out after the mark comes too late',
      view({ cluster: cluster({ node: marked({}, { optOuts: [optOut('late')] }) }) }),
      'delete-pod',
    ],
    [
      'an opted-out Pod of a Node that is gone',
      view({ cluster: cluster({ node: null, pods: [pod({ optOut: optOut('licence') })] }) }),
      'refused opted-out',
    ],
    ['the cap is asked before the mark', asked(null), 'reserve cap-reached'],
    ['... and if the Node is gone', asked(null, { cluster: cluster({ node: null }) }), 'reserve cap-reached'],
    [
      '... and if the fence begins again for a later boot',
      asked(null, { cluster: cluster({ node: marked({ generation: 'boot-0' }) }) }),
      'reserve cap-reached',
    ],
    [
      '... but never if there is nothing to free',
      asked(null, { cluster: cluster({ pods: [], volumes: [] }), machine: machine({ disks: [] }) }),
      'ignored nothing-to-free',
    ],
    ['what the cap does not admit', asked(refusedAt), 'refused cap-reached'],
    ['... even if the Node is gone', asked(refusedAt, { cluster: cluster({ node: null }) }), 'refused cap-reached'],
    [
      '... for a later boot',
      asked(refusedAt, { cluster: cluster({ node: marked({ generation: 'boot-0' }) }) }),
      'refused cap-reached',
    ],
    ['... and if its taint is to return for work that came back', asked(null, parked), 'reserve cap-reached'],
    ['... which it does not admit either', asked(refusedAt, parked), 'refused cap-reached'],
    [
      'the cap does not stop a fence that has begun',
      asked(refusedAt, { cluster: cluster({ node: marked() }) }),
      'delete-pod',
    ],
    ['... and is not asked again', asked(null, { cluster: cluster({ node: marked() }) }), 'delete-pod'],
    [
      'nothing to free',
      view({
        cluster: cluster({ pods: [pod({ kind: 'mirror' }), pod({ kind: 'daemon', volumes: [] })], volumes: [] }),
        machine: machine({ disks: [] }),
      }),
      'ignored nothing-to-free',
    ],
    [
      '... and a volume that is not attached is nothing to free',
      view({
        cluster: cluster({ pods: [], volumes: [volume({ attachment: null })] }),
        machine: machine({ disks: [] }),
      }),
      'ignored nothing-to-free',
    ],
    ['an attached volume is something to free', view({ cluster: cluster({ pods: [] }) }), 'mark'],
    [
      'a pod without a volume is something to move',
      view({ cluster: cluster({ pods: [pod({ volumes: [] })], volumes: [] }), machine: machine({ disks: [] }) }),
      'mark',
    ],
    ['a delay by policy', view({ policy: policy({ fenceAfter: 60_000 }) }), 'wait delayed-by-policy'],
    [
      '... counted from the kubelet’s last sign of life if the cloud gives no time',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: ago(61_000) }),
      }),
      'mark',
    ],
    [
      '... which may be later than the delay',
      view({ policy: policy({ fenceAfter: 60_000 }), machine: machine({ since: null }) }),
      'wait delayed-by-policy',
    ],
    [
      '... whose clock may be a minute fast',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: ago(-60_000) }),
        memory: { ...view().memory, firstOff: { wall: NOW, mono: -20_000, generation: 'boot-1' }, leaseSince: -20_000 },
      }),
      'wait delayed-by-policy',
    ],
    [
      '... unless its clock is so fast that its Lease would delay the fence forever',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: ago(-60_001) }),
        memory: { ...view().memory, firstOff: { wall: NOW, mono: -20_000, generation: 'boot-1' }, leaseSince: -20_000 },
      }),
      'mark',
    ],
    [
      '... and no delay if nothing says since when, because each run would begin it anew',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: null }),
      }),
      'mark',
    ],
    [
      '... even for what is left of a Node that is gone',
      view({ policy: policy({ fenceAfter: 60_000 }), cluster: cluster({ node: null }) }),
      'wait delayed-by-policy',
    ],
    ['... that is over', view({ policy: policy({ fenceAfter: 30_000 }) }), 'mark'],
    [
      '... and never for a fence that has begun',
      view({ policy: policy({ fenceAfter: 60_000 }), cluster: cluster({ node: marked() }) }),
      'delete-pod',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('what the cap says', () => {
  it('names the numbers and the time at which the window has moved on, and asks for a look then', () => {
    expect(decide(asked(refusedAt))).toMatchObject({
      lookAgainIn: 60_000,
      because: {
        says: 'Nodes fenced within 15 minutes: 4 of at most 4 (49 % of 10); unfinished fences: 2 of at most 2 (20 % of 10); this fence can begin at 2026-01-01T12:01:00.000Z',
      },
    });
  });
  it('waits for no time if only another fence has to end', () => {
    const decision = decide(asked({ ...refusedAt, begun: 2, opens: null }));
    expect(decision).not.toHaveProperty('lookAgainIn');
    expect(decision.because.says).toBe(
      'unfinished fences: 2 of at most 2 (20 % of 10); this fence can begin when another fence ends',
    );
  });
  it('is asked for the boot that has ended, which the record of a deleted machine may name', () => {
    expect(decide(asked(null))).toMatchObject({ do: 'reserve', boot: 'boot-1' });
    const gone = {
      machine: machine({ power: 'missing', generation: null }),
      cluster: cluster({ node: null, lease: null }),
      memory: { ...view().memory, admission: null, witness: 'released' as const },
    };
    expect(decide(view({ ...gone, remembered: record() }))).toMatchObject({ do: 'reserve', boot: 'boot-1' });
    expect(decide(view(gone))).toMatchObject({ do: 'reserve', boot: null });
  });
});

describe('a machine that runs while its Node is unreachable', () => {
  const unreachable = node({ ready: 'Unknown', readySince: NOW - 10 * 60_000 });
  const survey = (
    names: readonly string[],
    zone: readonly string[] = ['node-a', 'node-b'],
    change: Partial<SurveyOfClusters> = {},
    requestedAt = -28_999,
  ) => ({
    memory: {
      ...view().memory,
      connectivity: { value: { ...alone, unreachable: names, zone, ...change }, requestedAt },
    },
  });
  const running = (change: Partial<View>, nodeChange = unreachable) =>
    view({
      machine: machine({ power: 'running', since: NOW - 3_600_000 }),
      cluster: cluster({ node: nodeChange }),
      policy: policy({ unreachable: 'power-off' }),
      ...change,
    });
  const cases: readonly [string, View, string][] = [
    ['is reported and left alone', running({ policy: defaultPolicy }), 'refused unreachable-but-running'],
    ['under power-off, others are asked about first', running({}), 'survey-connectivity unreachable-but-running'],
    [
      '... and again by a process that was frozen for half a minute',
      running(survey(['node-a'], alone.zone, {}, -29_000)),
      'survey-connectivity unreachable-but-running',
    ],
    ['under power-off, it is powered off if it is the only one', running(survey(['node-a'])), 'power-off'],
    [
      '... and if the cap admits it',
      running({ memory: { ...survey(['node-a']).memory, admission: null } }),
      'reserve cap-reached',
    ],
    [
      'never past the cap, because a machine that is powered off has to be fenced',
      running({ memory: { ...survey(['node-a']).memory, admission: refusedAt } }),
      'refused cap-reached',
    ],
    [
      'never before five minutes',
      running(survey(['node-a']), node({ ready: 'Unknown', readySince: NOW - 60_000 })),
      'refused power-off-refused',
    ],
    [
      'never a control-plane node',
      running(survey(['node-a']), { ...unreachable, controlPlane: true }),
      'refused power-off-refused',
    ],
    ['never if another node is unreachable too', running(survey(['node-a', 'node-c'])), 'refused power-off-refused'],
    [
      'never while another Node also names the machine',
      running(survey(['node-a'], alone.zone, { nodesNamingMachine: ['node-a', 'node-new'] })),
      'refused power-off-refused',
    ],
    [
      '... not even in another cluster',
      running(survey(['node-a'], alone.zone, { elsewhere: ['node-new in two'] })),
      'refused power-off-refused',
    ],
    [
      '... and never while another cluster cannot be asked',
      running(survey(['node-a'], alone.zone, { unanswered: ['two (no route to host)'] })),
      'refused power-off-refused',
    ],
    [
      'never within five minutes of its start, however long its Node was silent before',
      running({ ...survey(['node-a']), machine: machine({ power: 'running', since: NOW - 60_000 }) }),
      'refused power-off-refused',
    ],
    ['never if a whole zone is unreachable', running(survey(['node-a'], ['node-a'])), 'refused power-off-refused'],
    ['never if its Lease is fresh', running(survey([])), 'refused power-off-refused'],
    [
      'never if its Lease was renewed since it was first read',
      running({ memory: { ...survey(['node-a']).memory, firstLease: ago(90_000) } }),
      'refused power-off-refused',
    ],
    [
      'never if it is opted out',
      running(survey(['node-a']), { ...unreachable, optOuts: [optOut('no')] }),
      'refused opted-out',
    ],
    [
      'once only',
      running({ memory: { ...survey(['node-a']).memory, takenAt: new Map([['power-off m-1', 0]]) } }),
      'wait stopping-too-long',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a machine that stays in stopping', () => {
  const silent = node({ ready: 'Unknown', readySince: NOW - 10 * 60_000 });
  const survey = (claimants = ['node-a']) => ({
    memory: {
      ...view().memory,
      connectivity: { value: { ...alone, nodesNamingMachine: claimants }, requestedAt: 900 },
    },
  });
  const stopping = (
    minutes: number,
    unreachable: 'report' | 'power-off',
    change: Partial<View> = survey(),
    stands = silent,
  ) =>
    view({
      machine: machine({ power: 'stopping', since: NOW - minutes * 60_000 }),
      policy: policy({ unreachable }),
      cluster: cluster({ node: stands }),
      ...change,
    });
  const untimed = (at: number) =>
    stopping(0, 'report', {
      machine: machine({ power: 'stopping', since: null }),
      memory: { ...view().memory, firstStopping: { at, generation: 'boot-1' } },
      cluster: cluster({
        node: { ...silent, stopping: { at: NOW, boot: `${shortHash('m-1')}${shortHash('boot-1')}` } },
      }),
    });
  it.each([
    ['is waited for', stopping(9, 'power-off'), 'wait stopping'],
    ['is an alarm after ten minutes', stopping(11, 'report'), 'wait stopping-too-long'],
    ['is then forced off under power-off', stopping(11, 'power-off'), 'power-off'],
    [
      '... by the same thresholds: others are asked about first',
      stopping(11, 'power-off', {}),
      'survey-connectivity unreachable-but-running',
    ],
    ['... never while its Node is Ready', stopping(11, 'power-off', survey(), node()), 'refused power-off-refused'],
    [
      '... never a control-plane node',
      stopping(11, 'power-off', survey(), { ...silent, controlPlane: true }),
      'refused power-off-refused',
    ],
    [
      '... never while another Node names the machine',
      stopping(11, 'power-off', survey(['node-new'])),
      'refused power-off-refused',
    ],
    ['if the cloud gives no time, the kubelet’s silence does not count', untimed(NOW), 'wait stopping'],
    ['... but our own first sight counts', untimed(NOW - 11 * 60_000), 'wait stopping-too-long'],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

it('a disk that no volume of the Node explains causes one search of the list of attachments', () => {
  const drained = view({ cluster: cluster({ pods: [], volumes: [] }) });
  expect(said(drained)).toBe('search disks-going');
  expect(said({ ...drained, memory: { ...drained.memory, searched: true } })).toBe('ignored nothing-to-free');
});

it('a volume that cannot be named as a PersistentVolume still counts as attached', () => {
  expect(said(view({ cluster: cluster({ pods: [], volumes: [volume({ persistentVolume: null })] }) }))).toBe('mark');
});
