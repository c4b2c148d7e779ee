import { describe, expect, it } from 'vitest';
import { decide } from '../../fencing/rules/decide.ts';
import type { ClusterFacts, PodFacts } from '../../fencing/model/cluster-facts.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { Memory, View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, cluster, machine, marked, pod, view, volume } from './view-builder.ts';

/** A pod that was created after our mark, and that something recreates after each deletion. */
const late = (change: Partial<PodFacts> = {}): PodFacts =>
  pod({ uid: 'web-2', name: 'web-2', owner: 'web', volumes: [], ...change });
/** This run has deleted a pod of the same owner, in vain. */
const chased = (uid = 'web-1', at = 900): Partial<Memory> => ({
  deleted: new Map([[uid, { origin: 'default/web', at }]]),
});

const given = (
  pods: readonly PodFacts[],
  memory: Partial<Memory> = {},
  recorded: Partial<FenceRecord> = {},
  rest: Partial<ClusterFacts> = {},
): View =>
  view({
    cluster: cluster({ node: marked(recorded), pods, volumes: [], ...rest }),
    machine: machine({ disks: [] }),
    memory: { ...view().memory, ...memory },
  });

const parked: Partial<FenceRecord> = { phase: 'fenced', released: ago(1_000), recurring: ['default/web'] };

describe('a pod that comes back', () => {
  const cases: readonly [string, View, string][] = [
    [
      'is deleted at first, because a scheduler may have bound it before it saw our taint',
      given([late()]),
      'delete-pod',
    ],
    ['is deleted even if the fence deleted its predecessor by name', given([late()], chased('pod-uid')), 'delete-pod'],
    ['is left alone the second time', given([late()], chased()), 'park'],
    [
      'is not left alone while its deleted predecessor is still there',
      given([late({ uid: 'web-1' }), late()], chased()),
      'delete-pod',
    ],
    ['is a different pod if it has another owner', given([late({ owner: 'other' })], chased()), 'delete-pod'],
    [
      'is the same pod if it has the same name and no owner',
      given([late({ owner: null, name: 'web' })], chased()),
      'park',
    ],
    ['is a different pod in another namespace', given([late({ namespace: 'other' })], chased()), 'delete-pod'],
    ['does not cause another mark', given([late()], {}, parked), 'fenced fenced'],
    [
      'is deleted without another mark if someone else has begun to delete it',
      given([late({ deleting: true })], {}, parked),
      'delete-pod',
    ],
    ['causes another mark if it has a volume', given([late({ volumes: ['a-driver^disk-1'] })], {}, parked), 'mark'],
    [
      'causes another mark if it may want a volume',
      given([late({ unresolved: ['default/gone'] })], {}, parked),
      'mark',
    ],
    ['is deleted by the fence of a later boot', given([late()], {}, { ...parked, generation: 'boot-0' }), 'mark'],
    [
      'with a volume is waited for',
      given([late({ volumes: ['a-driver^disk-1'] })], chased(), {}, { volumes: [volume()] }),
      'wait pods-going',
    ],
    [
      'with a volume is deleted again after a while',
      given([late({ volumes: ['a-driver^disk-1'] })], chased('web-1', -9_000), {}, { volumes: [volume()] }),
      'delete-pod',
    ],
  ];
  it.each(cases)('%s', (_, view, expected) => expect(said(view)).toBe(expected));

  it('is left alone although its predecessor still waits for its finalizer', () => {
    const waits = late({ uid: 'web-1', finished: true, deleting: true, finalizers: true });
    expect(said(given([waits, late()], chased()))).toBe('park');
  });

  it('is recorded by its owner, and named at the end', () => {
    expect(decide(given([late()], chased()))).toMatchObject({
      step: { do: 'park', record: { recurring: ['default/web'] } },
    });
    expect(decide(given([late()], chased(), parked)).because.says).toMatch(/A controller recreates pod default\/web-2/);
  });

  it('is not recorded as a pod of the fence when the mark returns for another pod', () => {
    const decision = decide(given([late(), pod({ uid: 'db-2', name: 'db-2' })], {}, parked));
    expect(decision).toMatchObject({
      step: { do: 'mark', record: { pods: [{ uid: 'db-2' }, { uid: 'pod-uid' }], recurring: ['default/web'] } },
    });
  });

  it('does not prevent the deletion of the Node of a terminated machine', () => {
    const gone = { ...given([late()], chased()), machine: machine({ forGood: true, disks: [] }) };
    expect(decide(gone)).toMatchObject({
      step: { do: 'delete-node' },
      because: { says: expect.stringContaining('pod default/web-2') },
    });
  });
});

describe('a pod that only its finalizers hold', () => {
  const held = pod({ deleting: true, finalizers: true, volumes: [] });
  const deleted: Partial<Memory> = {
    deleted: new Map([['pod-uid', { origin: 'default/db-0', at: 900 }]]),
    takenAt: new Map([['fail-pod pod-uid', 800]]),
  };
  it('keeps our taint on the Node while a volume is attached', () =>
    expect(said(given([held], deleted, {}, { volumes: [volume()] }))).toBe('wait pods-going'));
  it('keeps our taint on the Node while its own volume is attached', () => {
    const using = pod({ deleting: true, finalizers: true });
    expect(said(given([using], deleted, {}, { volumes: [volume()] }))).toBe('wait pods-going');
  });
  it('does not keep our taint on the Node once no volume is attached', () =>
    expect(decide(given([held], deleted))).toMatchObject({ step: { do: 'park', record: { phase: 'fencing' } } }));
  it('does not keep our taint on the Node for a volume that another pod keeps', () => {
    const stays = pod({ uid: 'stays', tolerates: true });
    expect(said(given([held, stays], deleted, {}, { volumes: [volume()] }))).toBe('park');
  });
  it('is reported, and does not cause another mark', () => {
    const decision = decide(given([held], deleted, { released: ago(1_000) }));
    expect(decision).toMatchObject({
      do: 'wait',
      because: { code: 'pods-going', says: expect.stringContaining('pod default/db-0 is kept by its finalizers') },
    });
  });
  it('is failed first, before it is reported', () =>
    expect(said(given([held], { deleted: deleted.deleted ?? new Map() }))).toBe('fail-pod'));
});
