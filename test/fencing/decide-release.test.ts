import { describe, expect, it } from 'vitest';
import { type ClusterFacts, fenceInBoot, type NodeFacts } from '../../fencing/model/cluster-facts.ts';
import { timing } from '../../fencing/model/policy.ts';
import { decide } from '../../fencing/rules/decide.ts';
import type { Power } from '../../fencing/model/machine.ts';
import { because } from '../../fencing/model/reason.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
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
  optOut,
  pod,
  record,
  view,
  volume,
} from './view-builder.ts';

const up = machine({ power: 'running', generation: 'boot-2', disks: [] });
const PARKED = { outOfService: false, ours: false, quarantine: true };
/** The machine has booted under a fence whose out-of-service taint was removed 10 minutes ago. */
const back = (nodeChange: Partial<NodeFacts> = {}, change: Partial<FenceRecord> = {}) =>
  marked({ phase: 'fenced', released: ago(600_000), ...change }, { bootID: 'boot-b', taints: PARKED, ...nodeChange });
const returned = (change: Partial<ClusterFacts> = {}, rest: Partial<View> = {}) =>
  view({
    machine: up,
    cluster: cluster({ node: back(), pods: [], volumes: [], lease: ago(3_000), ...change }),
    ...rest,
  });
const ofDriver = (value: string) => ({ source: 'csiNode', driver: 'a-driver', value }) as const;
const ofBoot = (bootID: string) => fenceInBoot('run.1', { bootID }, { generation: 'boot-1' });
/** The boot that was fenced before `back`. */
const BEFORE = ofBoot('boot-a');
const paused = { surroundings: { ...cluster().surroundings, paused: 'audit' } };

