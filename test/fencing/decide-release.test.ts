import { describe, expect, it } from 'vitest';
import { type ClusterFacts, fenceInBoot, type NodeFacts } from '../../fencing/model/cluster-facts.ts';
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
/** The machine has booted under a fence whose out-of-service taint went 10 minutes ago. */
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
      'it goes at once when the machine runs, Ready or not',
      now('running', marked({}, { ready: 'Unknown' })),
      'readmit-volumes',
    ],
    ['... starts', now('starting', marked()), 'readmit-volumes'],
    ['... is on its way down again', now('stopping', marked()), 'readmit-volumes'],
    [
      '... but not while an operation keeps a machine that is off from being proven so',
      view({ machine: machine({ power: 'stopping', offUnderOperation: true }), cluster: cluster({ node: marked() }) }),
      'wait stopping',
    ],
    ['... or is suspended, and may resume', now('suspended', marked()), 'readmit-volumes'],
    ['whatever its generation', view({ machine: up, cluster: cluster({ node: marked() }) }), 'readmit-volumes'],
    ['under a pause, too', now('running', marked(), paused), 'readmit-volumes'],
    [
      'for a Node that names two machines',
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
      'readmit-volumes',
    ],
    [
      'where more than one Node names it',
      now('running', marked(), {}, { ambiguity: because('identity-ambiguous', 'two of them') }),
      'readmit-volumes',
    ],
    [
      '... and nothing else is done there',
      now('off', marked(), {}, { ambiguity: because('identity-ambiguous', 'two of them') }),
      'refused identity-ambiguous',
    ],
    ['on an opted-out Node', now('running', marked({}, { optOuts: [optOut('no')] })), 'readmit-volumes'],
    ['below a fence that is finished', now('running', marked({ phase: 'fenced' })), 'readmit-volumes'],
    [
      'with its record lost',
      now('running', node({ label: 'run.1', taints: { outOfService: true, ours: true, quarantine: true } })),
      'readmit-volumes',
    ],
    [
      'with its record unreadable',
      now(
        'running',
        node({ label: 'run.1', recordText: '{', taints: { outOfService: true, ours: true, quarantine: true } }),
      ),
      'readmit-volumes',
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
      '... also where the record, which a kubelet may write, speaks of another machine',
      now('running', marked({ machine: 'm-2' })),
      'readmit-volumes',
    ],
    [
      '... and where its driver’s name for it does, which a kubelet may write, too',
      now('running', marked({ machine: 'm-2' }, { identitySources: [...node().identitySources, ofDriver('m-2')] })),
      'readmit-volumes',
    ],
    [
      '... but not where no providerID says otherwise',
      now('running', marked({ machine: 'm-2' }, { identitySources: [ofDriver('m-1'), ofDriver('m-2')] })),
      'refused record-of-another-machine',
    ],
    [
      'of a machine that is off, once the Node has shown another boot than the taint is for',
      now('off', marked({}, { taintedFor: ofBoot('boot-before') })),
      'readmit-volumes',
    ],
    ['... but not before', now('off', marked({}, { taintedFor: ofBoot('boot-a') })), 'delete-pod'],
    [
      '... whatever the cloud says about the boot, which a detach may change',
      now('off', marked({}, { taintedFor: fenceInBoot('run.1', node(), { generation: 'drifted' }) })),
      'delete-pod',
    ],
    [
      '... or once it has done its work on a Node that does not name the machine any more',
      now('off', marked({}, { identitySources: [] }), { pods: [], volumes: [] }),
      'readmit-volumes',
    ],
    [
      '... or names a later machine of that name',
      view({
        machine: machine({ incarnation: { id: 'later', made: NOW } }),
        cluster: cluster({ node: marked(), pods: [], volumes: [] }),
      }),
      'readmit-volumes',
    ],
    [
      '... but not while a pod is left, which Kubernetes deletes by it',
      now('off', marked({}, { identitySources: [] }), { volumes: [] }),
      'refused identity-unproven',
    ],
    [
      '... nor while an attachment is',
      now('off', marked({}, { identitySources: [] }), { pods: [] }),
      'refused identity-unproven',
    ],
    [
      '... also when a person vouches for the machine',
      now('suspended', marked({ vouched: 'unplugged' }, { taintedFor: ofBoot('boot-before') })),
      'readmit-volumes',
    ],
    [
      'a suspended machine that a person vouches for is fenced',
      now('suspended', marked({ vouched: 'unplugged' }), {}, { policy: { ...view().policy, vouching: 'accepted' } }),
      'delete-pod',
    ],
    ['... but never one that runs', now('running', marked({ vouched: 'unplugged' })), 'readmit-volumes'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it('the record says that and when it was lifted', () => {
    const decision = decide(now('running', marked()));
    expect(decision).toMatchObject({ step: { record: { phase: 'lifted', released: new Date(NOW).toISOString() } } });
  });
});

