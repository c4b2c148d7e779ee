import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import { fenceInBoot } from '../../fencing/model/cluster-facts.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import type { Step } from '../../fencing/model/steps.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, node, NOW, pod, record, view, volume } from './view-builder.ts';

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
      'a taint that someone else set stays theirs',
      { node: node({ taints: { outOfService: true, ours: false, quarantine: false } }) },
      'foreign',
      false,
    ],
    [
      'a cluster that does not know the taint gets only the quarantine',
      { taintSupported: false },
      'unsupported',
      false,
    ],
    [
      'a second fence keeps the first fence’s claim to the taint',
      { node: marked({ generation: 'boot-0' }) },
      'ours',
      false,
    ],
    ['... and its disclaimer', { node: marked({ generation: 'boot-0', outOfService: 'foreign' }) }, 'foreign', false],
    [
      'a record that claims a taint does not make it ours, because a kubelet may write it',
      { node: marked({ generation: 'boot-0' }, { taints: { outOfService: true, ours: false, quarantine: true } }) },
      'foreign',
      false,
    ],
  ])('%s', (_, change, outOfService, addOutOfService) => {
    const step = stepOf(view({ cluster: cluster(change) }));
    expect(step).toMatchObject({ do: 'mark', addOutOfService, record: { outOfService } });
  });
  it('begins again under a new fence after another boot, and keeps the volumes that the first fence named', () => {
    const before = marked({
      generation: 'boot-0',
      volumes: [{ driver: 'a-driver', handle: 'disk-9', persistentVolume: 'pv-9', attachment: 'csi-9' }],
    });
    const step = stepOf(view({ cluster: cluster({ node: before }) }));
    expect(step?.do === 'mark' && step.record.volumes.map((named) => named.attachment)).toEqual(['csi-1', 'csi-9']);
  });
  it('never begins again for another boot under a machine that was off all the time: that boot is another machine’s', () => {
    expect(said(view({ cluster: cluster({ node: marked({ bootID: 'boot-before' }) }) }))).toBe(
      'refused identity-contradicted',
    );
  });
  it('begins again if the machine goes off while it is being released', () =>
    expect(said(view({ cluster: cluster({ node: marked({ phase: 'releasing' }) }) }))).toBe('mark'));
  it('continues under the old fence if the cloud has forgotten the machine by now', () => {
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
    ['out-of-service', { outOfService: false, ours: false, quarantine: true }],
    ['quarantine', { outOfService: true, ours: true, quarantine: false }],
  ])('stops, and leaves a tombstone instead, if someone removed the %s taint', (_, taints) => {
    expect(stepOf(view({ cluster: cluster({ node: marked({}, { taints }) }) }))).toEqual({
      do: 'set-tombstone',
      node: expect.objectContaining({ uid: 'node-uid' }),
      tombstone: buried,
    });
    expect(said(view({ cluster: cluster({ node: marked({}, { taints, tombstone: buried }) }) }))).toBe(
      'refused taint-removed-by-hand',
    );
  });
});

