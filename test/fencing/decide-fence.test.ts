import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import { removedByHand } from '../../fencing/rules/removed.ts';
import { fenceInBoot } from '../../fencing/model/cluster-facts.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import {
  ago,
  attachment,
  cluster,
  machine,
  marked,
  node,
  NOW,
  PARKED,
  pod,
  record,
  view,
  volume,
} from './view-builder.ts';

const fencing = (change: Partial<ReturnType<typeof cluster>> = {}, rest: Partial<View> = {}) =>
  view({ cluster: cluster({ node: marked(), ...change }), ...rest });
const stepOf = (given: View): Step | null => {
  const decision = decide(given);
  return decision.do === 'step' ? decision.step : null;
};
const target = (given: View): string | null => {
  const step = stepOf(given);
  return step && 'pod' in step ? `${step.do} ${step.pod.name}` : (step?.do ?? null);
};

const buried = fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-1' });

describe('the mark', () => {
  it('writes evidence, generation, boot, Lease, volumes, and pods', () => {
    const step = stepOf(view());
    expect(step).toMatchObject({ do: 'mark', addOutOfService: true, node: { uid: 'node-uid', bootID: 'boot-a' } });
    expect(step?.do === 'mark' && step.record).toMatchObject({
      phase: 'fencing',
      machine: 'm-1',
      generation: 'boot-1',
      bootID: 'boot-a',
      lease: ago(20_000),
      outOfService: 'ours',
      evidence: { state: 'off' },
      volumes: [{ handle: 'disk-1', persistentVolume: 'pv-1', attachment: 'csi-1' }],
      pods: [{ name: 'db-0', uid: 'pod-uid' }],
    });
  });
  it.each([
    [
      'does not claim a taint that someone else set',
      { node: node({ taints: { outOfService: true, ours: false, quarantine: false } }) },
      'foreign',
      false,
    ],
    [
      'sets only the quarantine if the cluster does not know the out-of-service taint',
      { taintSupported: false },
      'unsupported',
      false,
    ],
    [
      'of a second fence still claims the taint that the first fence set',
      { node: marked({ generation: 'boot-0' }) },
      'ours',
      false,
    ],
    [
      'of a second fence does not claim the taint that the first fence found',
      { node: marked({ generation: 'boot-0', outOfService: 'foreign' }) },
      'foreign',
      false,
    ],
    [
      'does not claim a taint because the record claims it, because a kubelet may write the record',
      { node: marked({ generation: 'boot-0' }, { taints: { outOfService: true, ours: false, quarantine: true } }) },
      'foreign',
      false,
    ],
  ])('%s', (_, change, outOfService, addOutOfService) => {
    const step = stepOf(view({ cluster: cluster(change) }));
    expect(step).toMatchObject({ do: 'mark', addOutOfService, record: { outOfService } });
  });
  it('begins a new fence after another boot, and keeps the volumes that the first fence named', () => {
    const before = marked({
      generation: 'boot-0',
      volumes: [{ driver: 'a-driver', handle: 'disk-9', persistentVolume: 'pv-9', attachment: 'csi-9' }],
    });
    const step = stepOf(view({ cluster: cluster({ node: before }) }));
    expect(step?.do === 'mark' && step.record.volumes.map((named) => named.attachment)).toEqual(['csi-1', 'csi-9']);
  });
  it('begins no new fence if the Node shows another boot although its machine was off all the time', () => {
    expect(said(view({ cluster: cluster({ node: marked({ bootID: 'boot-before' }) }) }))).toBe(
      'refused identity-contradicted',
    );
  });
  it('begins a new fence if the machine goes off while its fence is being released', () =>
    expect(said(view({ cluster: cluster({ node: marked({ phase: 'releasing', generation: 'boot-0' }) }) }))).toBe(
      'mark',
    ));
  it('is not written again if the cloud has forgotten the machine by now: the old fence continues', () => {
    const forgotten = machine({ power: 'missing', generation: null });
    expect(
      said(
        fencing(
          { lease: null },
          {
            machine: forgotten,
            request: { ...view().request, vouched: 'it is gone' },
            policy: { ...defaultPolicy, vouching: 'accepted' },
          },
        ),
      ),
    ).toBe('delete-pod');
  });
  it.each([
    ['out-of-service', PARKED],
    ['quarantine', { outOfService: true, ours: true, quarantine: false }],
  ])('is not written again if someone removed the %s taint: the fence stops, and leaves a tombstone', (_, taints) => {
    expect(stepOf(view({ cluster: cluster({ node: marked({}, { taints }) }) }))).toEqual({
      do: 'set-tombstone',
      node: expect.objectContaining({ uid: 'node-uid' }),
      tombstone: buried,
    });
    expect(said(view({ cluster: cluster({ node: marked({}, { taints, tombstone: buried }) }) }))).toBe(
      'refused taint-removed-by-hand',
    );
  });
  it('leaves a tombstone for the boot of the record if the cloud does not know the machine at present', () => {
    const forgotten = machine({ power: 'missing', generation: null });
    const left = (change: Partial<View>, node = marked({}, { taints: PARKED })) =>
      removedByHand(view({ machine: forgotten, cluster: cluster({ node }), ...change }));
    expect(left({})).toMatchObject({ step: { do: 'set-tombstone', tombstone: buried } });
    const bare = node({ taints: PARKED });
    expect(left({ remembered: record() }, bare)).toMatchObject({ step: { tombstone: buried } });
    const unnamed = fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: null });
    expect(left({}, node({ label: 'run.1' }))).toMatchObject({ step: { tombstone: unnamed } });
  });
});

