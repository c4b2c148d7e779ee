import fc from 'fast-check';
import {
  type AttachmentFacts,
  type FenceInBoot,
  fenceInBoot,
  type FirstStopping,
  type NodeFacts,
  type OptOut,
  type PodFacts,
  shortHash,
  type VolumeFacts,
} from '../../fencing/model/cluster-facts.ts';
import type { Admission } from '../../fencing/model/ledger.ts';
import type { MachineFacts, Power } from '../../fencing/model/machine.ts';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { FenceRecord } from '../../fencing/model/record.ts';
import type { Memory, View } from '../../fencing/rules/view.ts';
import {
  admitted,
  ago,
  alone,
  attachment,
  cluster,
  machine,
  node,
  NOW,
  optOut,
  pod,
  record,
  view,
  volume,
} from './view-builder.ts';

/** Any situation, sensible or not. Every field has values near those at which rules change their decision. */

const powers: readonly Power[] = [
  'off',
  'off-if-repeated',
  'stopping',
  'starting',
  'running',
  'suspended',
  'missing',
  'unknown',
];
/** Returns mostly the ordinary value, so that the deep rules are reached, and sometimes one of the others. */
const mostly = <T>(ordinary: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constant(ordinary), weight: 6 },
    ...others.map((other) => ({ arbitrary: fc.constant(other), weight: 1 })),
  );
const id = mostly('m-1', 'm-2', 'of another driver');
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const boots = mostly<string | null>('boot-1', 'boot-2', null);
const when = fc.constantFrom(0, 1_000, 20_000, 700_000).map((ms) => NOW - ms);

const anyMachine: fc.Arbitrary<MachineFacts> = fc
  .record({
    power: mostly<Power>('off', ...powers),
    forGood: fc.boolean(),
    generation: boots,
    since: maybe(when),
    disks: fc.array(
      fc.record({
        disk: fc.constantFrom('disk-1', 'disk-2', 'disk-root'),
        state: fc.constantFrom('attached' as const, 'detaching' as const, 'busy' as const),
        keep: mostly<string | null>(null, 'root'),
      }),
      { maxLength: 3 },
    ),
  })
  .map(machine);

const noted: FirstStopping = { at: NOW - 700_000, boot: `${shortHash('m-1')}${shortHash('boot-1')}` };

const anyRecord: fc.Arbitrary<FenceRecord> = fc
  .record({
    machine: mostly('m-1', 'm-2'),
    phase: mostly<FenceRecord['phase']>('fencing', 'fenced', 'lifted', 'releasing'),
    generation: boots,
    bootID: mostly('boot-a', 'boot-b'),
    outOfService: fc.constantFrom('ours' as const, 'foreign' as const, 'unsupported' as const),
    lease: fc.constantFrom(ago(20_000), ago(3_000)),
    released: maybe(fc.constantFrom(ago(700_000), ago(60_000), ago(1_000))),
    recurring: mostly<readonly string[]>([], ['default/its-owner']),
    renewed: maybe(
      fc.constantFrom({ lease: ago(20_000), seen: ago(660_000) }, { lease: ago(3_000), seen: ago(1_000) }),
    ),
  })
  .map(record);

