import { describe, expect, it } from 'vitest';
import type { NodeFacts } from '../../fencing/model/cluster-facts.ts';
import type { MachineFacts, Power } from '../../fencing/model/machine.ts';
import { timing } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import { decide } from '../../fencing/rules/decide.ts';
import { liftOutlivedTaint } from '../../fencing/rules/lift.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import {
  ago,
  back,
  BEFORE,
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

/** Each condition of the lift and of the release, one by one. */

const OURS = { outOfService: true, ours: true, quarantine: true };

const up = (change: Partial<MachineFacts> = {}) =>
  machine({ power: 'running', generation: 'boot-2', disks: [], ...change });
/** The machine has booted under a fence. */
const returned = (standing: NodeFacts, change: Partial<View['cluster']> = {}, rest: Partial<View> = {}): View =>
  view({
    machine: up(),
    cluster: cluster({ node: standing, pods: [], volumes: [], lease: ago(3_000), ...change }),
    ...rest,
  });
const says = (given: View) => decide(given).because.says;

describe('the return of a machine', () => {
  const lease = (age: number, first: string | null | undefined): View =>
    returned(back(), { lease: ago(age) }, { memory: { ...view().memory, firstLease: first } });
  const reach = (facts: Partial<MachineFacts>, change: Partial<NodeFacts>, recorded: Partial<FenceRecord> = {}): View =>
    returned(back(change, recorded), {}, { machine: up(facts) });
  const silent = { ready: 'Unknown', readySince: NOW - 7_200_000 } as const;
  const cases: readonly [string, View, string][] = [
    ['is proven by a recent Lease, even if this run saw no renewal of it', lease(1_000, ago(1_000)), 'release-node'],
    [
      'is not proven by a Lease that is no longer recent',
      lease(timing.leaseFresh, ago(timing.leaseFresh)),
      'wait lease-misdated',
    ],
    [
      'is not proven by an old Lease that this run reads for the first time',
      lease(300_000, undefined),
      'wait lease-misdated',
    ],
    [
      'is not complete while a pod of the fence still runs, even if a finalizer will hold it',
      returned(back(), { pods: [pod({ deleting: true, finalizers: true, volumes: [] })] }),
      'wait return-unproven',
    ],
    [
      'is not complete while a pod of the fence that has finished is still there',
      returned(back(), { pods: [pod({ deleting: true, finished: true, volumes: [] })] }),
      'wait return-unproven',
    ],
    [
      'does not depend on how long ago the machine started, if the Node is Ready',
      reach({ since: NOW - 7_200_000 }, { ready: 'True', readySince: NOW - 3_600_000 }),
      'release-node',
    ],
    [
      'is given up exactly five minutes after the start of the machine',
      reach({ since: NOW - 300_000 }, silent),
      'refused unreachable-but-running',
    ],
    [
      'is given up five minutes after the removal of the taint, if the cloud gives no time',
      reach({ since: null }, silent),
      'refused unreachable-but-running',
    ],
    [
      'is waited for within five minutes of the removal of the taint, if the cloud gives no time',
      reach({ since: null }, silent, { released: ago(100_000) }),
      'wait return-unproven',
    ],
    [
      'is waited for within five minutes of the begin of the fence, if the taint was never removed',
      reach({ since: null }, silent, { released: null, begun: ago(100_000) }),
      'wait return-unproven',
    ],
    [
      'is waited for while the machine starts, however long that takes',
      returned(back(silent), {}, { machine: machine({ power: 'starting', since: NOW - 400_000 }) }),
      'wait return-unproven',
    ],
    [
      'is waited for if the record dates the removal of the taint a little ahead',
      returned(back({}, { released: ago(-timing.clocksDiffer) })),
      'wait controllers-settling',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('is timed again if the record dates the removal of the taint far ahead', () => {
    const recorded = { released: ago(-timing.clocksDiffer - 1) };
    expect(decide(returned(back({}, recorded)))).toMatchObject({
      step: { do: 'note', record: { ...record(), phase: 'fenced', released: ago(0) } },
      because: { code: 'controllers-settling' },
    });
  });

  it('is refused with what is missing if a person requests the release', () => {
    const release = { request: { ...view().request, intent: 'release' } } as const;
    const going = { pods: [pod({ deleting: true, volumes: [] })] };
    const silentFor = { ...release, machine: up({ since: NOW - 400_000 }) };
    expect(says(returned(back(silent), {}, silentFor))).toBe('Node node-a is not Ready yet');
    expect(says(returned(back(), going))).toBe('the fence deleted Pod default/db-0, but the Pod still exists');
    expect(says(returned(back({ identitySources: [] }), {}, release))).toMatch(/^nothing on Node node-a names m-1/);
  });

  it('names the taint that stays because it is not ours', () => {
    const end = 'a fresh boot is proven, and all controllers have seen the removal of the taint';
    expect(decide(returned(back())).because).toEqual({ code: 'settled', says: end });
    expect(says(returned(back({ taints: { ...PARKED, outOfService: true } })))).toBe(
      `${end}. Node node-a keeps an out-of-service taint that is not from Cloudfence. To remove it: \`take the taint off node-a\``,
    );
  });

  it('removes the trace of an earlier fence, but not while its record is there', () => {
    const trace = { bootID: 'boot-b', taintedFor: BEFORE };
    expect(decide(returned(node(trace)))).toMatchObject({
      step: { do: 'set-tombstone' },
      because: { code: 'returned' },
    });
    expect(said(returned(node({ ...trace, recordText: '{}', strayRecord: record() })))).toBe('ignored machine-running');
  });

  it('removes the label that a person left of an earlier fence, once machine and kubelet run', () => {
    const bare = { bootID: 'boot-b', label: 'run.1' } as const;
    expect(decide(returned(node(bare)))).toMatchObject({
      step: { do: 'set-tombstone', tombstone: null },
      because: { code: 'returned' },
    });
    expect(said(returned(node({ ...bare, ready: 'False' })))).toBe('refused record-lost');
    const seen = (firstLease: string | null | undefined) => ({ memory: { ...view().memory, firstLease } });
    expect(said(returned(node(bare), { lease: ago(0) }, seen(ago(0))))).toBe('wait renewal-awaited');
    expect(said(returned(node(bare), { lease: ago(0) }, seen(undefined)))).toBe('wait renewal-awaited');
    expect(said(returned(node(bare), { lease: ago(900_000) }, seen(ago(910_000))))).toBe('set-tombstone');
    expect(decide(returned(node(bare), { lease: ago(0) }, seen(ago(0)))).because.says).toBe(
      'Cloudfence waits until the kubelet of node-a renews its Lease',
    );
    expect(said(returned(node({ ...bare, identitySources: [] })))).toBe('refused identity-unproven');
    expect(said(returned(node({ ...bare, taints: PARKED })))).toBe('refused record-lost');
    expect(said(returned(node(bare), {}, { machine: up({ power: 'starting' }) }))).toBe('ignored machine-starting');
    expect(said(returned(node(bare), {}, { machine: machine({ disks: [] }) }))).toBe('set-tombstone');
    expect(decide(returned(node(bare), {}, { machine: machine({ disks: [] }) }))).toMatchObject({
      step: { tombstone: { fence: 'run.1' } },
    });
  });

  it('removes a tombstone with a record that a kubelet has changed, but not while the quarantine is there', () => {
    const changed = { bootID: 'boot-b', label: 'x', tombstone: BEFORE, recordText: '{}', unmatchedSeal: 'x' } as const;
    expect(said(returned(node(changed)))).toBe('set-tombstone');
    expect(said(returned(node({ ...changed, unmatchedSeal: null, record: record() })))).not.toBe('set-tombstone');
    expect(said(returned(node({ ...changed, taints: PARKED })))).toBe('refused record-lost');
  });
});

describe('a Node that has lost the record of its fence', () => {
  const requested = (change: Partial<NodeFacts>, accepted: string | null = null): View =>
    view({
      cluster: cluster({ node: node(change) }),
      request: { ...view().request, intent: 'release', accepted },
    });
  const tombstone = { fence: 'run.8', boot: 'another boot' };
  it.each([
    ['is still fenced if our label is left', { label: 'run.7' }, 'refused record-lost'],
    ['is still fenced if our quarantine is left', { taints: PARKED }, 'refused record-lost'],
    [
      'is still fenced if our taint is left next to a tombstone',
      { label: 'x', tombstone, taints: { ...OURS, quarantine: false } },
      'refused record-lost',
    ],
    [
      'is still fenced if our quarantine is left next to a tombstone',
      { label: 'x', tombstone, taints: PARKED },
      'refused record-lost',
    ],
    ['is not fenced if only a tombstone is left', { label: 'x', tombstone }, 'released released'],
    [
      'is still fenced if the record is left next to a tombstone',
      { label: 'x', tombstone, recordText: '{}', record: record() },
      'refused still-off',
    ],
  ] as const)('%s', (_, change, expected) => expect(said(requested(change))).toBe(expected));

  it.each([
    ['our label names it', { label: 'run.7', taints: OURS }, 'run.7', 'ours'],
    ['a tombstone names it', { label: 'x', tombstone, taints: PARKED }, 'run.8', 'unsupported'],
    ['nothing names it', { taints: PARKED }, 'run.1', 'unsupported'],
  ] as const)('gets a record for its release: %s', (_, change, fence, outOfService) => {
    expect(decide(requested(change, 'checked'))).toMatchObject({
      step: {
        do: 'lift-out-of-service',
        record: { machine: 'm-1', bootID: 'boot-a', fence, outOfService, phase: 'releasing', released: ago(0) },
      },
      because: { code: 'accepted-by-a-person', says: 'checked' },
    });
  });
});

describe('the lift of our out-of-service taint', () => {
  const lift = (standing: NodeFacts, facts: Partial<MachineFacts> = {}, change: Partial<View['cluster']> = {}) =>
    decide(view({ machine: machine({ power: 'running', ...facts }), cluster: cluster({ node: standing, ...change }) }));

  it.each([
    ['the machine may write', lift(marked()), 'no-longer-off'],
    [
      'the Node has booted since',
      lift(marked({}, { taintedFor: { ...BEFORE, boot: 'another boot' } }), { power: 'off' }),
      'taint-of-another-boot',
    ],
    [
      'nothing is left to free on a Node that nothing names',
      lift(marked({}, { identitySources: [] }), { power: 'off' }, { pods: [], volumes: [] }),
      'nothing-left-to-free',
    ],
    [
      'only a pod that tolerates the taint keeps its volume on a Node that nothing names',
      lift(marked({}, { identitySources: [] }), { power: 'off' }, { pods: [pod({ tolerates: true })] }),
      'nothing-left-to-free',
    ],
  ])('gives its reason: %s', (_, decision, code) => {
    expect(decision).toMatchObject({ step: { do: 'lift-out-of-service' }, because: { code } });
  });

  it('writes no record if there was none, or if the record is of another machine', () => {
    expect(lift(node({ label: 'run.1', taints: OURS }))).toMatchObject({ step: { record: null } });
    expect(lift(marked({ machine: 'm-2' }))).toMatchObject({ step: { do: 'lift-out-of-service', record: null } });
  });

  it('needs no providerID if every driver names the machine, whatever a kubelet wrote into the record', () => {
    const csi = { source: 'csiNode', driver: 'a-driver', value: 'm-1' } as const;
    expect(lift(marked({ machine: 'm-2' }, { identitySources: [csi] }))).toMatchObject({
      step: { do: 'lift-out-of-service', record: null },
    });
  });
});

describe('a taint of an earlier boot, on a Node whose machine nobody knows', () => {
  const now = { wall: NOW, mono: 0 };
  const another = { ...BEFORE, boot: 'another boot' };
  it('is lifted, and the record says so', () => {
    const standing = marked({}, { taintedFor: another });
    expect(liftOutlivedTaint(standing, now)).toMatchObject({
      step: {
        do: 'lift-out-of-service',
        node: { uid: 'node-uid', bootID: 'boot-a' },
        record: { ...record(), phase: 'lifted', released: ago(0) },
      },
      because: { code: 'taint-of-another-boot' },
    });
    expect(liftOutlivedTaint({ ...standing, record: null }, now)).toMatchObject({ step: { record: null } });
  });
  it.each([
    ['stays if it is of this boot', marked({}, { taintedFor: BEFORE })],
    ['stays if it is not ours', marked({}, { taintedFor: another, taints: { ...OURS, ours: false } })],
    ['stays if nothing says for which boot it was set', marked()],
  ])('%s', (_, standing) => expect(liftOutlivedTaint(standing, now)).toBeNull());
});

describe('what a Node that is gone left behind', () => {
  const gone = (change: Partial<View['cluster']>, memory: Partial<View['memory']> = {}): View =>
    view({ cluster: cluster({ node: null, ...change }), memory: { ...view().memory, ...memory } });
  it.each([
    ['may be a pod, which is deleted', gone({ volumes: [] }), 'delete-pod'],
    [
      'may be a volume, which is waited for',
      gone({ pods: [], volumes: [volume({ attachment: null })] }),
      'wait disks-going',
    ],
    ['is nothing if there is nothing at first', gone({ pods: [], volumes: [] }), 'ignored no-node'],
    [
      'is freed if there is nothing any more after this run took a step',
      gone({ pods: [], volumes: [] }, { takenAt: new Map([['delete-pod a', 0]]) }),
      'fenced fenced',
    ],
  ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

// A fence begins only when the machine is off, or on a person's statement that a suspended machine is off.
describe('a person who ends the fence of a suspended machine', () => {
  const ends = (change: Partial<FenceRecord>, memory: Partial<View['memory']> = {}): View => {
    const given = view({
      machine: machine({ power: 'suspended', generation: 'boot-2' }),
      cluster: cluster({ node: marked({ released: ago(630_000), ...change }, { taints: PARKED }) }),
    });
    return {
      ...given,
      request: { ...given.request, intent: 'release', accepted: 'checked' },
      memory: { ...given.memory, ...memory },
    };
  };
  const begun = { takenAt: new Map([['lift-out-of-service node-uid', 0]]) };

  it('ends that of a boot that has ended, because the machine has been started since it was off', () => {
    expect(decide(ends({ phase: 'fenced' }))).toMatchObject({ step: { record: { phase: 'releasing', bootID: '' } } });
    expect(decide(ends({ phase: 'releasing' }, begun))).toMatchObject({
      step: { do: 'release-node', tombstone: null },
    });
  });

  it('ends that of the present boot if the fence began on a statement', () => {
    const vouched = { vouched: 'unplugged' };
    expect(decide(ends({ phase: 'fenced', ...vouched }))).toMatchObject({
      step: { record: { phase: 'releasing', bootID: 'boot-a', generation: 'boot-2' } },
    });
    expect(decide(ends({ phase: 'releasing', ...vouched }, begun))).toMatchObject({
      step: { do: 'release-node', tombstone: BEFORE },
    });
  });
});

describe('the substitute for a lost record that a person’s release writes', () => {
  const lost = node({ bootID: 'boot-b', label: 'run.1', taints: PARKED });
  const writtenFor = (power: Power): FenceRecord | null => {
    const given = returned(lost, {}, { machine: machine({ power, generation: 'boot-2' }) });
    const decision = decide({ ...given, request: { ...given.request, intent: 'release', accepted: 'checked' } });
    return decision.do === 'step' && decision.step.do === 'lift-out-of-service' ? decision.step.record : null;
  };

  it.each<[Power, Pick<FenceRecord, 'bootID' | 'generation'>]>([
    ['running', { bootID: '', generation: null }],
    ['starting', { bootID: '', generation: null }],
    ['stopping', { bootID: '', generation: null }],
    ['suspended', { bootID: 'boot-b', generation: 'boot-2' }],
    ['off', { bootID: 'boot-b', generation: 'boot-2' }],
    ['missing', { bootID: 'boot-b', generation: 'boot-2' }],
    ['unknown', { bootID: 'boot-b', generation: 'boot-2' }],
  ])('names the boot that the Node shows, unless the machine has been started since: %s', (power, boot) => {
    expect(writtenFor(power)).toMatchObject({ fence: 'run.1', phase: 'releasing', ...boot });
  });

  const interrupted = (change: Partial<View> = {}): View => {
    const written = { ...record(), ...writtenFor('running'), released: ago(700_000) };
    return returned({ ...lost, record: written }, { lease: ago(1_000) }, change);
  };

  it('lets a later run end that release if the person’s process dies', () => {
    expect(said(interrupted())).toBe('release-node');
  });

  it('does not prevent the fence of the next stop', () => {
    const { node: back } = interrupted().cluster;
    expect(said(view({ machine: machine({ generation: 'boot-2' }), cluster: cluster({ node: back }) }))).toBe('mark');
  });
});