describe('a removal by hand', () => {
  const free = { machine: machine({ disks: [] }) };
  const unquarantined = (recorded: Parameters<typeof marked>[0]) =>
    marked(recorded, { taints: { outOfService: false, ours: false, quarantine: false } });
  const cases: readonly [string, View, string][] = [
    [
      'is seen if the record that this run remembers is gone, in the same boot',
      view({ remembered: record() }),
      'set-tombstone',
    ],
    [
      'stops later runs through its tombstone',
      view({ cluster: cluster({ node: node({ tombstone: buried, label: 'x' }) }) }),
      'refused fence-removed-by-hand',
    ],
    [
      'stops later runs through its tombstone even if the cloud has forgotten the machine',
      view({
        cluster: cluster({ lease: null, node: node({ tombstone: buried, label: 'x' }) }),
        machine: machine({ power: 'missing', generation: null }),
        memory: { ...view().memory, witness: 'released', testified: ['va-uid'] },
      }),
      'refused fence-removed-by-hand',
    ],
    [
      'is seen by the label if our taint and the rest of our fence are gone',
      view({ cluster: cluster({ node: node({ taintedFor: buried }) }) }),
      'set-tombstone',
    ],
    [
      'is not seen if someone else’s taint has replaced ours and the rest of our fence is there',
      fencing({
        node: marked({}, { taintedFor: buried, taints: { outOfService: true, ours: false, quarantine: true } }),
      }),
      'delete-pod',
    ],
    [
      'is seen if someone else’s taint has replaced ours and the rest of our fence is gone',
      view({
        cluster: cluster({
          node: node({ taintedFor: buried, taints: { outOfService: true, ours: false, quarantine: false } }),
        }),
      }),
      'set-tombstone',
    ],
    [
      'of an earlier boot does not stop a fence of a later boot',
      view({
        cluster: cluster({
          node: node({ taintedFor: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }) }),
        }),
      }),
      'mark',
    ],
    [
      'of an earlier boot does not stop a fence of a later boot, although the record of the earlier one is still there',
      view({
        cluster: cluster({
          node: marked(
            { generation: 'boot-0' },
            {
              taintedFor: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }),
              taints: PARKED,
            },
          ),
        }),
      }),
      'mark',
    ],
    [
      'stops later runs even if the cloud did not know the boot at that time',
      view({
        cluster: cluster({
          node: node({ tombstone: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: null }), label: 'x' }),
        }),
      }),
      'refused fence-removed-by-hand',
    ],
    [
      'does not stop a later boot through the tombstone of an earlier boot',
      view({
        cluster: cluster({
          node: node({ tombstone: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }), label: 'x' }),
        }),
      }),
      'mark',
    ],
    [
      'is seen if a person is releasing the fence and the machine has not booted since',
      view({ cluster: cluster({ node: marked({ phase: 'releasing' }) }), remembered: record() }),
      'set-tombstone',
    ],
    [
      'is not seen if the remembered fence is of another boot: a new fence begins',
      view({ remembered: record({ bootID: 'boot-before' }) }),
      'mark',
    ],
    [
      'is not seen if the Node was re-created: a new fence begins',
      view({ remembered: record({ nodeUid: 'an older one' }) }),
      'mark',
    ],
    [
      'is seen if the quarantine of a parked Node is gone',
      view({
        cluster: cluster({
          node: marked(
            { phase: 'fenced', released: ago(1_000) },
            { taints: { outOfService: false, ours: false, quarantine: false } },
          ),
        }),
      }),
      'set-tombstone',
    ],
    [
      'is not seen if Cloudfence itself lifted the mark',
      view({
        cluster: cluster({
          node: marked({ phase: 'lifted', released: ago(1_000) }, { taints: PARKED }),
        }),
        remembered: record(),
      }),
      'mark',
    ],
    [
      'is seen if the quarantine is gone after Cloudfence lifted the mark, in the same boot',
      view({
        cluster: cluster({ node: unquarantined({ phase: 'lifted', released: ago(1_000) }) }),
        remembered: record(),
      }),
      'set-tombstone',
    ],
    [
      'is seen if the quarantine is gone after Cloudfence lifted the mark, even if there is nothing to free any more',
      view({
        ...free,
        cluster: cluster({ node: unquarantined({ phase: 'lifted', released: ago(1_000) }), pods: [], volumes: [] }),
      }),
      'set-tombstone',
    ],
    [
      'is seen if the quarantine is gone after Cloudfence lifted the mark, even if the cloud has forgotten the machine',
      view({
        machine: machine({ power: 'missing', generation: null, disks: [] }),
        memory: { ...view().memory, witness: 'released', testified: ['va-uid'] },
        cluster: cluster({ lease: null, node: unquarantined({ phase: 'lifted', released: ago(1_000) }), pods: [] }),
      }),
      'set-tombstone',
    ],
    [
      'of the quarantine in an earlier boot does not stop a fence of this boot',
      view({
        cluster: cluster({ node: unquarantined({ phase: 'lifted', released: ago(1_000), generation: 'boot-0' }) }),
      }),
      'mark',
    ],
    [
      'is suspected, and the fence refused, if only a record of this boot is left',
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) }),
      'refused record-not-ours',
    ],
    [
      'is suspected, and the fence refused, if only a record without a generation is left',
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record({ generation: null }) }) }) }),
      'refused record-not-ours',
    ],
    [
      'is seen if only the record is left and this run remembers the fence',
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }), remembered: record() }),
      'set-tombstone',
    ],
    [
      'is suspected even if the cloud has forgotten the machine',
      view({
        machine: machine({ power: 'missing', generation: null, disks: [] }),
        memory: { ...view().memory, witness: 'released', testified: ['va-uid'] },
        cluster: cluster({ lease: null, node: node({ recordText: '{}', strayRecord: record() }) }),
      }),
      'refused record-not-ours',
    ],
    ...(['generation', 'bootID', 'machine'] as const).map((what): [string, View, string] => [
      `is not suspected if the record that is left is of another ${what}`,
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record({ [what]: 'another' }) }) }) }),
      'mark',
    ]),
    [
      'is not seen if only the label of a parked Node is gone: the label is written again',
      view({
        cluster: cluster({
          node: marked({ phase: 'fenced', released: ago(1_000) }, { label: null }),
          pods: [],
          volumes: [],
        }),
        ...free,
      }),
      'park',
    ],
    [
      'is not seen if only the record is gone: our taint next to our label is still ours',
      fencing({ node: node({ label: 'run.1', taints: { outOfService: true, ours: true, quarantine: true } }) }, free),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a step that the API server declined', () => {
  const declined = (...keys: string[]) => ({
    memory: { ...view().memory, declined: new Map(keys.map((key) => [key, 'a webhook says no'])) },
  });
  const two = [pod({ uid: 'a', name: 'a', volumes: [] }), pod({ uid: 'b', name: 'b', volumes: [] })];
  it('does not stop the next pod from being deleted', () =>
    expect(target(fencing({ pods: two }, declined('delete-pod a')))).toBe('delete-pod b'));
  it('is reported at the end', () => {
    const given = fencing(
      { pods: two, volumes: [] },
      { ...declined('delete-pod a', 'delete-pod b'), machine: machine({ disks: [] }) },
    );
    expect(stepOf(given)).toMatchObject({ do: 'park', record: { phase: 'fencing' } });
    const retired = { ...given, cluster: { ...given.cluster, node: marked({ released: ago(1_000) }) } };
    expect(said(retired)).toBe('failed step-refused');
    expect(decide(retired).because.says).toContain('a webhook says no');
  });
});