const anyNode: fc.Arbitrary<NodeFacts> = fc
  .record({
    identitySources: fc.array(
      id.map((value) => ({ source: 'providerID' as const, driver: null, value })),
      { minLength: 1, maxLength: 2 },
    ),
    bootID: mostly('boot-a', 'boot-b'),
    ready: fc.constantFrom('True' as const, 'Unknown' as const),
    readySince: when,
    controlPlane: fc.boolean(),
    deleting: fc.boolean(),
    taints: fc
      .record({ outOfService: mostly(true, false), ours: mostly(true, false), quarantine: mostly(true, false) })
      .map((taints) => ({ ...taints, ours: taints.ours && taints.outOfService })),
    finalizers: mostly<readonly string[]>([], ['x/y']),
    owners: mostly<readonly string[]>([], ['NodeClaim']),
    optOuts: mostly<readonly OptOut[]>([], [optOut('because')]),
    label: mostly<string | null>('run.1', null),
    taintedFor: mostly<FenceInBoot | null>(null, fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-1' })),
    tombstone: mostly<FenceInBoot | null>(null, fenceInBoot('run.1', { bootID: 'boot-a' }, { generation: 'boot-1' })),
    stopping: mostly<FirstStopping | null>(
      null,
      noted,
      { ...noted, boot: 'of another' },
      { ...noted, at: NOW + 3_600_000 },
    ),
    record: maybe(anyRecord),
    text: fc.constantFrom(null, '{'),
    isSealed: fc.boolean(),
  })
  .map(({ text, isSealed, ...change }) => {
    const recordText = change.record ? JSON.stringify(change.record) : text;
    const unmatchedSeal = isSealed || change.record ? null : 'of another record';
    return node({ ...change, recordText, unmatchedSeal });
  });

const anyPod: fc.Arbitrary<PodFacts> = fc
  .record({
    uid: fc.constantFrom('pod-uid', 'pod-2', 'pod-3'),
    owner: mostly<string | null>(null, 'its-owner'),
    kind: fc.constantFrom<PodFacts['kind'][]>('mirror', 'daemon', 'job', 'other'),
    finished: fc.boolean(),
    deleting: fc.boolean(),
    finalizers: fc.boolean(),
    tolerates: fc.boolean(),
    optOut: mostly<OptOut | null>(null, optOut('because')),
    volumes: fc.subarray(['a-driver^disk-1', 'a-driver^disk-2']),
    unresolved: mostly<readonly string[]>([], ['default/gone']),
  })
  .map(pod);

const anyAttachment: fc.Arbitrary<AttachmentFacts> = fc
  .record({
    attached: fc.boolean(),
    deletingSince: maybe(when),
    detachError: maybe(fc.constant('no')),
    attachError: maybe(fc.constant('no')),
    nudged: fc.boolean(),
    source: maybe(id.map((value) => ({ source: 'volumeAttachment' as const, driver: 'a-driver', value }))),
  })
  .map(attachment);

const anyVolume: fc.Arbitrary<VolumeFacts> = fc
  .record({
    handle: fc.constantFrom('disk-1', 'disk-2', 'no disk'),
    persistentVolume: mostly<string | null>('pv-1', null),
    pvc: mostly<string | null>('default/data', null),
    attachment: maybe(anyAttachment),
    nameTaken: mostly(false, true),
    reported: fc.boolean(),
    successor: maybe(anyAttachment),
  })
  .map((change) =>
    volume({
      ...change,
      key: `a-driver^${change.handle}`,
      attachment: change.attachment && { ...change.attachment, uid: `of ${change.handle}` },
    }),
  );

const anyPolicy: fc.Arbitrary<Policy> = fc
  .record({
    paused: mostly<string | null>(null, 'because'),
    detach: fc.constantFrom('when-stuck' as const, 'always' as const, 'never' as const),
    deleteNode: fc.constantFrom('when-terminated' as const, 'always' as const, 'never' as const),
    unreachable: fc.constantFrom('report' as const, 'power-off' as const),
  })
  .map((change) => ({ ...defaultPolicy, ...change }));

const anyMemory: fc.Arbitrary<Partial<Memory>> = fc.record({
  firstOff: fc.constantFrom(
    { wall: NOW - 100, mono: 900, generation: 'boot-1' },
    { wall: NOW - 30_000, mono: -29_000, generation: 'boot-1' },
  ),
  witness: fc.constantFrom(null, 'released' as const, 'held' as const, 'none' as const),
  lease: fc.constantFrom(undefined, ago(20_000), ago(3_000)),
  leaseSince: mostly<number | null>(-29_000, null, 900),
  untainted: mostly<Memory['untainted']>(null, { since: -29_000, released: null }, { since: -31_000, released: null }),
  unwanted: fc.constantFrom(
    new Map([
      ['a-driver^disk-1', -60_000],
      ['a-driver^disk-2', 0],
    ]),
    new Map<string, number>(),
  ),
  deleted: mostly<Memory['deleted']>(new Map(), new Map([['pod-9', { origin: 'default/its-owner', at: 900 }]])),
  takenAt: fc.constantFrom(new Map<string, number>(), new Map([['lift-out-of-service node-uid', 900]])),
  searched: mostly(true, false),
  admission: mostly<Admission | null>(admitted, { ...admitted, admitted: false }, null),
  connectivity: maybe(fc.constantFrom({ value: alone, requestedAt: 900 }, { value: alone, requestedAt: -29_000 })),
});

export const anyView: fc.Arbitrary<View> = fc
  .record({
    machine: anyMachine,
    node: maybe(anyNode),
    nameTaken: fc.boolean(),
    pods: fc.uniqueArray(anyPod, { maxLength: 2, selector: ({ uid }) => uid }),
    volumes: fc.uniqueArray(anyVolume, { maxLength: 2, selector: ({ key }) => key }),
    policy: anyPolicy,
    memory: anyMemory,
    lease: fc.constantFrom(ago(20_000), ago(3_000), null),
    paused: mostly<string | null>(null, 'because'),
    intent: fc.constantFrom('fence' as const, 'fence' as const, 'release' as const),
    accepted: maybe(fc.constant('checked')),
    remembered: mostly<FenceRecord | null>(null, record()),
  })
  .map((any) =>
    view({
      machine: any.machine,
      policy: any.policy,
      remembered: any.remembered,
      request: {
        machine: 'm-1',
        intent: any.intent,
        accepted: any.intent === 'release' ? any.accepted : null,
        vouched: null,
      },
      cluster: cluster({
        node: any.node,
        nameTaken: any.node === null && any.nameTaken,
        pods: any.pods,
        volumes: any.volumes,
        lease: any.lease,
        surroundings: { paused: any.paused },
      }),
      memory: { ...view().memory, ...any.memory },
    }),
  );