describe('the fence is released once a fresh boot is proven', () => {
  const cases: readonly [string, View, string][] = [
    ['all proven', returned(), 'readmit-pods'],
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
      '... then it is unreachable like any other',
      returned(
        { node: back({ ready: 'Unknown', readySince: NOW - 7_200_000 }) },
        { machine: { ...up, since: NOW - 400_000 } },
      ),
      'refused unreachable-but-running',
    ],
    [
      '... and asked for, says what is missing',
      returned(
        { node: back({ ready: 'Unknown' }) },
        { machine: { ...up, since: NOW - 400_000 }, request: { ...view().request, intent: 'release' } },
      ),
      'refused return-unproven',
    ],
    ['a Lease as old as the proof is no sign of life', returned({ lease: ago(20_000) }), 'wait return-unproven'],
    [
      'a Lease of minutes ago is none',
      returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(300_000) } }),
      'wait return-unproven',
    ],
    [
      '... unless it was renewed under our eyes by a slow clock',
      returned({ lease: ago(300_000) }, { memory: { ...view().memory, firstLease: ago(310_000) } }),
      'readmit-pods',
    ],
    ['no Lease is none', returned({ lease: null }), 'wait return-unproven'],
    [
      'a pod of the fence that still goes is waited for',
      returned({ pods: [pod({ deleting: true, volumes: [] })] }),
      'wait return-unproven',
    ],
    ['a pod of the fence that lives on is welcome', returned({ pods: [pod({ volumes: [] })] }), 'readmit-pods'],
    [
      'a pod of the fence that only a finalizer holds keeps nobody',
      returned({ pods: [pod({ deleting: true, finished: true, finalizers: true, volumes: [] })] }),
      'readmit-pods',
    ],
    [
      'a later pod that goes is none of ours',
      returned({ pods: [pod({ uid: 'later', deleting: true, volumes: [] })] }),
      'readmit-pods',
    ],
    [
      'an attachment of the fence that nobody wants is waited for',
      returned({ volumes: [volume()] }),
      'wait return-unproven',
    ],
    [
      'an attachment of before the fence that no known pod uses is waited for, whoever may',
      returned({ volumes: [volume()], pods: [pod({ uid: 'new', volumes: [], unresolved: ['default/data'] })] }),
      'wait return-unproven',
    ],
    [
      'an attachment that a living pod wants is welcome',
      returned({ volumes: [volume()], pods: [pod({ uid: 'new' })] }),
      'readmit-pods',
    ],
    [
      'an attachment that came after the fence is none of ours',
      returned({ volumes: [volume({ attachmentName: 'csi-later', attachment: attachment({ name: 'csi-later' }) })] }),
      'readmit-pods',
    ],
    [
      'the quarantine stands while controllers settle',
      returned({ node: back({}, { phase: 'lifted', released: ago(10_000) }) }),
      'wait controllers-settling',
    ],
    [
      '... for no longer, although a kubelet wrote a time that lies far ahead',
      returned({ node: back({}, { phase: 'lifted', released: '9999-01-01T00:00:00Z' }) }),
      'note',
    ],
    [
      '... and goes 30 s later',
      returned({ node: back({}, { phase: 'lifted', released: ago(30_000) }) }),
      'readmit-pods',
    ],
    [
      'a fence that was never finished is taken back too',
      returned({ node: back({}, { phase: 'lifted' }) }),
      'readmit-pods',
    ],
    [
      'a name that was handed on to another machine does not keep it',
      returned({}, { machine: { ...up, incarnation: { id: 'uid-2', made: NOW } } }),
      'readmit-pods',
    ],
    [
      'a Node that names another machine, too, is not taken back',
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
      'a fence whose record is lost is not left standing in silence',
      returned({ node: node({ label: 'run.1', taints: PARKED }) }),
      'refused record-lost',
    ],
    [
      'a record beside nothing of ours is no fence',
      returned({ node: node({ recordText: '{}', strayRecord: record() }) }),
      'ignored machine-running',
    ],
    ['... whatever it says', returned({ node: node({ recordText: 'x' }) }), 'ignored machine-running'],
    [
      'a taint that is not ours by its own value does not keep the quarantine, whatever the record says',
      returned({
        node: back(
          { taints: { ...PARKED, outOfService: true } },
          { phase: 'fencing', released: null, begun: ago(600_000) },
        ),
      }),
      'readmit-pods',
    ],
    [
      '... nor does one that came after we took ours off',
      returned({ node: back({ taints: { ...PARKED, outOfService: true } }) }),
      'readmit-pods',
    ],
    [
      '... nor is one that was there before us',
      returned({
        node: back(
          { taints: { ...PARKED, outOfService: true } },
          { outOfService: 'foreign', released: null, begun: ago(600_000) },
        ),
      }),
      'readmit-pods',
    ],
    ['a paused cluster keeps even its quarantine', returned(paused), 'refused paused'],
    [
      'a label of an earlier boot that stands where our taint does not is forgotten',
      returned({ node: node({ bootID: 'boot-b', taintedFor: BEFORE }) }),
      'entomb',
    ],
    [
      '... not in the boot that it names',
      returned({ node: node({ taintedFor: BEFORE }) }, { machine: machine({ power: 'running' }) }),
      'ignored machine-running',
    ],
    [
      '... nor while the rest of that fence stands',
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
      'entomb',
    ],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));
});