describe('our out-of-service taint never stays on a machine that may write', () => {
  const now = (power: Power, node: NodeFacts, change: Partial<ClusterFacts> = {}, rest: Partial<View> = {}) =>
    view({ machine: machine({ power }), cluster: cluster({ node, ...change }), ...rest });
  const cases: readonly [string, View, string][] = [
    [
      'it goes at once if the machine runs, Ready or not',
      now('running', marked({}, { ready: 'Unknown' })),
      'lift-out-of-service',
    ],
    ['... starts', now('starting', marked()), 'lift-out-of-service'],
    ['... is shutting down again', now('stopping', marked()), 'lift-out-of-service'],
    [
      '... but not while an operation keeps a machine that is off from being proven off',
      view({ machine: machine({ power: 'stopping', offUnderOperation: true }), cluster: cluster({ node: marked() }) }),
      'wait stopping',
    ],
    ['... or is suspended, and may resume', now('suspended', marked()), 'lift-out-of-service'],
    ['whatever its generation', view({ machine: up, cluster: cluster({ node: marked() }) }), 'lift-out-of-service'],
    ['even under a pause', now('running', marked(), paused), 'lift-out-of-service'],
    [
      'even for a Node that names two machines',
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
      'even if more than one Node names it',
      now('running', marked(), {}, { ambiguity: because('identity-ambiguous', 'two of them') }),
      'lift-out-of-service',
    ],
    [
      '... and nothing else is done there',
      now('off', marked(), {}, { ambiguity: because('identity-ambiguous', 'two of them') }),
      'refused identity-ambiguous',
    ],
    ['even on an opted-out Node', now('running', marked({}, { optOuts: [optOut('no')] })), 'lift-out-of-service'],
    ['even under a fence that is finished', now('running', marked({ phase: 'fenced' })), 'lift-out-of-service'],
    [
      'even if its record is lost',
      now('running', node({ label: 'run.1', taints: { outOfService: true, ours: true, quarantine: true } })),
      'lift-out-of-service',
    ],
    [
      'even if its record is unreadable',
      now(
        'running',
        node({ label: 'run.1', recordText: '{', taints: { outOfService: true, ours: true, quarantine: true } }),
      ),
      'lift-out-of-service',
    ],
    ['a taint that is not ours stays', now('running', marked({ outOfService: 'foreign' })), 'wait return-unproven'],
    [
      '... whatever a kubelet writes into the record',
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
      'the taint of a machine that is off stays',
      now('off', marked({}), { pods: [], volumes: [volume()] }),
      'wait attachments-going',
    ],
    [
      '... even if the record, which a kubelet may write, names another machine',
      now('running', marked({ machine: 'm-2' })),
      'lift-out-of-service',
    ],
    [
      '... and even if its driver’s name for it does, which a kubelet may write, too',
      now('running', marked({ machine: 'm-2' }, { identitySources: [...node().identitySources, ofDriver('m-2')] })),
      'lift-out-of-service',
    ],
    [
      '... but not if no providerID says otherwise',
      now('running', marked({ machine: 'm-2' }, { identitySources: [ofDriver('m-1'), ofDriver('m-2')] })),
      'refused record-of-another-machine',
    ],
    [
      'of a machine that is off, once the Node has shown another boot than the taint is for',
      now('off', marked({}, { taintedFor: ofBoot('boot-before') })),
      'lift-out-of-service',
    ],
    ['... but not before', now('off', marked({}, { taintedFor: ofBoot('boot-a') })), 'delete-pod'],
    [
      '... whatever the cloud says about the boot, which a detach may change',
      now('off', marked({}, { taintedFor: fenceInBoot('run.1', node(), { generation: 'drifted' }) })),
      'delete-pod',
    ],
    [
      '... or once it has done its work on a Node that no longer names the machine',
      now('off', marked({}, { identitySources: [] }), { pods: [], volumes: [] }),
      'lift-out-of-service',
    ],
    [
      '... or names a later machine of that name',
      view({
        machine: machine({ incarnation: { id: 'later', made: NOW } }),
        cluster: cluster({ node: marked(), pods: [], volumes: [] }),
      }),
      'lift-out-of-service',
    ],
    [
      '... but not while a pod is left, which Kubernetes deletes by it',
      now('off', marked({}, { identitySources: [] }), { volumes: [] }),
      'refused identity-unproven',
    ],
    [
      '... and not while an attachment is left',
      now('off', marked({}, { identitySources: [] }), { pods: [] }),
      'refused identity-unproven',
    ],
    [
      '... even if a person vouches for the machine',
      now('suspended', marked({ vouched: 'unplugged' }, { taintedFor: ofBoot('boot-before') })),
      'lift-out-of-service',
    ],
    [
      'a suspended machine that a person vouches for is fenced',
      now('suspended', marked({ vouched: 'unplugged' }), {}, { policy: { ...view().policy, vouching: 'accepted' } }),
      'delete-pod',
    ],
    ['... but never one that runs', now('running', marked({ vouched: 'unplugged' })), 'lift-out-of-service'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  // Another run may have set the mark since, under a proof that this run does not know.
  describe('but a read of the machine that may be older than the mark', () => {
    const late = (power: Power, node = marked()) =>
      now(power, node, {}, { memory: { ...view().memory, markIsNew: true } });
    const outlived = (memory: View['memory']) =>
      now('off', marked({}, { identitySources: [] }), { pods: [], volumes: [] }, { memory });
    it.each([
      ['lifts nothing, and the machine is read again', late('stopping'), 'reread no-longer-off'],
      ['... if it runs', late('running'), 'reread no-longer-off'],
      [
        '... or if nothing names it any more',
        outlived({ ...view().memory, markIsNew: true }),
        'reread nothing-left-to-free',
      ],
      ['is no matter once the mark was seen before', outlived(view().memory), 'lift-out-of-service'],
      [
        'lifts the mark of a boot that is over, which needs no read at all',
        late('running', marked({}, { taintedFor: ofBoot('boot-before') })),
        'lift-out-of-service',
      ],
      ['asks for no other read of a machine that is off', late('off'), 'delete-pod'],
    ])('%s', (_, given, expected) => expect(said(given)).toBe(expected));
  });

  it('the record says that and when it was lifted', () => {
    const decision = decide(now('running', marked()));
    expect(decision).toMatchObject({ step: { record: { phase: 'lifted', released: new Date(NOW).toISOString() } } });
  });
});

describe('the fence is released once a fresh boot is proven', () => {
  const cases: readonly [string, View, string][] = [
    ['if everything is proven', returned(), 'release-node'],
    [
      'a machine that is still starting is waited for',
      returned({}, { machine: machine({ power: 'starting' }) }),
      'wait return-unproven',
    ],
    [
      'Ready under the old boot came back from memory',
      returned({ node: back({ bootID: 'boot-a' }) }),
      'wait return-unproven',
    ],
    [
      'a Node that is not Ready is waited for',
      returned({ node: back({ ready: 'Unknown', readySince: NOW - 60_000 }) }),
      'wait return-unproven',
    ],
    [
      '... for five minutes from its start, however long it was silent while it was off',
      returned(
        { node: back({ ready: 'Unknown', readySince: NOW - 7_200_000 }) },
        { machine: { ...up, since: NOW - 100_000 } },
      ),
      'wait return-unproven',
    ],
    [
      '... then it is unreachable like any other Node',
      returned(
        { node: back({ ready: 'Unknown', readySince: NOW - 7_200_000 }) },
        { machine: { ...up, since: NOW - 400_000 } },
      ),
      'refused unreachable-but-running',
    ],
    [
      '... and, if requested, reports what is missing',
      returned(
        { node: back({ ready: 'Unknown' }) },
        { machine: { ...up, since: NOW - 400_000 }, request: { ...view().request, intent: 'release' } },
      ),
      'refused return-unproven',
    ],
    ['a Lease as old as the proof is no sign of life', returned({ lease: ago(20_000) }), 'wait return-unproven'],
    [
      'a Lease that is minutes old is not one',
      returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(300_000) } }),
      'wait lease-misdated',
    ],
    [
      '... unless a slow clock renewed it during the run',
      returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(310_000) } }),
      'release-node',
    ],
    ['a missing Lease is not one', returned({ lease: null }), 'wait return-unproven'],
    [
      'a pod of the fence that is still going is waited for',
      returned({ pods: [pod({ deleting: true, volumes: [] })] }),
      'wait return-unproven',
    ],
    [
      'a pod of the fence that is running again does not matter',
      returned({ pods: [pod({ volumes: [] })] }),
      'release-node',
    ],
    [
      'a pod of the fence that only a finalizer holds does not block the release',
      returned({ pods: [pod({ deleting: true, finished: true, finalizers: true, volumes: [] })] }),
      'release-node',
    ],
    [
      'a later pod that is going does not matter',
      returned({ pods: [pod({ uid: 'later', deleting: true, volumes: [] })] }),
      'release-node',
    ],
    [
      'an attachment of the fence that no pod wants is waited for',
      returned({ volumes: [volume()] }),
      'wait return-unproven',
    ],
    [
      'an attachment from before the fence that no known pod uses is waited for, even if an unknown pod may use it',
      returned({ volumes: [volume()], pods: [pod({ uid: 'new', volumes: [], unresolved: ['default/data'] })] }),
      'wait return-unproven',
    ],
    [
      'an attachment that a living pod wants does not matter',
      returned({ volumes: [volume()], pods: [pod({ uid: 'new' })] }),
      'release-node',
    ],
    [
      'an attachment that was created after the fence does not matter',
      returned({ volumes: [volume({ attachmentName: 'csi-later', attachment: attachment({ name: 'csi-later' }) })] }),
      'release-node',
    ],
    [
      'the quarantine stays while controllers settle',
      returned({ node: back({}, { phase: 'lifted', released: ago(10_000) }) }),
      'wait controllers-settling',
    ],
    [
      '... but no longer, although a kubelet wrote a time in the future',
      returned({ node: back({}, { phase: 'lifted', released: '9999-01-01T00:00:00Z' }) }),
      'note',
    ],
    [
      '... and goes 30 s later',
      returned({ node: back({}, { phase: 'lifted', released: ago(30_000) }) }),
      'release-node',
    ],
    [
      'a fence that was never finished is released too',
      returned({ node: back({}, { phase: 'lifted' }) }),
      'release-node',
    ],
    [
      'a name that passed to another machine does not block it',
      returned({}, { machine: { ...up, incarnation: { id: 'uid-2', made: NOW } } }),
      'release-node',
    ],
    [
      'a Node that also names another machine is not released',
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
      'a fence whose record is lost is reported',
      returned({ node: node({ label: 'run.1', taints: PARKED }) }),
      'refused record-lost',
    ],
    [
      'a record without anything else of ours is not a fence',
      returned({ node: node({ recordText: '{}', strayRecord: record() }) }),
      'ignored machine-running',
    ],
    ['... whatever it says', returned({ node: node({ recordText: 'x' }) }), 'ignored machine-running'],
    [
      'a taint that is not ours by its own value does not block the quarantine’s removal, whatever the record says',
      returned({
        node: back(
          { taints: { ...PARKED, outOfService: true } },
          { phase: 'fencing', released: null, begun: ago(600_000) },
        ),
      }),
      'release-node',
    ],
    [
      '... and neither does one that was added after we removed ours',
      returned({ node: back({ taints: { ...PARKED, outOfService: true } }) }),
      'release-node',
    ],
    [
      '... or one that was there before us',
      returned({
        node: back(
          { taints: { ...PARKED, outOfService: true } },
          { outOfService: 'foreign', released: null, begun: ago(600_000) },
        ),
      }),
      'release-node',
    ],
    ['a paused cluster keeps its quarantine', returned(paused), 'refused paused'],
    [
      'a label of an earlier boot without our taint is forgotten',
      returned({ node: node({ bootID: 'boot-b', taintedFor: BEFORE }) }),
      'set-tombstone',
    ],
    [
      '... but not in the boot that it names',
      returned({ node: node({ taintedFor: BEFORE }) }, { machine: machine({ power: 'running' }) }),
      'ignored machine-running',
    ],
    [
      '... and not while the rest of that fence is there',
      returned({ node: node({ bootID: 'boot-b', taintedFor: BEFORE, label: 'run.1', taints: PARKED }) }),
      'refused record-lost',
    ],
    [
      'a tombstone of an earlier boot is forgotten',
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
      'a tombstone of an earlier boot is forgotten although the Node is not Ready',
      returned({ node: node({ ready: 'Unknown', bootID: 'boot-b', label: 'x', tombstone: BEFORE }) }),
      'set-tombstone',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a tombstone of the boot that runs, which the cloud did not know when a person removed the fence', () => {
  const UNKNOWN = fenceInBoot('run.1', { bootID: 'boot-b' }, { generation: null });
  const runs = (change: Partial<NodeFacts> = {}, rest: Partial<View['cluster']> = {}): View =>
    returned({ node: node({ bootID: 'boot-b', label: 'x', tombstone: UNKNOWN, ...change }), ...rest });
  const KNOWN = fenceInBoot('run.1', { bootID: 'boot-b' }, { generation: 'boot-2' });
  const written = record({ bootID: 'boot-b', generation: null });
  const left = { record: written, recordText: JSON.stringify(written), taints: PARKED };
  const NONE = { outOfService: false, ours: false, quarantine: false };
  const cases: readonly [string, View, string][] = [
    ['is forgotten once machine and kubelet run', runs(), 'set-tombstone'],
    ['... also while record and quarantine wait for another boot', runs(left), 'set-tombstone'],
    ['... but not if the record would not count without it', runs({ ...left, taints: NONE }), 'wait return-unproven'],
    ['... nor if it cannot be read', runs({ ...left, record: null }), 'refused record-unreadable'],
    [
      '... and once it is gone, the rest stays',
      runs({ ...left, label: null, tombstone: null }),
      'wait return-unproven',
    ],
    ['... but not if the cloud knew the boot', runs({ tombstone: KNOWN }), 'ignored machine-running'],
    ['... nor while the Node is not Ready', runs({ ready: 'Unknown', readySince: NOW }), 'ignored machine-running'],
    [
      '... nor while its Lease is old',
      {
        ...runs({}, { lease: ago(timing.leaseFresh) }),
        memory: { ...view().memory, firstLease: ago(timing.leaseFresh) },
      },
      'ignored machine-running',
    ],
    ['... nor without a Lease', runs({}, { lease: null }), 'ignored machine-running'],
    ['... nor if nothing names the machine', runs({ identitySources: [] }), 'refused identity-unproven'],
    [
      '... nor while the machine starts',
      { ...runs(), machine: machine({ power: 'starting', generation: 'boot-2' }) },
      'ignored machine-starting',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a release by hand', () => {
  const seen = (firstFence: string | null, fence = 'other.1'): View =>
    view({ cluster: cluster({ node: marked({ fence }) }), memory: { ...view().memory, firstFence } });
  const release = (given: View, accepted: string | null = null): View => ({
    ...given,
    request: { ...given.request, intent: 'release', accepted },
  });
  const cases: readonly [string, View, string][] = [
    ['requires the same proof', release(returned()), 'release-node'],
    ['never fences', release(view()), 'released released'],
    [
      'is refused while the machine is off',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) })),
      'refused still-off',
    ],
    [
      'is granted to a person who vouches for the machine',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) }), 'checked the console'),
      'lift-out-of-service',
    ],
    ['is granted for the fence that the person saw', release(seen('other.1'), 'checked'), 'lift-out-of-service'],
    ['is refused for a fence that has begun since', release(seen('run.1'), 'checked'), 'refused another-fence'],
    ['... also if the one before had no name', release(seen(null), 'checked'), 'refused another-fence'],
    ['is granted if this run itself named the fence', release(seen(null, 'run.2'), 'checked'), 'lift-out-of-service'],
    [
      'takes two halves even then',
      release(returned({ node: back({}, { phase: 'releasing', released: new Date(NOW).toISOString() }) }), 'checked'),
      'wait controllers-settling',
    ],
    [
      'is granted whatever its identity sources say',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }, { identitySources: [] }) }) }), 'checked'),
      'lift-out-of-service',
    ],
    [
      'is granted although the record cannot be read',
      release(
        returned({
          node: node({ label: 'run.1', recordText: '{', taints: { outOfService: true, ours: true, quarantine: true } }),
        }),
        'checked',
      ),
      'lift-out-of-service',
    ],
    [
      'requires a person’s word if the record is lost',
      release(returned({ node: node({ label: 'run.1', taints: PARKED }) })),
      'refused record-lost',
    ],
    [
      '... and writes what it knows of that fence',
      release(returned({ node: node({ label: 'run.1', taints: PARKED }) }), 'checked'),
      'lift-out-of-service',
    ],
    [
      'removes a record without anything else of ours only for a person',
      release(view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) })),
      'released released',
    ],
    [
      '... who requests it',
      release(view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) }), 'checked'),
      'lift-out-of-service',
    ],
    ['of a Node without a fence has nothing to do', release(returned({ node: node() })), 'released released'],
    [
      '... even if a person vouches for its machine',
      release(returned({ node: node() }), 'checked'),
      'released released',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it.each([
    ['leaves a tombstone while the machine is off', 'off', {}, true],
    ['leaves none for a machine that runs, because its next stop is another incident', 'running', {}, false],
    ['leaves none for a machine that starts, whose Node may show its new boot already', 'starting', {}, false],
    [
      'leaves one if the machine is off under another boot: it may be the Node of another',
      'off',
      { bootID: 'boot-b' },
      true,
    ],
  ] as const)('%s', (_, power, shows, buries) => {
    const given = view({
      machine: machine({ power }),
      cluster: cluster({ node: marked({ phase: 'releasing', released: ago(60_000) }, { taints: PARKED, ...shows }) }),
    });
    expect(decide(release(given, 'checked'))).toMatchObject({
      step: { do: 'release-node', tombstone: buries ? { fence: 'run.1' } : null },
    });
  });
});