describe('what a person removed is not put back', () => {
  const free = { machine: machine({ disks: [] }) };
  const unquarantined = (recorded: Parameters<typeof marked>[0]) =>
    marked(recorded, { taints: { outOfService: false, ours: false, quarantine: false } });
  const cases: readonly [string, View, string][] = [
    ['a record that is gone, in the same boot', view({ remembered: record() }), 'set-tombstone'],
    [
      '... and the tombstone tells later runs',
      view({ cluster: cluster({ node: node({ tombstone: buried, label: 'x' }) }) }),
      'refused fence-removed-by-hand',
    ],
    [
      '... even if the cloud has forgotten the machine',
      view({
        cluster: cluster({ lease: null, node: node({ tombstone: buried, label: 'x' }) }),
        machine: machine({ power: 'missing', generation: null }),
        memory: { ...view().memory, witness: 'released', testified: ['va-uid'] },
      }),
      'refused fence-removed-by-hand',
    ],
    [
      'a label without our taint shows the removal if nothing else is left',
      view({ cluster: cluster({ node: node({ taintedFor: buried }) }) }),
      'set-tombstone',
    ],
    [
      '... but not if someone else’s taint has replaced ours and the rest of our fence is there',
      fencing({
        node: marked({}, { taintedFor: buried, taints: { outOfService: true, ours: false, quarantine: true } }),
      }),
      'delete-pod',
    ],
    [
      '... which means nothing if our fence is gone',
      view({
        cluster: cluster({
          node: node({ taintedFor: buried, taints: { outOfService: true, ours: false, quarantine: false } }),
        }),
      }),
      'set-tombstone',
    ],
    [
      '... and means nothing for a later boot',
      view({
        cluster: cluster({
          node: node({ taintedFor: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }) }),
        }),
      }),
      'mark',
    ],
    [
      '... nor if the record of that earlier boot is still there',
      view({
        cluster: cluster({
          node: marked(
            { generation: 'boot-0' },
            {
              taintedFor: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }),
              taints: { outOfService: false, ours: false, quarantine: true },
            },
          ),
        }),
      }),
      'mark',
    ],
    [
      '... even if the cloud knew no boot at that time',
      view({
        cluster: cluster({
          node: node({ tombstone: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: null }), label: 'x' }),
        }),
      }),
      'refused fence-removed-by-hand',
    ],
    [
      'a tombstone of an earlier boot means nothing for this one',
      view({
        cluster: cluster({
          node: node({ tombstone: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }), label: 'x' }),
        }),
      }),
      'mark',
    ],
    [
      'a fence that is being released without another boot',
      view({ cluster: cluster({ node: marked({ phase: 'releasing' }) }), remembered: record() }),
      'set-tombstone',
    ],
    ['a fence of another boot begins again', view({ remembered: record({ bootID: 'boot-before' }) }), 'mark'],
    [
      'a fence of a Node that was re-created begins again',
      view({ remembered: record({ nodeUid: 'an older one' }) }),
      'mark',
    ],
    [
      'the quarantine of a fence that is parked',
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
      'a mark that we lifted ourselves is not a removal',
      view({
        cluster: cluster({
          node: marked(
            { phase: 'lifted', released: ago(1_000) },
            { taints: { outOfService: false, ours: false, quarantine: true } },
          ),
        }),
        remembered: record(),
      }),
      'mark',
    ],
    [
      'the quarantine under a mark that we lifted ourselves, in the same boot',
      view({
        cluster: cluster({ node: unquarantined({ phase: 'lifted', released: ago(1_000) }) }),
        remembered: record(),
      }),
      'set-tombstone',
    ],
    [
      '... even if there is nothing to free any more',
      view({
        ...free,
        cluster: cluster({ node: unquarantined({ phase: 'lifted', released: ago(1_000) }), pods: [], volumes: [] }),
      }),
      'set-tombstone',
    ],
    [
      '... and even if the cloud has forgotten the machine',
      view({
        machine: machine({ power: 'missing', generation: null, disks: [] }),
        memory: { ...view().memory, witness: 'released', testified: ['va-uid'] },
        cluster: cluster({ lease: null, node: unquarantined({ phase: 'lifted', released: ago(1_000) }), pods: [] }),
      }),
      'set-tombstone',
    ],
    [
      'a quarantine that was removed in an earlier boot is put back',
      view({
        cluster: cluster({ node: unquarantined({ phase: 'lifted', released: ago(1_000), generation: 'boot-0' }) }),
      }),
      'mark',
    ],
    [
      'a record of this boot without anything else of ours',
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) }),
      'refused record-not-ours',
    ],
    [
      '... and one that names no boot of the cloud’s',
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record({ generation: null }) }) }) }),
      'refused record-not-ours',
    ],
    [
      '... which a run that remembers the fence takes for its removal',
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }), remembered: record() }),
      'set-tombstone',
    ],
    [
      '... even if the cloud has forgotten the machine',
      view({
        machine: machine({ power: 'missing', generation: null, disks: [] }),
        memory: { ...view().memory, witness: 'released', testified: ['va-uid'] },
        cluster: cluster({ lease: null, node: node({ recordText: '{}', strayRecord: record() }) }),
      }),
      'refused record-not-ours',
    ],
    ...(['generation', 'bootID', 'machine'] as const).map((what): [string, View, string] => [
      `... but one of another ${what} says nothing about this boot`,
      view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record({ [what]: 'another' }) }) }) }),
      'mark',
    ]),
    [
      'the label of a parked Node is written again',
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
      'our taint next to our label is ours even if its record is lost',
      fencing({ node: node({ label: 'run.1', taints: { outOfService: true, ours: true, quarantine: true } }) }, free),
      'mark',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a declined step is passed by', () => {
  const declined = (...keys: string[]) => ({
    memory: { ...view().memory, declined: new Map(keys.map((key) => [key, 'a webhook says no'])) },
  });
  const two = [pod({ uid: 'a', name: 'a', volumes: [] }), pod({ uid: 'b', name: 'b', volumes: [] })];
  it('the next pod is deleted', () =>
    expect(target(fencing({ pods: two }, declined('delete-pod a')))).toBe('delete-pod b'));
  it('and the end reports it', () => {
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

describe('pods', () => {
  const cases: readonly [string, Partial<ReturnType<typeof cluster>>, string | null][] = [
    ['are deleted', {}, 'delete-pod db-0'],
    [
      'of high priority go first: CSI controllers come back early',
      { pods: [pod({ name: 'a' }), pod({ name: 'csi', priority: 2e9, volumes: [] })] },
      'delete-pod csi',
    ],
    [
      'with volumes go before those without',
      { pods: [pod({ name: 'a', volumes: [] }), pod({ name: 'b' })] },
      'delete-pod b',
    ],
    ['of a Job fail first', { pods: [pod({ kind: 'job', name: 'job' })] }, 'fail-pod job'],
    ['with finalizers fail first', { pods: [pod({ finalizers: true })] }, 'fail-pod db-0'],
    [
      'that we failed but did not get to delete are deleted',
      { pods: [pod({ kind: 'job', finished: true })] },
      'delete-pod db-0',
    ],
    [
      'of a DaemonSet that may have a volume are deleted',
      { pods: [pod({ kind: 'daemon', volumes: [], unresolved: ['default/gone'] })] },
      'delete-pod db-0',
    ],
    ['of a DaemonSet with a volume are deleted', { pods: [pod({ kind: 'daemon' })] }, 'delete-pod db-0'],
    ['that are already Terminating are still deleted', { pods: [pod({ deleting: true })] }, 'delete-pod db-0'],
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

describe('attachments', () => {
  const doubtful = (change = {}) => pod({ tolerates: true, volumes: [], unresolved: ['default/gone'], ...change });
  const unwanted = (mono: number) => ({ memory: { ...view().memory, unwanted: new Map([['a-driver^disk-1', mono]]) } });
  const cases: readonly [string, View, string][] = [
    ['get a moment to go by themselves', fencing({ pods: [] }, unwanted(900)), 'wait attachments-going'],
    ['that linger are deleted', fencing({ pods: [] }, unwanted(-3_000)), 'delete-attachment'],
    [
      'that a tolerating pod still wants are not',
      fencing({ pods: [pod({ tolerates: true })] }, unwanted(-9_000)),
      'park',
    ],
    [
      'that a tolerating pod may want, because its claim cannot be resolved, are not',
      fencing({ pods: [doubtful()], volumes: [volume({ pvc: null })] }, unwanted(-9_000)),
      'park',
    ],
    [
      'that belong to another claim than the unresolved one are deleted',
      fencing({ pods: [doubtful()] }, unwanted(-9_000)),
      'delete-attachment',
    ],
    [
      'that belong to the unresolved claim are not',
      fencing({ pods: [doubtful({ unresolved: ['default/data'] })] }, unwanted(-9_000)),
      'park',
    ],
    [
      'of a Node that is gone and that a tolerating pod may want are not',
      view({ cluster: cluster({ node: null, pods: [doubtful()], volumes: [volume({ pvc: null })] }) }),
      'fenced fenced',
    ],
    [
      'of a Node that is gone are deleted without delay',
      view({ cluster: cluster({ node: null, pods: [] }) }),
      'delete-attachment',
    ],
    [
      'are never deleted under a reused Node name',
      view({ cluster: cluster({ node: null, nameTaken: true, pods: [] }), machine: machine({ disks: [] }) }),
      'refused name-reused',
    ],
    [
      'whose driver knows the machine under another kind of name belong to the machine',
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
      'of another machine are never deleted',
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

describe('disks', () => {
  const reusedName = (mono: number) =>
    view({
      cluster: cluster({ node: null, nameTaken: true, pods: [] }),
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
    ['are detached when Kubernetes is stuck', fencing({ pods: [], volumes: [deleting(10_000)] }), 'detach-disk'],
    [
      'are detached sooner if the driver failed',
      fencing({ pods: [], volumes: [deleting(2_000, 'no')] }),
      'detach-disk',
    ],
    [
      'are detached at once by policy',
      fencing({ pods: [], volumes: [deleting(0)] }, { policy: { ...defaultPolicy, detach: 'always' } }),
      'detach-disk',
    ],
    [
      'are never detached by policy',
      fencing({ pods: [], volumes: [deleting(99_000)] }, { policy: { ...defaultPolicy, detach: 'never' } }),
      'wait attachments-going',
    ],
    [
      'are not detached while their attachment stands',
      fencing({ pods: [] }, { policy: { ...defaultPolicy, detach: 'always' } }),
      'wait attachments-going',
    ],
    [
      '... whether or not its attacher has attached anything by now',
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
      'without a PersistentVolume are not detached',
      fencing({ pods: [], volumes: [{ ...deleting(99_000), persistentVolume: null }] }),
      'wait attachments-going',
    ],
    [
      'that must be kept are not detached',
      fencing(
        { pods: [], volumes: [deleting(99_000)] },
        held({ disks: [{ disk: 'disk-1', state: 'attached', keep: 'root' }] }),
      ),
      'wait attachments-going',
    ],
    [
      'that the driver has been detaching for a long time are forced',
      fencing(
        { pods: [], volumes: [deleting(31_000)] },
        held({ disks: [{ disk: 'disk-1', state: 'detaching', keep: null }] }),
      ),
      'detach-disk',
    ],
    [
      'that are already detaching are waited for',
      fencing(
        { pods: [], volumes: [deleting(12_000)] },
        held({ disks: [{ disk: 'disk-1', state: 'detaching', keep: null }] }),
      ),
      'wait attachments-going',
    ],
    [
      'get time for a plain detach',
      fencing({ pods: [], volumes: [deleting(12_000)] }, asked('plain', -18_000)),
      'wait attachments-going',
    ],
    ['are forced last', fencing({ pods: [], volumes: [deleting(32_000)] }, asked('plain', -19_000)), 'detach-disk'],
    [
      'under a reused name are detached from the dead machine',
      view({
        cluster: cluster({ node: null, nameTaken: true, pods: [], volumes: [volume({ attachment: null })] }),
        memory: { ...view().memory, unwanted: new Map([['a-driver^disk-1', -9_000]]) },
      }),
      'detach-disk',
    ],
    [
      'under a reused name are detached although their attachment is there: Kubernetes takes it for the new machine’s',
      reusedName(-9_000),
      'detach-disk',
    ],
    ['under a reused name are left to Kubernetes at first', reusedName(0), 'wait disks-going'],
    [
      'that are still attached although their attachment is gone are waited for',
      fencing({ pods: [], volumes: [volume({ attachment: null })] }),
      'wait disks-going',
    ],
    [
      'that Kubernetes no longer handles are detached sooner',
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
      'by force if a plain detach has not helped',
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
      'on the old attachment once the disk is free',
      fencing({ pods: [], volumes: [failed] }, { machine: free }),
      'nudge',
    ],
    [
      'not while the disk is held',
      fencing({
        pods: [],
        volumes: [{ ...failed, attachment: attachment({ deletingSince: NOW - 1_000, detachError: 'x' }) }],
      }),
      'wait attachments-going',
    ],
    ['on the new attachment if the old one is gone', fencing({ pods: [], volumes: [next({})] }, detached([])), 'nudge'],
    [
      'and Cloudfence waits for its effect',
      fencing({ pods: [], volumes: [next({ nudged: true })] }, detached([['nudge new on', 500]])),
      'wait attacher-nudged',
    ],
    [
      'and removed once the volume is attached',
      fencing({ pods: [], volumes: [next({ nudged: true, attached: true })] }, detached([['nudge new on', 500]])),
      'nudge',
    ],
    ['but not twice', fencing({ pods: [], volumes: [next({})] }, detached([['nudge new on', -9_000]])), 'park'],
    [
      'on a new attachment that has failed before, whoever freed the disk',
      fencing({ pods: [], volumes: [next({ attachError: 'VolumeInUse' })] }, { machine: free }),
      'nudge',
    ],
    [
      'but not on a new attachment that has failed while the disk is held',
      fencing({ pods: [], volumes: [next({ attachError: 'VolumeInUse' })] }),
      'wait disks-going',
    ],
    [
      'but not on a new attachment that is only slow',
      fencing({ pods: [], volumes: [next({})] }, { machine: free }),
      'park',
    ],
    [
      'once in a dry run, which only imagines it',
      fencing(
        { pods: [], volumes: [next({ nudged: true, attached: true })] },
        { machine: free, memory: { ...view().memory, sinceLook: new Set(['nudge new off']) } },
      ),
      'wait attacher-nudged',
    ],
    [
      'and removed if a killed run has left it',
      fencing({ pods: [], volumes: [next({ nudged: true, attached: true })] }, { machine: free }),
      'nudge',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('the Node', () => {
  const free = { pods: [], volumes: [] };
  const gone = { machine: machine({ forGood: true, disks: [] }) };
  const parked = (nodeChange: Parameters<typeof node>[0] = {}) =>
    fencing({ ...free, node: marked({ phase: 'fenced', released: ago(1_000) }, nodeChange) }, gone);
  const cases: readonly [string, View, string][] = [
    ['of a stopped machine is parked', fencing(free, { machine: machine({ disks: [] }) }), 'park'],
    [
      'that is parked is done',
      fencing(
        { ...free, node: marked({ phase: 'fenced', released: ago(1_000) }) },
        { machine: machine({ disks: [] }) },
      ),
      'fenced fenced',
    ],
    ['of a terminated machine is deleted', fencing(free, gone), 'delete-node'],
    [
      'is deleted by policy',
      fencing(free, { machine: machine({ disks: [] }), policy: { ...defaultPolicy, deleteNode: 'always' } }),
      'delete-node',
    ],
    ['is kept by policy', fencing(free, { ...gone, policy: { ...defaultPolicy, deleteNode: 'never' } }), 'park'],
    ['with a finalizer is kept', parked({ finalizers: ['someone/else'] }), 'fenced fenced'],
    ['of a NodeClaim is kept', parked({ owners: ['NodeClaim'] }), 'fenced fenced'],
    ['that someone else is deleting is left to them', parked({ deleting: true }), 'fenced fenced'],
    [
      'is deleted last, not while a disk is held',
      fencing({ pods: [] }, { machine: machine({ forGood: true }) }),
      'wait attachments-going',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