describe('the pods of a fence', () => {
  const cases: readonly [string, Partial<ReturnType<typeof cluster>>, string | null][] = [
    ['are deleted', {}, 'delete-pod db-0'],
    [
      'with a high priority go first, so that CSI controllers come back early',
      { pods: [pod({ name: 'a' }), pod({ name: 'csi', priority: 2e9, volumes: [] })] },
      'delete-pod csi',
    ],
    ['with volumes go before others', { pods: [pod({ name: 'a', volumes: [] }), pod({ name: 'b' })] }, 'delete-pod b'],
    ['of a Job are failed before they are deleted', { pods: [pod({ kind: 'job', name: 'job' })] }, 'fail-pod job'],
    ['with finalizers are failed before they are deleted', { pods: [pod({ finalizers: true })] }, 'fail-pod db-0'],
    [
      'that this fence has failed but not deleted yet are deleted',
      { pods: [pod({ kind: 'job', finished: true })] },
      'delete-pod db-0',
    ],
    [
      'of a DaemonSet that may have a volume are deleted',
      { pods: [pod({ kind: 'daemon', volumes: [], unresolved: ['default/gone'] })] },
      'delete-pod db-0',
    ],
    ['of a DaemonSet with a volume are deleted', { pods: [pod({ kind: 'daemon' })] }, 'delete-pod db-0'],
    ['that are already Terminating are deleted', { pods: [pod({ deleting: true })] }, 'delete-pod db-0'],
  ];
  it.each(cases)('%s', (_, change, expected) => expect(target(fencing(change))).toBe(expected));
  it.each([
    ['mirror', pod({ kind: 'mirror' })],
    ['tolerating', pod({ tolerates: true })],
    ['finished', pod({ uid: 'else', finished: true })],
    ['DaemonSet without volumes', pod({ kind: 'daemon', volumes: [] })],
    [
      'tolerating DaemonSet without volumes, even if being deleted,',
      pod({ kind: 'daemon', volumes: [], tolerates: true, deleting: true }),
    ],
    ['held by finalizers and finished', pod({ finished: true, deleting: true, finalizers: true })],
  ])('that are %s are left alone', (_, other) =>
    expect(said(fencing({ pods: [other], volumes: [] }, { machine: machine({ disks: [] }) }))).toBe('park'),
  );
});