describe('a release by hand', () => {
  const release = (given: View, accepted: string | null = null): View => ({
    ...given,
    request: { ...given.request, intent: 'release', accepted },
  });
  const cases: readonly [string, View, string][] = [
    ['follows the same proof', release(returned()), 'readmit-pods'],
    ['never fences', release(view()), 'released released'],
    [
      'is refused while the machine is off',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) })),
      'refused still-off',
    ],
    [
      'is granted to a person who vouches for the machine',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }) }) }), 'checked the console'),
      'readmit-volumes',
    ],
    [
      'in two halves even then',
      release(returned({ node: back({}, { phase: 'releasing', released: new Date(NOW).toISOString() }) }), 'checked'),
      'wait controllers-settling',
    ],
    [
      'is granted whatever its identity sources say',
      release(view({ cluster: cluster({ node: marked({ phase: 'fenced' }, { identitySources: [] }) }) }), 'checked'),
      'readmit-volumes',
    ],
    [
      'is granted though the record cannot be read',
      release(
        returned({
          node: node({ label: 'run.1', recordText: '{', taints: { outOfService: true, ours: true, quarantine: true } }),
        }),
        'checked',
      ),
      'readmit-volumes',
    ],
    [
      "asks for a person's word when the record is lost",
      release(returned({ node: node({ label: 'run.1', taints: PARKED }) })),
      'refused record-lost',
    ],
    [
      '... and writes what it can tell of that fence',
      release(returned({ node: node({ label: 'run.1', taints: PARKED }) }), 'checked'),
      'readmit-volumes',
    ],
    [
      'removes a record beside nothing of ours only for a person',
      release(view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) })),
      'released released',
    ],
    [
      '... who asks for that',
      release(view({ cluster: cluster({ node: node({ recordText: '{}', strayRecord: record() }) }) }), 'checked'),
      'readmit-volumes',
    ],
    ['of a Node without a fence has nothing to do', release(returned({ node: node() })), 'released released'],
    ['... whoever vouches for its machine', release(returned({ node: node() }), 'checked'), 'released released'],
  ];
  it.each(cases)('%s', (_, given, expected) => expect(said(given)).toBe(expected));

  it.each([
    ['leaves a tombstone while the machine is off', 'off', true],
    ['leaves none for a machine that runs: its next stop is another incident', 'running', false],
  ] as const)('%s', (_, power, buries) => {
    const given = view({
      machine: machine({ power }),
      cluster: cluster({ node: marked({ phase: 'releasing', released: ago(60_000) }, { taints: PARKED }) }),
    });
    expect(decide(release(given, 'checked'))).toMatchObject({
      step: { do: 'readmit-pods', tombstone: buries ? { fence: 'run.1' } : null },
    });
  });
});
