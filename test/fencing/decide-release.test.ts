import { describe, expect, it } from 'vitest';
import { type ClusterFacts, fenceInBoot, type NodeFacts } from '../../fencing/model/cluster-facts.ts';
import { timing } from '../../fencing/model/policy.ts';
import { decide } from '../../fencing/rules/decide.ts';
import type { Power } from '../../fencing/model/machine.ts';
import { because } from '../../fencing/model/reason.ts';
import type { View } from '../../fencing/rules/view.ts';
import { said } from './said.ts';
import {
  ago,
  attachedAtMark,
  attachment,
  back,
  BEFORE,
  cluster,
  machine,
  marked,
  node,
  NOW,
  optOut,
  PARKED,
  pod,
  record,
  returned,
  view,
  volume,
} from './view-builder.ts';

const up = machine({ power: 'running', generation: 'boot-2', disks: [] });
const ofDriver = (value: string) => ({ source: 'csiNode', driver: 'a-driver', value }) as const;
const ofBoot = (bootID: string) => fenceInBoot('run.1', { bootID }, { generation: 'boot-1' });
const paused = { surroundings: { ...cluster().surroundings, paused: 'audit' } };

describe('our out-of-service taint', () => {
  const now = (power: Power, node: NodeFacts, change: Partial<ClusterFacts> = {}, rest: Partial<View> = {}) =>
    view({ machine: machine({ power }), cluster: cluster({ node, ...change }), ...rest });
  const withoutRecord = marked({}, { record: null, recordText: null });
  const cases: readonly [string, View, string][] = [
    [
      'is lifted at once if the machine runs, whether its Node is Ready or not',
      now('running', marked({}, { ready: 'Unknown' })),
      'lift-out-of-service',
    ],
    ['is lifted at once if the machine starts', now('starting', marked()), 'lift-out-of-service'],
    ['is lifted at once if the machine is shutting down again', now('stopping', marked()), 'lift-out-of-service'],
    [
      'stays while an operation prevents a proof for a machine that is off',
      view({ machine: machine({ power: 'stopping', offUnderOperation: true }), cluster: cluster({ node: marked() }) }),
      'wait stopping',
    ],
    [
      'is lifted at once if the machine is suspended, because it may resume',
      now('suspended', marked()),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, whatever its generation',
      view({ machine: up, cluster: cluster({ node: marked() }) }),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even during a pause',
      now('running', marked(), paused),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even if its Node names two machines',
      now(
        'running',
        marked(
          {},
          {
            identitySources: [
              ...node().identitySources,
              { source: 'nodeIdAnnotation', driver: 'a-driver', value: 'm-2' },
            ],
          },
        ),
      ),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even if more than one Node names it',
      now('running', marked(), {}, { ambiguity: because('identity-ambiguous', 'two of them') }),
      'lift-out-of-service',
    ],
    [
      'stays on a machine that is off and that more than one Node names, and nothing else is done',
      now('off', marked(), {}, { ambiguity: because('identity-ambiguous', 'two of them') }),
      'refused identity-ambiguous',
    ],
    [
      'is lifted from a machine that runs, even if its Node is opted out',
      now('running', marked({}, { optOuts: [optOut('no')] })),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even if its fence has ended',
      now('running', marked({ phase: 'fenced' })),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even if its record is lost',
      now('running', node({ label: 'run.1', taints: { outOfService: true, ours: true, quarantine: true } })),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even if its record is unreadable',
      now(
        'running',
        node({ label: 'run.1', recordText: '{', taints: { outOfService: true, ours: true, quarantine: true } }),
      ),
      'lift-out-of-service',
    ],
    [
      'is not touched if the record says that someone else set it',
      now('running', marked({ outOfService: 'foreign' })),
      'wait return-unproven',
    ],
    [
      'is not touched if its value is not ours, whatever a kubelet writes into the record',
      now(
        'running',
        marked(
          {},
          { taints: { outOfService: true, ours: false, quarantine: true }, ready: 'Unknown', bootID: 'boot-b' },
        ),
      ),
      'wait return-unproven',
    ],
    [
      'stays while the machine is off',
      now('off', marked({}), { pods: [], volumes: [volume()] }),
      'wait attachments-going',
    ],
    [
      'is lifted from a machine that runs, even if the record, which a kubelet may write, names another machine',
      now('running', marked({ machine: 'm-2' })),
      'lift-out-of-service',
    ],
    [
      'is lifted from a machine that runs, even if its kubelet wrote another machine into record and driver',
      now('running', marked({ machine: 'm-2' }, { identitySources: [...node().identitySources, ofDriver('m-2')] })),
      'lift-out-of-service',
    ],
    [
      'is not lifted if the record names another machine and no providerID names this one',
      now('running', marked({ machine: 'm-2' }, { identitySources: [ofDriver('m-1'), ofDriver('m-2')] })),
      'refused record-of-another-machine',
    ],
    [
      'is lifted although the machine is off, once the Node has shown another boot than the taint is for',
      now('off', marked({}, { taintedFor: ofBoot('boot-before') })),
      'lift-out-of-service',
    ],
    ['stays in the boot that it is for', now('off', marked({}, { taintedFor: ofBoot('boot-a') })), 'delete-pod'],
    [
      'stays in the boot that it is for, whatever generation the cloud names, because a detach may change that',
      now('off', marked({}, { taintedFor: fenceInBoot('run.1', node(), { generation: 'drifted' }) })),
      'delete-pod',
    ],
    [
      'is lifted once everything is free, if the Node no longer names the machine',
      now('off', marked({}, { identitySources: [] }), { pods: [], volumes: [] }),
      'lift-out-of-service',
    ],
    [
      'is lifted once everything is free, if the Node names a later machine of that name',
      view({
        machine: machine({ incarnation: { id: 'later', made: NOW } }),
        cluster: cluster({ node: marked(), pods: [], volumes: [] }),
      }),
      'lift-out-of-service',
    ],
    [
      'stays while a pod is left that Kubernetes deletes because of it',
      now('off', marked({}, { identitySources: [] }), { volumes: [] }),
      'refused identity-unproven',
    ],
    [
      'stays while an attachment is left',
      now('off', marked({}, { identitySources: [] }), { pods: [] }),
      'refused identity-unproven',
    ],
    [
      'is lifted in another boot even if a person vouches for the machine',
      now('suspended', marked({ vouched: 'unplugged' }, { taintedFor: ofBoot('boot-before') })),
      'lift-out-of-service',
    ],
    [
      'stays on a suspended machine that a person vouches for: the fence continues',
      now('suspended', marked({ vouched: 'unplugged' }), {}, { policy: { ...view().policy, vouching: 'accepted' } }),
      'delete-pod',
    ],
    [
      'is lifted from a machine that runs, even if a person vouches for it',
      now('running', marked({ vouched: 'unplugged' })),
      'lift-out-of-service',
    ],
    [
      'is lifted if everything is free, the record is gone, and the cloud does not know the machine',
      now('missing', withoutRecord, { pods: [], volumes: [] }),
      'lift-out-of-service',
    ],
    [
      'is lifted if everything is free, and only a record without the label says that the machine was gone at the mark',
      now('missing', marked({ generation: null }, { label: null }), { pods: [], volumes: [] }),
      'lift-out-of-service',
    ],
    [
      'stays if the label is there to confirm that record',
      now('missing', marked({ generation: null, volumes: attachedAtMark }), { pods: [], volumes: [] }),
      'search missing-without-witness',
    ],
    [
      'stays if only the label is gone',
      now('missing', marked({}, { label: null }), { pods: [], volumes: [] }),
      'wait kubelet-not-silent',
    ],
    [
      'stays without the record while a pod is left',
      now('missing', withoutRecord, { volumes: [] }),
      'search missing-without-witness',
    ],
    [
      'stays without the record if the machine is off, because the fence begins again',
      now('off', withoutRecord),
      'mark',
    ],
    [
      'stays with the record if the cloud does not know the machine, until the fence ends',
      now('missing', marked(), { pods: [], volumes: [] }),
      'wait kubelet-not-silent',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  // After this read, another run may have set the mark, under a proof that this run does not know.
  describe('and a read of the machine that may be older than the mark', () => {
    const late = (power: Power, node = marked()) =>
      now(power, node, {}, { memory: { ...view().memory, markIsNew: true } });
    const outlived = (memory: View['memory']) =>
      now('off', marked({}, { identitySources: [] }), { pods: [], volumes: [] }, { memory });
    it.each([
      [
        'of a machine that is stopping: nothing is lifted, and the machine is read again',
        late('stopping'),
        'reread no-longer-off',
      ],
      [
        'of a machine that runs: nothing is lifted, and the machine is read again',
        late('running'),
        'reread no-longer-off',
      ],
      [
        'of a machine that nothing names any more: nothing is lifted, and the machine is read again',
        outlived({ ...view().memory, markIsNew: true }),
        'reread nothing-left-to-free',
      ],
      [
        'of a machine that nothing names any more: the taint is lifted if the mark was seen before',
        outlived(view().memory),
        'lift-out-of-service',
      ],
      [
        'of a machine that runs: the taint of another boot is lifted, because that needs no read of the machine',
        late('running', marked({}, { taintedFor: ofBoot('boot-before') })),
        'lift-out-of-service',
      ],
      ['of a machine that is off: the fence continues without another read', late('off'), 'delete-pod'],
    ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
  });

  it('is lifted with a record that says so, and when', () => {
    const decision = decide(now('running', marked()));
    expect(decision).toMatchObject({ step: { record: { phase: 'lifted', released: new Date(NOW).toISOString() } } });
  });
});

describe('the release of a fence', () => {
  const cases: readonly [string, View, string][] = [
    ['happens if a fresh boot is proven', returned(), 'release-node'],
    [
      'waits while the machine is starting',
      returned({}, { machine: machine({ power: 'starting' }) }),
      'wait return-unproven',
    ],
    [
      'waits if a Ready Node still shows the old boot, because then the machine resumed from memory',
      returned({ node: back({ bootID: 'boot-a' }) }),
      'wait return-unproven',
    ],
    [
      'waits if the Node is not Ready',
      returned({ node: back({ ready: 'Unknown', readySince: NOW - 60_000 }) }),
      'wait return-unproven',
    ],
    [
      'waits for a Node that is not Ready for five minutes from its start, however long it was silent before',
      returned(
        { node: back({ ready: 'Unknown', readySince: NOW - 7_200_000 }) },
        { machine: { ...up, since: NOW - 100_000 } },
      ),
      'wait return-unproven',
    ],
    [
      'is given up after those five minutes: the Node is then unreachable like any other',
      returned(
        { node: back({ ready: 'Unknown', readySince: NOW - 7_200_000 }) },
        { machine: { ...up, since: NOW - 400_000 } },
      ),
      'refused unreachable-but-running',
    ],
    [
      'is refused with what is missing if a person requests it',
      returned(
        { node: back({ ready: 'Unknown' }) },
        { machine: { ...up, since: NOW - 400_000 }, request: { ...view().request, intent: 'release' } },
      ),
      'refused return-unproven',
    ],
    ['waits if the Lease is as old as the proof', returned({ lease: ago(20_000) }), 'wait return-unproven'],
    [
      'waits if the Lease is minutes old',
      returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(300_000) } }),
      'wait lease-misdated',
    ],
    [
      'happens if the Lease is minutes old but was renewed during the run, by a slow clock',
      returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(310_000) } }),
      'release-node',
    ],
    ['waits if there is no Lease', returned({ lease: null }), 'wait return-unproven'],
    [
      'waits for a pod of the fence that is still being deleted',
      returned({ pods: [pod({ deleting: true, volumes: [] })] }),
      'wait return-unproven',
    ],
    [
      'does not wait for a pod of the fence that is running again',
      returned({ pods: [pod({ volumes: [] })] }),
      'release-node',
    ],
    [
      'does not wait for a pod of the fence that only a finalizer holds',
      returned({ pods: [pod({ deleting: true, finished: true, finalizers: true, volumes: [] })] }),
      'release-node',
    ],
    [
      'does not wait for a later pod that is being deleted',
      returned({ pods: [pod({ uid: 'later', deleting: true, volumes: [] })] }),
      'release-node',
    ],
    [
      'waits for an attachment of the fence that no pod wants',
      returned({ volumes: [volume()] }),
      'wait return-unproven',
    ],
    [
      'waits for an attachment from before the fence that no known pod uses, even if an unknown pod may use it',
      returned({ volumes: [volume()], pods: [pod({ uid: 'new', volumes: [], unresolved: ['default/data'] })] }),
      'wait return-unproven',
    ],
    [
      'does not wait for an attachment that a living pod wants',
      returned({ volumes: [volume()], pods: [pod({ uid: 'new' })] }),
      'release-node',
    ],
    [
      'does not wait for an attachment that was created after the fence',
      returned({ volumes: [volume({ attachmentName: 'csi-later', attachment: attachment({ name: 'csi-later' }) })] }),
      'release-node',
    ],
    [
      'waits until the controllers have seen the removal of the taint',
      returned({ node: back({}, { phase: 'lifted', released: ago(10_000) }) }),
      'wait controllers-settling',
    ],
    [
      'waits no longer than that, although a kubelet wrote a time in the future',
      returned({ node: back({}, { phase: 'lifted', released: '9999-01-01T00:00:00Z' }) }),
      'note',
    ],
    [
      'happens 30 s after the removal of the taint, and a minute later, because the clocks of two processes differ',
      returned({ node: back({}, { phase: 'lifted', released: ago(90_000) }) }),
      'release-node',
    ],
    [
      'does not happen earlier, because the clock of this process may be ahead',
      returned({ node: back({}, { phase: 'lifted', released: ago(89_999) }) }),
      'wait controllers-settling',
    ],
    ['happens even if the fence never ended', returned({ node: back({}, { phase: 'lifted' }) }), 'release-node'],
    [
      'happens even if its name passed to another machine',
      returned({}, { machine: { ...up, incarnation: { id: 'uid-2', made: NOW } } }),
      'release-node',
    ],
    [
      'does not happen on a Node that also names another machine',
      returned({
        node: back({
          identitySources: [
            ...node().identitySources,
            { source: 'nodeIdAnnotation', driver: 'a-driver', value: 'm-2' },
          ],
        }),
      }),
      'refused identity-contradicted',
    ],
    [
      'of a fence whose record is lost is only reported',
      returned({ node: node({ label: 'run.1', taints: PARKED }) }),
      'refused record-lost',
    ],
    [
      'is not needed for a record without anything else of ours',
      returned({ node: node({ recordText: '{}', strayRecord: record() }) }),
      'ignored machine-running',
    ],
    [
      'is not needed for a record without anything else of ours, whatever phase it names',
      returned({ node: node({ recordText: 'x' }) }),
      'ignored machine-running',
    ],
    [
      'is not prevented by a taint that is not ours by its own value, whatever the record says',
      returned({
        node: back(
          { taints: { ...PARKED, outOfService: true } },
          { phase: 'fencing', released: null, begun: ago(600_000) },
        ),
      }),
      'release-node',
    ],
    [
      'is not prevented by a taint that someone else added after ours was removed',
      returned({ node: back({ taints: { ...PARKED, outOfService: true } }) }),
      'release-node',
    ],
    [
      'is not prevented by a taint that was there before ours',
      returned({
        node: back(
          { taints: { ...PARKED, outOfService: true } },
          { outOfService: 'foreign', released: null, begun: ago(600_000) },
        ),
      }),
      'release-node',
    ],
    ['does not happen in a paused cluster', returned(paused), 'refused paused'],
    [
      'also removes a label of an earlier boot without our taint',
      returned({ node: node({ bootID: 'boot-b', taintedFor: BEFORE }) }),
      'set-tombstone',
    ],
    [
      'does not remove a label of the boot that it names',
      returned({ node: node({ taintedFor: BEFORE }) }, { machine: machine({ power: 'running' }) }),
      'ignored machine-running',
    ],
    [
      'does not remove a label while the rest of that fence is there',
      returned({ node: node({ bootID: 'boot-b', taintedFor: BEFORE, label: 'run.1', taints: PARKED }) }),
      'refused record-lost',
    ],
    [
      'also removes a tombstone of an earlier boot',
      returned({
        node: node({
          bootID: 'boot-b',
          label: 'x',
          tombstone: BEFORE,
        }),
      }),
      'set-tombstone',
    ],
    [
      'also removes a tombstone of an earlier boot from a Node that is not Ready',
      returned({ node: node({ ready: 'Unknown', bootID: 'boot-b', label: 'x', tombstone: BEFORE }) }),
      'set-tombstone',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a tombstone that a person left while the cloud did not know the boot', () => {
  const UNKNOWN = fenceInBoot('run.1', { bootID: 'boot-b' }, { generation: null });
  const runs = (change: Partial<NodeFacts> = {}, rest: Partial<View['cluster']> = {}): View =>
    returned({ node: node({ bootID: 'boot-b', label: 'x', tombstone: UNKNOWN, ...change }), ...rest });
  const KNOWN = fenceInBoot('run.1', { bootID: 'boot-b' }, { generation: 'boot-2' });
  const written = record({ bootID: 'boot-b', generation: null });
  const left = { record: written, recordText: JSON.stringify(written), taints: PARKED };
  const NONE = { outOfService: false, ours: false, quarantine: false };
  const cases: readonly [string, View, string][] = [
    ['is forgotten once machine and kubelet run', runs(), 'set-tombstone'],
    ['is forgotten even while record and quarantine wait for another boot', runs(left), 'set-tombstone'],
    ['stays if the record would not count without it', runs({ ...left, taints: NONE }), 'wait return-unproven'],
    ['stays if the record cannot be read', runs({ ...left, record: null }), 'refused record-unreadable'],
    [
      'is gone before the record and the quarantine, which stay until another boot',
      runs({ ...left, label: null, tombstone: null }),
      'wait return-unproven',
    ],
    ['stays if the cloud knew the boot', runs({ tombstone: KNOWN }), 'ignored machine-running'],
    ['stays while the Node is not Ready', runs({ ready: 'Unknown', readySince: NOW }), 'ignored machine-running'],
    [
      'waits for a renewal of the Lease',
      {
        ...runs({}, { lease: ago(timing.leaseFresh) }),
        memory: { ...view().memory, firstLease: ago(timing.leaseFresh) },
      },
      'wait renewal-awaited',
    ],
    ['stays if there is no Lease', runs({}, { lease: null }), 'ignored machine-running'],
    ['stays if nothing names the machine', runs({ identitySources: [] }), 'refused identity-unproven'],
    [
      'stays while the machine starts',
      { ...runs(), machine: machine({ power: 'starting', generation: 'boot-2' }) },
      'ignored machine-starting',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});
