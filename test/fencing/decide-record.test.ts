import { describe, expect, it } from 'vitest';
import { type FenceInBoot, fenceInBoot, type NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { decide } from '../../fencing/rules/decide.ts';
import type { Decision, View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, node, PARKED, pod, record, view } from './view-builder.ts';

/** What a mark writes into the record, and which record counts for the boot that has ended. */

const recordIn = (decision: Decision): FenceRecord | null =>
  decision.do === 'step' && decision.step.do === 'mark' ? decision.step.record : null;
const markOf = (given: View) => recordIn(decide(given));

const noted = (name: string): FenceRecord['volumes'][number] => ({
  driver: 'a-driver',
  handle: name,
  persistentVolume: 'pv-1',
  attachment: name,
});

describe('a new record', () => {
  it('has a fence id that no earlier mark of this run has', () => {
    const again = { ...view(), memory: { ...view().memory, marks: 1 } };
    expect([markOf(view())?.fence, markOf(again)?.fence]).toEqual(['run.1', 'run.2']);
  });

  it('names each volume once, and keeps those of the record before', () => {
    const before = marked({ generation: 'boot-0', volumes: [noted('csi-1'), noted('csi-9')] });
    const facts = { ...noted('csi-1'), handle: 'disk-1', attached: true };
    expect(markOf(view({ cluster: cluster({ node: before }) }))?.volumes).toEqual([facts, noted('csi-9')]);
    expect(markOf(view())?.volumes).toEqual([facts]);
  });

  it('names no pod that comes back', () => {
    expect(markOf(view())?.recurring).toEqual([]);
  });

  it.each([
    ['the machine is off', view(), 'off-proven', 'm-1 is off, so its guest cannot write any more'],
    [
      'the machine was started after the previous fence',
      view({ cluster: cluster({ node: marked({ generation: 'boot-0' }) }) }),
      'started-in-between',
      'm-1 started after fence run.1 and is off again',
    ],
    [
      'work came back',
      view({ cluster: cluster({ node: marked({ phase: 'fenced', released: ago(1_000) }) }) }),
      'work-came-back',
      'm-1 is still off, and holds a volume or pod again',
    ],
  ])('gives the reason: %s', (_, given, code, says) => {
    expect(decide(given)).toMatchObject({ step: { do: 'mark' }, because: { code, says } });
  });
});

describe('a fence of the boot that has ended', () => {
  const parked = { phase: 'fenced', released: ago(1_000) } as const;
  const bound = pod({ uid: 'late', name: 'late', volumes: [] });

  it('continues if work came back, and its record names each pod and volume once', () => {
    const given = view({
      cluster: cluster({
        node: marked({ ...parked, fence: 'earlier.1', volumes: [noted('csi-1'), noted('csi-9')] }),
        pods: [pod(), bound],
      }),
    });
    expect(markOf(given)).toMatchObject({ fence: 'earlier.1', phase: 'fencing', released: null });
    expect(
      markOf(given)
        ?.pods.map(({ uid }) => uid)
        .toSorted(),
    ).toEqual(['late', 'pod-uid']);
    expect(markOf(given)?.volumes.map(({ attachment }) => attachment)).toEqual(['csi-1', 'csi-9']);
  });

  it('does not continue after its mark was lifted, because the machine may have run: another fence begins', () => {
    const lifted = marked({ phase: 'lifted', fence: 'earlier.1', released: ago(1_000) });
    expect(markOf(view({ cluster: cluster({ node: lifted }) }))?.fence).toBe('run.1');
  });

  it('cannot be recognized if the record has no generation, even if the generation drifts', () => {
    const given = (generation: string | null) =>
      view({
        machine: machine({ generationDrifts: true, generation: 'boot-2' }),
        cluster: cluster({ node: marked({ generation, fence: 'earlier.1' }) }),
      });
    expect(said(given('boot-1'))).toBe('delete-pod');
    expect(markOf(given(null))?.fence).toBe('run.1');
  });

  it('does not begin again because of pods whose deletion was declined before', () => {
    const retired = (...pods: readonly ReturnType<typeof pod>[]) =>
      view({
        machine: machine({ disks: [] }),
        cluster: cluster({
          node: marked({
            phase: 'fencing',
            released: ago(1_000),
            pods: [
              { namespace: 'default', name: 'other', uid: 'other' },
              { namespace: 'default', name: 'db-0', uid: 'pod-uid' },
            ],
          }),
          pods,
          volumes: [],
        }),
      });
    expect(said(retired(pod({ volumes: [] })))).toBe('delete-pod');
    expect(said(retired(bound))).toBe('mark');
  });
});

describe('what someone else removed from a fence', () => {
  const here: FenceInBoot = fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-1' });
  const NONE = { outOfService: false, ours: false, quarantine: false };
  const at = (standing: NodeFacts, change: Partial<View> = {}) =>
    view({ cluster: cluster({ node: standing }), ...change });
  const since = 'from Node node-a in this boot of its machine';
  const rest = '. `cloudfence release node-a --accept "<what you checked>"` removes the rest';

  it.each([
    [
      'the quarantine, and the taint is left',
      at(marked({}, { taints: { outOfService: true, ours: true, quarantine: false } })),
      `a taint of fence run.1 from Node node-a${rest}`,
    ],
    [
      'the taint, and the quarantine is left',
      at(marked({}, { taints: PARKED })),
      `a taint of fence run.1 from Node node-a${rest}`,
    ],
    ['both taints, and the label is left', at(marked({}, { taints: NONE })), 'a taint of fence run.1 from Node node-a'],
  ])('is reported with what is left: %s', (_, given, says) => {
    expect(decide(given)).toMatchObject({
      step: { do: 'set-tombstone', tombstone: here },
      because: { code: 'taint-removed-by-hand', says: `someone else removed ${says}` },
    });
  });

  it('is not a taint that someone else set, because they may remove it', () => {
    const foreign = marked({ outOfService: 'foreign' }, { taints: { ...NONE, quarantine: true } });
    expect(said(at(foreign))).toBe('delete-pod');
  });

  it('is the whole fence, if this run remembers it', () => {
    expect(decide(at(node(), { remembered: record() }))).toMatchObject({
      step: { do: 'set-tombstone', tombstone: here },
      because: { code: 'fence-removed-by-hand', says: expect.stringMatching(/while its machine is off$/) },
    });
  });

  it('is not the record alone, because a kubelet can remove it', () => {
    const without = (change: Partial<NodeFacts> = {}, remembered = record()) =>
      said(at(marked({}, { record: null, recordText: null, ...change }), { remembered }));
    expect(without()).toBe('mark');
    expect(without({ taints: PARKED }, record({ released: ago(5_000) }))).toBe('mark');
    expect(without({ taints: PARKED }, record({ outOfService: 'unsupported' }))).toBe('mark');
    expect(without({ taints: PARKED })).toBe('set-tombstone');
    expect(without({ taints: { outOfService: true, ours: true, quarantine: false } })).toBe('set-tombstone');
    expect(without({ label: null })).toBe('mark');
    expect(without({ label: null, taints: PARKED }, record({ released: ago(5_000) }))).toBe('set-tombstone');
    expect(without({ label: 'run.1_removed_0', tombstone: { fence: 'run.1', boot: 'of an earlier boot' } })).toBe(
      'set-tombstone',
    );
  });

  it('is not a fence that another run has replaced, even if a kubelet has removed the record of the later one', () => {
    const later = marked({}, { label: 'run.2', record: null, recordText: null });
    expect(said(at(later, { remembered: record() }))).toBe('mark');
  });

  it('is a record that a kubelet has changed, and only then the text does not matter', () => {
    const unreadable = { record: null, recordText: '{' };
    expect(said(at(marked({}, { ...unreadable, unmatchedSeal: 'x' })))).toBe('mark');
    expect(said(at(marked({}, unreadable)))).toBe('refused record-unreadable');
  });

  it('is not a fence of another machine, Node, or boot that this run remembers', () => {
    const remembering = (change: Partial<FenceRecord>) => said(at(node(), { remembered: record(change) }));
    expect(remembering({ machine: 'm-2' })).toBe('mark');
    expect(remembering({ nodeUid: 'another Node' })).toBe('mark');
    expect(remembering({ bootID: 'boot-0' })).toBe('mark');
    expect(remembering({ generation: 'boot-0' })).toBe('mark');
  });

  it('is seen while a person releases the fence, even if the cloud has forgotten the machine since', () => {
    const releasing = marked({ phase: 'releasing', released: ago(5_000) }, { taints: { ...NONE, quarantine: true } });
    const given = at(releasing, { remembered: releasing.record });
    const silent = ago(90_000);
    const deleted = {
      ...given,
      machine: machine({ power: 'missing', generation: null, since: null, disks: [] }),
      cluster: { ...given.cluster, lease: silent },
      memory: { ...given.memory, witness: 'released', testified: ['va-uid'], lease: silent, leaseSince: -19_000 },
    } as const;
    const drifted = machine({ generation: 'operation-2', generationDrifts: true });
    const renewed = { ...given, machine: drifted, cluster: { ...given.cluster, lease: ago(19_000) } };
    expect([said(given), said(deleted)]).toEqual(['set-tombstone', 'set-tombstone']);
    expect(said({ ...renewed, memory: { ...given.memory, lease: ago(19_000) } })).toBe('set-tombstone');
  });

  it('is our taint if only its label is left and no other taint stands in its place', () => {
    const labelled = (taints: Partial<NodeFacts['taints']>) =>
      at(node({ label: 'run.1', taintedFor: here, taints: { ...NONE, quarantine: true, ...taints } }));
    expect(decide(labelled({}))).toMatchObject({
      step: { do: 'set-tombstone', tombstone: here },
      because: { code: 'fence-removed-by-hand' },
    });
    expect(said(labelled({ outOfService: true }))).toBe('mark');
  });

  it.each([
    ['next to our taint, if its label names this boot', { label: 'run.1', taintedFor: here }, true],
    ['next to our taint without the label of the fence', { label: null, taintedFor: here }, true],
    [
      'next to our taint, but in an earlier boot',
      { label: 'run.1', taintedFor: fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-0' }) },
      false,
    ],
  ] as const)('is the quarantine %s', (_, traces, isRemoved) => {
    const taints = { outOfService: true, ours: true, quarantine: false };
    expect(said(at(node({ ...traces, taints })))).toBe(isRemoved ? 'set-tombstone' : 'mark');
  });

  it('is the quarantine of a parked fence if only its label is left, which names no boot', () => {
    const bare = { record: null, recordText: null, taints: NONE } as const;
    expect(decide(at(marked({}, bare)))).toMatchObject({
      step: { do: 'set-tombstone', tombstone: here },
      because: { code: 'fence-removed-by-hand', says: `someone else removed fence run.1, or a part of it, ${since}` },
    });
    expect(said(at(marked({}, { ...bare, recordText: '{}', unmatchedSeal: 'x' })))).toBe('set-tombstone');
    expect(said(at(marked({}, { ...bare, taints: { ...NONE, quarantine: true } })))).toBe('mark');
    const earlier = { fence: 'run.1', boot: 'of an earlier boot' };
    expect(said(at(marked({}, { ...bare, label: 'run.1_removed_0', tombstone: earlier })))).toBe('mark');
    expect(said(at(marked({}, { ...bare, taintedFor: earlier })))).toBe('mark');
    expect(said(at(marked({ generation: 'boot-0' }, { taints: NONE })))).toBe('mark');
  });

  it.each([['fencing'], ['lifted']] as const)(
    'is the fence of the record, even if it kept the taint of an earlier fence: %s',
    (phase) => {
      const earlier = fenceInBoot('run.0', { bootID: 'boot-a' }, { generation: 'boot-0' });
      const taints = { outOfService: true, ours: true, quarantine: false };
      const kept = marked({ phase, fence: 'run.1' }, { taintedFor: earlier, taints });
      expect(decide(at(kept))).toMatchObject({ step: { do: 'set-tombstone', tombstone: { fence: 'run.1' } } });
    },
  );

  it('is named with what is left of it by later runs, too', () => {
    const taints = { outOfService: true, ours: true, quarantine: true };
    const buried = node({ label: 'run.1_removed_0', tombstone: here, taints });
    expect(decide(at(buried))).toMatchObject({
      because: {
        code: 'fence-removed-by-hand',
        says: `someone else removed fence run.1 ${since}${rest}`,
      },
    });
  });

  it('is not suspected because of a stray record of another machine', () => {
    const stray = (change: Partial<FenceRecord>) => at(node({ strayRecord: record(change) }));
    expect(said(stray({}))).toBe('refused record-not-ours');
    expect(said(stray({ machine: 'm-2' }))).toBe('mark');
  });
});
