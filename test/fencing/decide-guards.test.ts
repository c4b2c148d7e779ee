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
  attachment,
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

const onlyAttacherLeft = { pods: [], volumes: [volume({ attachment: attachment({ deletingSince: NOW - 1_000 }) })] };

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

describe('a fence of a machine that is off', () => {
  const cases: readonly [string, View, string][] = [
    ['is refused during a pause of all clusters', view({ policy: policy({ paused: 'upgrade' }) }), 'refused paused'],
    [
      'is refused during a pause of the cluster',
      view({ cluster: cluster({ surroundings: { paused: 'upgrade' } }) }),
      'refused paused',
    ],
    [
      'is not ended by a person either during a pause of the cluster',
      view({
        request: { ...view().request, intent: 'release', accepted: 'checked' },
        cluster: cluster({ node: marked(), surroundings: { paused: 'upgrade' } }),
      }),
      'refused paused',
    ],
    [
      'reserves no place under the cap before the delay of the policy is over',
      asked(null, { policy: policy({ fenceAfter: 60_000 }) }),
      'wait delayed-by-policy',
    ],
    [
      'stops if a pause begins in the middle',
      view({ cluster: cluster({ node: marked(), surroundings: { paused: 'upgrade' } }) }),
      'refused paused',
    ],
    [
      'an opted-out Node',
      view({ cluster: cluster({ node: node({ optOuts: [optOut('bare metal')] }) }) }),
      'refused opted-out',
    ],
    [
      'is refused by an administrator’s label if only that counts',
      view({ policy: nodesOnly, cluster: cluster({ node: node({ optOuts: [optOut('bare metal', 'label')] }) }) }),
      'refused opted-out',
    ],
    [
      'is not refused by an annotation, which the kubelet may have written, if only the label counts',
      view({ policy: nodesOnly, cluster: cluster({ node: node({ optOuts: [optOut('bare metal')] }) }) }),
      'mark',
    ],
    [
      'is not refused by a tenant’s Pod if only the label counts',
      view({ policy: nodesOnly, cluster: cluster({ pods: [pod({ optOut: optOut('licence') })] }) }),
      'mark',
    ],
    [
      'is not refused by any opt-out if the policy counts none',
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
      'is refused by one opted-out Pod of the Node',
      view({ cluster: cluster({ pods: [pod({ uid: 'a' }), pod({ uid: 'b', optOut: optOut('licence') })] }) }),
      'refused opted-out',
    ],
    [
      'is refused by an opted-out Pod that a fence would leave alone',
      view({ cluster: cluster({ pods: [pod(), pod({ uid: 'b', optOut: optOut('licence'), tolerates: true })] }) }),
      'refused opted-out',
    ],
    [
      'is not refused by an opted-out Pod that has finished',
      view({ cluster: cluster({ pods: [pod(), pod({ uid: 'b', optOut: optOut('licence'), finished: true })] }) }),
      'mark',
    ],
    [
      'is not stopped by an opt-out after the mark',
      view({ cluster: cluster({ node: marked({}, { optOuts: [optOut('late')] }) }) }),
      'delete-pod',
    ],
    [
      'is refused by an opted-out Pod of a Node that is gone',
      view({ cluster: cluster({ node: null, pods: [pod({ optOut: optOut('licence') })] }) }),
      'refused opted-out',
    ],
    [
      'deletes no attachment that a gone Node left if a Pod that does not use its volume is opted out',
      view({ cluster: cluster({ node: null, pods: [pod({ volumes: [], optOut: optOut('licence') })] }) }),
      'refused opted-out',
    ],
    [
      'asks the cap before it deletes an attachment that a gone Node left',
      asked(null, { cluster: cluster({ node: null, pods: [] }) }),
      'reserve cap-reached',
    ],
    [
      'deletes no attachment that a gone Node left if the cap does not admit it',
      asked(refusedAt, { cluster: cluster({ node: null, pods: [] }) }),
      'refused cap-reached',
    ],
    [
      'deletes the attachment that a gone Node left if the cap admits it',
      asked(admitted, { cluster: cluster({ node: null, pods: [] }) }),
      'delete-attachment',
    ],
    [
      'detaches no disk that a gone Node left if the cap does not admit it',
      asked(refusedAt, { cluster: cluster({ node: null, pods: [], volumes: [volume({ attachment: null })] }) }),
      'refused cap-reached',
    ],
    [
      'does not ask the cap if a gone Node left only an attachment that its attacher has to release',
      asked(refusedAt, { cluster: cluster({ ...onlyAttacherLeft, node: null }), machine: machine({ disks: [] }) }),
      'wait attachments-going',
    ],
    [
      'asks the cap before the mark, even if the attacher has to release an attachment',
      asked(null, { cluster: cluster(onlyAttacherLeft), machine: machine({ disks: [] }) }),
      'reserve cap-reached',
    ],
    ['asks the cap before the mark', asked(null), 'reserve cap-reached'],
    ['asks the cap if the Node is gone', asked(null, { cluster: cluster({ node: null }) }), 'reserve cap-reached'],
    [
      'asks the cap again if it begins again for a later boot',
      asked(null, { cluster: cluster({ node: marked({ generation: 'boot-0' }) }) }),
      'reserve cap-reached',
    ],
    [
      'does not ask the cap if there is nothing to free',
      asked(null, { cluster: cluster({ pods: [], volumes: [] }), machine: machine({ disks: [] }) }),
      'ignored nothing-to-free',
    ],
    ['is refused if the cap does not admit it', asked(refusedAt), 'refused cap-reached'],
    [
      'is refused if the cap does not admit it, even if the Node is gone',
      asked(refusedAt, { cluster: cluster({ node: null }) }),
      'refused cap-reached',
    ],
    [
      'is refused if the cap does not admit it for a later boot',
      asked(refusedAt, { cluster: cluster({ node: marked({ generation: 'boot-0' }) }) }),
      'refused cap-reached',
    ],
    ['asks the cap before its taint returns for work that came back', asked(null, parked), 'reserve cap-reached'],
    ['is refused if the cap does not admit the return of its taint', asked(refusedAt, parked), 'refused cap-reached'],
    [
      'is not stopped by the cap once it has begun',
      asked(refusedAt, { cluster: cluster({ node: marked() }) }),
      'delete-pod',
    ],
    [
      'does not ask the cap again once it has begun',
      asked(null, { cluster: cluster({ node: marked() }) }),
      'delete-pod',
    ],
    [
      'is not needed if there is nothing to free',
      view({
        cluster: cluster({ pods: [pod({ kind: 'mirror' }), pod({ kind: 'daemon', volumes: [] })], volumes: [] }),
        machine: machine({ disks: [] }),
      }),
      'ignored nothing-to-free',
    ],
    [
      'is not needed if the only volume is not attached',
      view({
        cluster: cluster({ pods: [], volumes: [volume({ attachment: null })] }),
        machine: machine({ disks: [] }),
      }),
      'ignored nothing-to-free',
    ],
    [
      'is not needed if only pods that tolerate the taint use volumes',
      view({ cluster: cluster({ pods: [pod({ tolerates: true })] }) }),
      'ignored nothing-to-free',
    ],
    [
      'is needed if another pod uses their volume, too',
      view({ cluster: cluster({ pods: [pod({ tolerates: true }), pod({ uid: 'other' })] }) }),
      'mark',
    ],
    [
      'is needed if another volume is attached',
      view({
        cluster: cluster({ pods: [pod({ tolerates: true })], volumes: [volume(), volume({ key: 'a-driver^other' })] }),
      }),
      'mark',
    ],
    ['is needed if a volume is attached', view({ cluster: cluster({ pods: [] }) }), 'mark'],
    [
      'is needed if there is a pod without a volume',
      view({ cluster: cluster({ pods: [pod({ volumes: [] })], volumes: [] }), machine: machine({ disks: [] }) }),
      'mark',
    ],
    ['is delayed by the policy', view({ policy: policy({ fenceAfter: 60_000 }) }), 'wait delayed-by-policy'],
    [
      'is not delayed without such a policy if the cloud’s clock is ahead of ours',
      view({ machine: machine({ since: NOW + 300_000 }) }),
      'mark',
    ],
    [
      'is delayed from the kubelet’s last sign of life if the cloud gives no time',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: ago(61_000) }),
      }),
      'mark',
    ],
    [
      'is not delayed any more once that sign of life is old enough',
      view({ policy: policy({ fenceAfter: 60_000 }), machine: machine({ since: null }) }),
      'wait delayed-by-policy',
    ],
    [
      'is delayed by a kubelet whose clock is up to a minute fast',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: ago(-60_000) }),
        memory: { ...view().memory, firstOff: { wall: NOW, mono: -20_000, generation: 'boot-1' }, leaseSince: -20_000 },
      }),
      'wait delayed-by-policy',
    ],
    [
      'is not delayed by a Lease so far ahead that the delay would never end',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: ago(-60_001) }),
        memory: { ...view().memory, firstOff: { wall: NOW, mono: -20_000, generation: 'boot-1' }, leaseSince: -20_000 },
      }),
      'mark',
    ],
    [
      'is not delayed if nothing says since when, because each run would begin the delay again',
      view({
        policy: policy({ fenceAfter: 60_000 }),
        machine: machine({ since: null }),
        cluster: cluster({ lease: null }),
      }),
      'mark',
    ],
    [
      'is delayed by the policy even if the Node is gone',
      view({ policy: policy({ fenceAfter: 60_000 }), cluster: cluster({ node: null }) }),
      'wait delayed-by-policy',
    ],
    [
      'is not delayed any more if the Node is gone and the delay is over',
      view({ policy: policy({ fenceAfter: 30_000 }) }),
      'mark',
    ],
    [
      'is delayed if a pod comes to a Node that was parked for this stop, because nothing has waited for it yet',
      view({ ...parked, policy: policy({ fenceAfter: 60_000 }) }),
      'wait delayed-by-policy',
    ],
    [
      'is not delayed once it has begun',
      view({ policy: policy({ fenceAfter: 60_000 }), cluster: cluster({ node: marked() }) }),
      'delete-pod',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('an answer of the cap', () => {
  it('names the numbers and when the cap has room again, and the run looks again at that time', () => {
    expect(decide(asked(refusedAt))).toMatchObject({
      lookAgainIn: 60_000,
      because: {
        says: 'Nodes fenced within 15 minutes: 4 of at most 4 (49 % of 10); unfinished fences: 2 of at most 2 (20 % of 10); this fence can begin at 2026-01-01T12:01:00.000Z',
      },
    });
  });
  it('names no time if only another fence has to end', () => {
    const decision = decide(asked({ ...refusedAt, begun: 2, opens: null }));
    expect(decision).not.toHaveProperty('lookAgainIn');
    expect(decision.because.says).toBe(
      'unfinished fences: 2 of at most 2 (20 % of 10); this fence can begin when another fence ends',
    );
  });
  it('is requested for the boot that has ended, which the record of a deleted machine may name', () => {
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
    [
      'is only reported under the default policy',
      running({ policy: defaultPolicy }),
      'refused unreachable-but-running',
    ],
    [
      'causes a survey of the other Nodes before it is powered off',
      running({}),
      'survey-connectivity unreachable-but-running',
    ],
    [
      'causes another survey if the last one is half a minute old, because the process was frozen',
      running(survey(['node-a'], alone.zone, {}, -29_000)),
      'survey-connectivity unreachable-but-running',
    ],
    ['is powered off if the policy is power-off and it is the only one', running(survey(['node-a'])), 'power-off'],
    [
      'asks the cap before it is powered off',
      running({ memory: { ...survey(['node-a']).memory, admission: null } }),
      'reserve cap-reached',
    ],
    [
      'is not powered off if the cap does not admit it, because it has to be fenced afterwards',
      running({ memory: { ...survey(['node-a']).memory, admission: refusedAt } }),
      'refused cap-reached',
    ],
    [
      'is not powered off before its Node has been unreachable for five minutes',
      running(survey(['node-a']), node({ ready: 'Unknown', readySince: NOW - 60_000 })),
      'refused power-off-refused',
    ],
    [
      'is not powered off if it is a control-plane node',
      running(survey(['node-a']), { ...unreachable, controlPlane: true }),
      'refused power-off-refused',
    ],
    [
      'is not powered off if another Node is unreachable too',
      running(survey(['node-a', 'node-c'])),
      'refused power-off-refused',
    ],
    [
      'is not powered off if another Node also names it',
      running(survey(['node-a'], alone.zone, { nodesNamingMachine: ['node-a', 'node-new'] })),
      'refused power-off-refused',
    ],
    [
      'is not powered off if a Node in another cluster also names it',
      running(survey(['node-a'], alone.zone, { elsewhere: ['node-new in two'] })),
      'refused power-off-refused',
    ],
    [
      'is not powered off if another cluster does not answer',
      running(survey(['node-a'], alone.zone, { unanswered: ['two (no route to host)'] })),
      'refused power-off-refused',
    ],
    [
      'is not powered off within five minutes of its start, however long its Node was silent before',
      running({ ...survey(['node-a']), machine: machine({ power: 'running', since: NOW - 60_000 }) }),
      'refused power-off-refused',
    ],
    [
      'is not powered off if a whole zone is unreachable',
      running(survey(['node-a'], ['node-a'])),
      'refused power-off-refused',
    ],
    ['is not powered off if its Lease is fresh', running(survey([])), 'refused power-off-refused'],
    [
      'is not powered off if its Lease was renewed since it was first read',
      running({ memory: { ...survey(['node-a']).memory, firstLease: ago(90_000) } }),
      'refused power-off-refused',
    ],
    [
      'is not powered off if its Node is opted out',
      running(survey(['node-a']), { ...unreachable, optOuts: [optOut('no')] }),
      'refused opted-out',
    ],
    [
      'is not powered off twice',
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
    ['is waited for at first', stopping(9, 'power-off'), 'wait stopping'],
    ['raises an alarm after ten minutes', stopping(11, 'report'), 'wait stopping-too-long'],
    ['is powered off after ten minutes if the policy is power-off', stopping(11, 'power-off'), 'power-off'],
    [
      'causes a survey of the other Nodes before it is powered off',
      stopping(11, 'power-off', {}),
      'survey-connectivity unreachable-but-running',
    ],
    [
      'is not powered off while its Node is Ready',
      stopping(11, 'power-off', survey(), node()),
      'refused power-off-refused',
    ],
    [
      'is not powered off if it is a control-plane node',
      stopping(11, 'power-off', survey(), { ...silent, controlPlane: true }),
      'refused power-off-refused',
    ],
    [
      'is not powered off if another Node also names it',
      stopping(11, 'power-off', survey(['node-new'])),
      'refused power-off-refused',
    ],
    [
      'is only waited for if the cloud gives no time, because the kubelet’s silence does not count',
      untimed(NOW),
      'wait stopping',
    ],
    [
      'is powered off if the cloud gives no time but this run saw it stopping ten minutes ago',
      untimed(NOW - 11 * 60_000),
      'wait stopping-too-long',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

it('a disk that no volume of the Node explains causes one search of the list of all attachments', () => {
  const drained = view({ cluster: cluster({ pods: [], volumes: [] }) });
  expect(decide(drained)).toMatchObject({
    do: 'search',
    because: { says: expect.stringMatching(/VolumeAttachments$/) },
  });
  expect(said({ ...drained, memory: { ...drained.memory, searched: true } })).toBe('ignored nothing-to-free');
});

it('a volume that is attached but cannot be named as a PersistentVolume still counts as attached', () => {
  expect(said(view({ cluster: cluster({ pods: [], volumes: [volume({ persistentVolume: null })] }) }))).toBe('mark');
});
