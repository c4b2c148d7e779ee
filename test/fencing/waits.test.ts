import { describe, expect, it } from 'vitest';
import type { PodFacts } from '../../fencing/model/cluster-facts.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { isLeftToOthers, pollDelay } from '../../fencing/rules/waits.ts';
import type { Memory, View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import { ago, attachment, cluster, machine, marked, node, NOW, pod, view, volume } from './view-builder.ts';

/** How long a fence waits for what goes by itself, and what it says meanwhile. */

const fencing = (change: Partial<View['cluster']>, memory: Partial<Memory> = {}, rest: Partial<View> = {}): View =>
  view({
    machine: machine({ disks: [] }),
    cluster: cluster({ node: marked({ released: ago(1_000) }), pods: [], volumes: [], ...change }),
    memory: { ...view().memory, ...memory },
    ...rest,
  });
const waits = (given: View) => {
  const decision = decide(given);
  return decision.do === 'wait' ? `${decision.because.code}: ${decision.because.says}` : decision.do;
};

it('looks are frequent at first and rare later', () => {
  const after = (polls: number) => pollDelay(fencing({}, { polls }));
  expect(after(0)).toBe(timing.pollShortest);
  expect(after(2)).toBe(Math.round(timing.pollShortest * 1.33 ** 2));
  expect(after(99)).toBe(timing.pollLongest);
});

describe('a wait for pods', () => {
  const going = (name: string, change: Partial<PodFacts> = {}): PodFacts =>
    pod({ name, uid: name, deleting: true, volumes: [], ...change });
  const using = { volumes: ['a-driver^disk-1'] };
  const wait = (pods: readonly PodFacts[], memory: Partial<Memory> = {}) =>
    waits(
      fencing(
        { pods, node: marked({ pods: pods.map(({ namespace, name, uid }) => ({ namespace, name, uid })) }) },
        { sinceLook: new Set(pods.map(({ uid }) => `delete-pod ${uid}`)), ...memory },
      ),
    );
  it('counts them', () => {
    expect(wait([going('a')])).toBe('pods-going: 1 pod is being deleted');
    expect(wait([going('a'), going('b')])).toBe('pods-going: 2 pods are being deleted');
  });

  it('has fewer looks, the more volumes a look reads', () => {
    const held = { pods: [going('a')], node: marked({ pods: [going('a')] }) };
    const lasts = (volumes: number, polls: number, others: readonly string[] = []) => {
      const memory = { sinceLook: new Set(['delete-pod a']), polls };
      const all = Array.from({ length: volumes }, (_, nth) => volume({ key: `disk-${nth}`, attachment: null }));
      const decision = decide(fencing({ ...held, volumes: all, attachmentsOfOthers: others }, memory));
      return decision.do === 'wait' ? decision.ms : null;
    };
    expect(lasts(0, 99, ['csi-1', 'csi-2'])).toBe(4_500);
    expect([0, 1, 10, 100].map((volumes) => lasts(volumes, 99))).toEqual([3_500, 4_500, 13_500, timing.lookLongest]);
    expect(lasts(100, 0)).toBe(timing.pollShortest);
  });

  it('names them if finalizers hold them', () => {
    const held = ['a', 'b'].map((name) => going(name, { finalizers: true }));
    const memory = {
      deleted: new Map(held.map(({ uid }) => [uid, { origin: uid, at: 0 }])),
      takenAt: new Map(held.map(({ uid }) => [`fail-pod ${uid}`, 0])),
    };
    const retired = (pods: readonly PodFacts[]) =>
      waits(
        fencing(
          { pods, node: marked({ released: ago(1_000), pods }) },
          { ...memory, sinceLook: new Set(['delete-pod c']) },
        ),
      );
    expect(retired(held.slice(1))).toBe('pods-going: 1 pod is being deleted; pod default/b is kept by its finalizers');
    expect(retired([...held, going('c')])).toBe(
      'pods-going: 3 pods are being deleted; pod default/a, pod default/b are kept by their finalizers',
    );
  });

  it('names them if something recreates them with a volume', () => {
    const late = going('late', { ...using, deleting: false });
    const given = fencing(
      { pods: [late], node: marked() },
      { deleted: new Map([['before', { origin: 'default/late', at: 1_000 }]]) },
    );
    expect(waits(given)).toBe(
      'pods-going: 1 pod is being deleted; pod default/late is recreated after each deletion and uses a volume',
    );
  });
});

describe('a wait for attachments that are being deleted', () => {
  const deleting = (name: string, detachError: string | null = null) =>
    volume({
      key: name,
      attachmentName: name,
      attachment: attachment({ name, uid: name, deletingSince: NOW, detachError }),
    });
  it('names them, with the message of their driver', () => {
    const wait = (...volumes: View['cluster']['volumes']) => waits(fencing({ node: marked(), volumes }));
    expect(wait(deleting('a'))).toBe('attachments-going: Kubernetes detaches 1 volume (a)');
    const busy = { ...deleting('b', 'no'), handle: 'disk-2' };
    expect(
      waits(fencing({ node: marked(), volumes: [deleting('a'), busy] }, { takenAt: new Map([['nudge b on', 1_000]]) })),
    ).toBe('attachments-going: Kubernetes detaches 2 volumes (a, b); the driver says: no');
  });
});

describe('a wait for disks', () => {
  const attached = (keep: string | null) => ({
    machine: machine({ disks: [{ disk: 'disk-1', state: 'attached', keep }] }),
  });
  const free = { volumes: [volume({ attachment: null })] };
  it.each([
    ['happens while they are attached', fencing(free, {}, attached(null)), 'wait disks-going'],
    ['does not happen if they stay with the machine', fencing(free, {}, attached('it is the root disk')), 'park'],
    [
      'does not happen if the policy forbids to detach them',
      fencing(free, {}, { ...attached(null), policy: { ...defaultPolicy, detach: 'never' } }),
      'park',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

it('a nudge is waited for until it is to be removed', () => {
  const nudged = volume({ attachment: null, successor: attachment({ uid: 'new', attached: false, nudged: true }) });
  const { now } = view();
  const memory = { takenAt: new Map([['nudge new on', now.mono - 500]]) };
  expect(decide(fencing({ volumes: [nudged] }, memory))).toMatchObject({ do: 'wait', ms: timing.nudge - 500 });
});

describe('how long a wait for attachments lasts', () => {
  const until = (change: Partial<View['cluster']>, memory: Partial<Memory> = {}, rest: Partial<View> = {}) => {
    const decision = decide(fencing({ node: marked(), ...change }, memory, rest));
    return decision.do === 'wait' ? { ms: decision.ms, until: decision.until } : decision.do;
  };
  const leaving = attachment({ deletingSince: NOW - 1_000 });
  const volumes = [volume({ attachment: leaving })];
  const { now } = view();
  it('until they are gone, or until everything is read again', () => {
    expect(until({ volumes }, {}, { policy: { ...defaultPolicy, detach: 'never' } })).toEqual({
      ms: timing.lookAgain,
      until: { attachments: [leaving], deletedBy: now.mono + timing.attachmentLingers, fewTellAll: true },
    });
  });

  it('until a detach through the cloud is to be forced', () => {
    const late = volume({ attachment: attachment({ deletingSince: NOW - 60_000 }) });
    const asked = { takenAt: new Map([['detach-disk m-1 disk-1 plain', now.mono - 13_000]]) };
    const attached = { machine: machine() };
    expect(until({ volumes: [late] }, asked, attached)).toMatchObject({ ms: timing.plainDetach - 13_000 });
  });

  it('until all are gone, once a look has shown that they go one by one', () => {
    expect(until({ volumes }, { polls: 1 })).toMatchObject({ until: { fewTellAll: false } });
    const busy = { machine: machine({ disks: [], power: 'stopping', offUnderOperation: true }) };
    expect(until({ volumes }, { polls: 1 }, busy)).toMatchObject({ until: { fewTellAll: false } });
  });

  it('until a disk is to be detached through the cloud', () => {
    const soon = volume({ attachment: attachment({ deletingSince: NOW - timing.detachStuck + 3_000 }) });
    expect(until({ volumes: [soon] })).toMatchObject({ ms: 3_000 });
    const late = volume({ attachment: attachment({ deletingSince: NOW - 60_000 }) });
    expect(until({ volumes: [late] })).toMatchObject({ ms: timing.lookAgain });
  });

  it('longer, the more volumes a look reads', () => {
    const many = Array.from({ length: 25 }, (_, nth) =>
      volume({ key: `disk-${nth}`, attachment: attachment({ name: `${nth}`, deletingSince: NOW - 1_000 }) }),
    );
    const never = { policy: { ...defaultPolicy, detach: 'never' as const } };
    expect(until({ volumes: many }, {}, never)).toMatchObject({ ms: 32_000 });
    expect(until({ volumes: [...many, ...many] }, {}, never)).toMatchObject({ ms: timing.lookLongest });
    const released = many.map((one, nth) => (nth === 0 ? one : { ...one, attachment: null }));
    expect(until({ volumes: released.slice(0, 8) }, {}, never)).toMatchObject({ ms: 22_000 });
  });

  it('also during an operation on the machine, because that is their detach', () => {
    const busy = { machine: machine({ disks: [], power: 'stopping', offUnderOperation: true }) };
    expect(until({ volumes }, {}, busy)).toEqual({
      ms: timing.lookAgain,
      until: { attachments: [leaving], deletedBy: Infinity, fewTellAll: true },
    });
    expect(until({ volumes, pods: [pod()] }, {}, busy)).toEqual({ ms: timing.pollShortest, until: null });
    // Before the mark, nothing is being detached, and the mark waits for the end of the operation.
    const mixed = [...volumes, volume({ key: 'disk-2', attachment: attachment({ name: 'two' }) })];
    const wanting = [pod({ volumes: ['disk-2'] })];
    expect(until({ node: node(), volumes: mixed, pods: wanting }, {}, busy)).toEqual({
      ms: timing.pollShortest,
      until: null,
    });
  });

  it('only three seconds if Kubernetes has not begun to delete the first of them by then', () => {
    const since = (...ages: readonly number[]) => ({
      unwanted: new Map(ages.map((age, nth) => [`disk-${nth}`, now.mono - age])),
    });
    const two = ['disk-0', 'disk-1'].map((key) => volume({ key, attachment: attachment({ name: key }) }));
    for (const memory of [since(1_000, 200), since(200, 1_000)])
      expect(until({ volumes: two }, memory)).toMatchObject({
        until: { deletedBy: now.mono + timing.attachmentLingers - 1_000 },
      });
  });
});

describe('a fence', () => {
  const leaving = volume({ attachment: attachment({ deletingSince: NOW - 1_000 }) });
  const free = volume({ key: 'a-driver^disk-2', handle: 'disk-2', attachment: null });
  const onDisk2 = (keep: string | null = null) => machine({ disks: [{ disk: 'disk-2', state: 'attached', keep }] });
  const rejected = new Map([['detach-disk m-1 disk-2 plain', 'denied']]);
  const held = pod({ deleting: true, finalizers: true, volumes: [] });
  const failed: Partial<Memory> = {
    takenAt: new Map([['fail-pod pod-uid', 0]]),
    deleted: new Map([['pod-uid', { origin: 'default/db-0', at: 0 }]]),
  };
  const cases: readonly [string, View, boolean][] = [
    ['that holds nothing any more', fencing({}), true],
    ['whose attachment is being deleted', fencing({ volumes: [leaving, free] }), true],
    [
      'whose attachment is not being deleted',
      fencing({ volumes: [leaving, volume({ attachment: attachment() })] }),
      false,
    ],
    ['whose attachment a pod uses', fencing({ volumes: [volume()], pods: [pod({ tolerates: true })] }), true],
    ['with a disk that is still attached', fencing({ volumes: [leaving, free] }, {}, { machine: onDisk2() }), false],
    ['with a disk that must be kept', fencing({ volumes: [free] }, {}, { machine: onDisk2('root disk') }), true],
    [
      'with a disk that the cloud does not detach',
      fencing({ volumes: [free] }, { declined: rejected }, { machine: onDisk2() }),
      true,
    ],
    [
      'with a disk of no known PersistentVolume',
      fencing({ volumes: [{ ...free, persistentVolume: null }] }, {}, { machine: onDisk2() }),
      true,
    ],
    [
      'with a disk that a pod uses',
      fencing(
        { volumes: [free], pods: [pod({ tolerates: true, volumes: ['a-driver^disk-2'] })] },
        {},
        { machine: onDisk2() },
      ),
      true,
    ],
    [
      'with a disk that Cloudfence may not detach',
      fencing({ volumes: [free] }, {}, { machine: onDisk2(), policy: { ...defaultPolicy, detach: 'never' } }),
      true,
    ],
    ['whose Node name is in use again', fencing({ node: null, volumes: [volume({ nameTaken: true })] }), true],
    [
      'whose Node name is in use again, with a disk',
      fencing({ node: null, volumes: [{ ...free, nameTaken: true }] }, {}, { machine: onDisk2() }),
      false,
    ],
    [
      'with a pod whose deletion is rejected',
      fencing({ pods: [pod({ volumes: [] })] }, { declined: new Map([['delete-pod pod-uid', 'denied']]) }),
      true,
    ],
    ['with a pod', fencing({ pods: [pod({ volumes: [] })] }), false],
    ['with a pod that only finalizers keep', fencing({ pods: [held] }, failed), true],
    ['with such a pod, and another one', fencing({ pods: [held, pod({ uid: 'other', volumes: [] })] }, failed), false],
    ['with a pod that is not deleted', fencing({ pods: [pod({ kind: 'mirror', volumes: [] })] }), true],
    [
      'with a pod that is recreated after each deletion',
      fencing({
        node: marked({ pods: [], recurring: ['default/agent'] }),
        pods: [pod({ name: 'agent', uid: 'other', volumes: [] })],
      }),
      true,
    ],
  ];
  it.each(cases)('%s: is left to others', (_, given, left) => expect(isLeftToOthers(given)).toBe(left));
});