describe('the attachments of a fence', () => {
  const doubtful = (change = {}) => pod({ tolerates: true, volumes: [], unresolved: ['default/gone'], ...change });
  const unwanted = (mono: number) => ({ memory: { ...view().memory, unwanted: new Map([['a-driver^disk-1', mono]]) } });
  const cases: readonly [string, View, string][] = [
    ['have a moment to go by themselves', fencing({ pods: [] }, unwanted(900)), 'wait attachments-going'],
    ['are deleted if they linger', fencing({ pods: [] }, unwanted(-3_000)), 'delete-attachment'],
    [
      'stay if a pod that tolerates the taint still wants them',
      fencing({ pods: [pod({ tolerates: true })] }, unwanted(-9_000)),
      'park',
    ],
    [
      'stay if a pod that tolerates the taint may want them, because its claim cannot be resolved',
      fencing({ pods: [doubtful()], volumes: [volume({ pvc: null })] }, unwanted(-9_000)),
      'park',
    ],
    [
      'are deleted if the unresolved claim of a tolerating pod is a different one',
      fencing({ pods: [doubtful()] }, unwanted(-9_000)),
      'delete-attachment',
    ],
    [
      'stay if the unresolved claim of a tolerating pod is theirs',
      fencing({ pods: [doubtful({ unresolved: ['default/data'] })] }, unwanted(-9_000)),
      'park',
    ],
    [
      'stay if the Node is gone and a pod that tolerates the taint may want them',
      view({ cluster: cluster({ node: null, pods: [doubtful()], volumes: [volume({ pvc: null })] }) }),
      'fenced fenced',
    ],
    ['are deleted at once without a Node', view({ cluster: cluster({ node: null, pods: [] }) }), 'delete-attachment'],
    [
      'are never deleted if another machine uses the Node name',
      view({
        cluster: cluster({ node: null, pods: [], volumes: [volume({ nameTaken: true })] }),
        machine: machine({ disks: [] }),
      }),
      'refused name-reused',
    ],
    [
      'belong to the machine if their driver knows it under another kind of name',
      fencing(
        {
          pods: [],
          volumes: [
            volume({
              attachment: attachment({ source: { source: 'volumeAttachment', driver: 'b-driver', value: 'node-a' } }),
            }),
          ],
        },
        { ...unwanted(-9_000), machine: machine({ disks: [] }) },
      ),
      'delete-attachment',
    ],
    [
      'are never deleted if they name another machine',
      fencing(
        {
          pods: [],
          volumes: [
            volume({
              attachment: attachment({ source: { source: 'volumeAttachment', driver: 'a-driver', value: 'm-2' } }),
            }),
          ],
        },
        { ...unwanted(-9_000), machine: machine({ disks: [] }) },
      ),
      'wait attachments-going',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('the disks of a fence', () => {
  const reusedName = (mono: number) =>
    view({
      cluster: cluster({ node: null, pods: [], volumes: [volume({ nameTaken: true })] }),
      memory: { ...view().memory, unwanted: new Map([['a-driver^disk-1', mono]]) },
    });
  const deleting = (ms: number, error: string | null = null) =>
    volume({ attachment: attachment({ deletingSince: NOW - ms, detachError: error }) });
  const asked = (mode: string, mono: number) => ({
    memory: { ...view().memory, takenAt: new Map([[`detach-disk m-1 disk-1 ${mode}`, mono]]) },
  });
  const held = (change: Parameters<typeof machine>[0]) => ({ machine: machine(change) });
  const cases: readonly [string, View, string][] = [
    ['are left to Kubernetes at first', fencing({ pods: [], volumes: [deleting(5_000)] }), 'wait attachments-going'],
    ['are detached if Kubernetes does not do it', fencing({ pods: [], volumes: [deleting(10_000)] }), 'detach-disk'],
    ['are detached sooner if the driver fails', fencing({ pods: [], volumes: [deleting(2_000, 'no')] }), 'detach-disk'],
    [
      'are detached at once if the policy is `always`',
      fencing({ pods: [], volumes: [deleting(0)] }, { policy: { ...defaultPolicy, detach: 'always' } }),
      'detach-disk',
    ],
    [
      'are never detached if the policy is `never`',
      fencing({ pods: [], volumes: [deleting(99_000)] }, { policy: { ...defaultPolicy, detach: 'never' } }),
      'wait attachments-going',
    ],
    [
      'are not detached while nobody deletes their attachment',
      fencing({ pods: [] }, { policy: { ...defaultPolicy, detach: 'always' } }),
      'wait attachments-going',
    ],
    [
      'are not detached while nobody deletes their attachment, even if its driver has not attached anything',
      fencing(
        { pods: [], volumes: [volume({ attachment: attachment({ attached: false }) })] },
        { policy: { ...defaultPolicy, detach: 'always' } },
      ),
      'wait attachments-going',
    ],
    [
      'are not detached while a pod of the Node may use them',
      fencing({
        pods: [pod({ tolerates: true, volumes: [], unresolved: ['default/data'] })],
        volumes: [deleting(99_000)],
      }),
      'park',
    ],
    [
      'are not detached while a pod of the Node uses them',
      fencing({ pods: [pod({ tolerates: true })], volumes: [deleting(99_000)] }),
      'park',
    ],
    [
      'are not detached if they belong to no PersistentVolume',
      fencing({ pods: [], volumes: [{ ...deleting(99_000), persistentVolume: null }] }),
      'wait attachments-going',
    ],
    [
      'are not detached if they must be kept',
      fencing(
        { pods: [], volumes: [deleting(99_000)] },
        held({ disks: [{ disk: 'disk-1', state: 'attached', keep: 'root' }] }),
      ),
      'wait attachments-going',
    ],
    [
      'are detached by force if the driver has been detaching them for a long time',
      fencing(
        { pods: [], volumes: [deleting(31_000)] },
        held({ disks: [{ disk: 'disk-1', state: 'detaching', keep: null }] }),
      ),
      'detach-disk',
    ],
    [
      'are waited for while the driver detaches them',
      fencing(
        { pods: [], volumes: [deleting(12_000)] },
        held({ disks: [{ disk: 'disk-1', state: 'detaching', keep: null }] }),
      ),
      'wait attachments-going',
    ],
    [
      'are waited for after a plain detach',
      fencing({ pods: [], volumes: [deleting(12_000)] }, asked('plain', -18_000)),
      'wait attachments-going',
    ],
    ['are forced last', fencing({ pods: [], volumes: [deleting(32_000)] }, asked('plain', -19_000)), 'detach-disk'],
    [
      'are detached from the dead machine if another machine uses the Node name',
      view({
        cluster: cluster({ node: null, pods: [], volumes: [volume({ nameTaken: true, attachment: null })] }),
        memory: { ...view().memory, unwanted: new Map([['a-driver^disk-1', -9_000]]) },
      }),
      'detach-disk',
    ],
    [
      'are detached from the dead machine if the Node name is reused, because Kubernetes blames the new machine',
      reusedName(-9_000),
      'detach-disk',
    ],
    ['are left to Kubernetes at first if another machine uses the Node name', reusedName(0), 'wait disks-going'],
    [
      'are waited for if they are still attached although their attachment is gone',
      fencing({ pods: [], volumes: [volume({ attachment: null })] }),
      'wait disks-going',
    ],
    [
      'are detached sooner if Kubernetes no longer handles them',
      fencing(
        { pods: [], volumes: [volume({ attachment: null })] },
        { memory: { ...view().memory, unwanted: new Map([['a-driver^disk-1', -1_000]]) } },
      ),
      'detach-disk',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
  it.each([
    ['plainly at first', fencing({ pods: [], volumes: [deleting(32_000)] }), 'plain'],
    [
      'by force if a plain detach had no effect',
      fencing({ pods: [], volumes: [deleting(32_000)] }, asked('plain', -19_000)),
      'forced',
    ],
  ])('are detached %s', (_, given, mode) =>
    expect(decide(given)).toMatchObject({ step: { do: 'detach-disk', disk: 'disk-1', mode } }),
  );
});

describe('the nudge of the attacher', () => {
  const free = machine({ disks: [] });
  const failed = volume({ attachment: attachment({ deletingSince: NOW - 20_000, detachError: 'throttled' }) });
  const detached = (asked: [string, number][]) => ({
    machine: free,
    memory: { ...view().memory, detached: new Set(['a-driver^disk-1']), takenAt: new Map(asked) },
  });
  const next = (change: Parameters<typeof attachment>[0]) =>
    volume({ attachment: null, successor: attachment({ uid: 'new', attached: false, ...change }) });
  const cases: readonly [string, View, string][] = [
    [
      'goes to the old attachment once the disk is free',
      fencing({ pods: [], volumes: [failed] }, { machine: free }),
      'nudge',
    ],
    [
      'is not sent while the machine holds the disk',
      fencing({
        pods: [],
        volumes: [{ ...failed, attachment: attachment({ deletingSince: NOW - 1_000, detachError: 'x' }) }],
      }),
      'wait attachments-going',
    ],
    [
      'goes to the new attachment without an old one',
      fencing({ pods: [], volumes: [next({})] }, detached([])),
      'nudge',
    ],
    [
      'is waited for',
      fencing({ pods: [], volumes: [next({ nudged: true })] }, detached([['nudge new on', 500]])),
      'wait attacher-nudged',
    ],
    [
      'is removed once the volume is attached',
      fencing({ pods: [], volumes: [next({ nudged: true, attached: true })] }, detached([['nudge new on', 500]])),
      'nudge',
    ],
    ['is not repeated', fencing({ pods: [], volumes: [next({})] }, detached([['nudge new on', -9_000]])), 'park'],
    [
      'goes to a new attachment that has failed before, whoever freed the disk',
      fencing({ pods: [], volumes: [next({ attachError: 'VolumeInUse' })] }, { machine: free }),
      'nudge',
    ],
    [
      'does not go to a new attachment that has failed while the machine holds the disk',
      fencing({ pods: [], volumes: [next({ attachError: 'VolumeInUse' })] }),
      'wait disks-going',
    ],
    [
      'does not go to a new attachment that is only slow',
      fencing({ pods: [], volumes: [next({})] }, { machine: free }),
      'park',
    ],
    [
      'is removed only once in a dry run, which only imagines the removal',
      fencing(
        { pods: [], volumes: [next({ nudged: true, attached: true })] },
        { machine: free, memory: { ...view().memory, sinceLook: new Set(['nudge new off']) } },
      ),
      'wait attacher-nudged',
    ],
    [
      'is removed if a killed run has left it',
      fencing({ pods: [], volumes: [next({ nudged: true, attached: true })] }, { machine: free }),
      'nudge',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
