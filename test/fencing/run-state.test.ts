import { describe, expect, it } from 'vitest';
import { applyStepError, applyStepResult, reportSimulatedStep } from '../../fencing/loop/apply-step.ts';
import { actOn, type Command } from '../../fencing/loop/command.ts';
import { reasonOf } from '../../fencing/loop/ending.ts';
import { type CommandResult, reduce } from '../../fencing/loop/reduce.ts';
import { type Observation, type RunState, startRun, viewOf } from '../../fencing/loop/state.ts';
import { withClusterRead, withMachineRead } from '../../fencing/loop/reads.ts';
import type { ClusterFacts } from '../../fencing/model/cluster-facts.ts';
import {
  PermissionDenied,
  InvalidConfiguration,
  InvalidInput,
  ProofExpired,
  Refused,
  Unavailable,
  Unexpected,
} from '../../fencing/model/errors.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import type { Moment } from '../../fencing/rules/view.ts';
import {
  admitted,
  ago,
  alone,
  attachment,
  cluster,
  machine,
  marked,
  node,
  NOW,
  pod,
  record,
  view,
  volume,
  volumeLeft,
} from './view-builder.ts';

/** What a run knows after each answer, and what it forgets. */

const at = (mono: number): Moment => ({ wall: NOW + mono, mono });
const { request, identityRules } = view();
const begun = startRun({ request, policy: defaultPolicy, identityRules, runId: 'run', deadline: 60_000 });
const ofMachine = (change: Partial<MachineFacts> = {}, mono = 100): Observation<MachineFacts> => ({
  value: machine(change),
  requestedAt: at(mono),
  receivedAt: mono + 20,
});
const ofCluster = (change: Partial<ClusterFacts> = {}, mono = 100): Observation<ClusterFacts> => ({
  value: cluster(change),
  requestedAt: at(mono),
  receivedAt: mono + 20,
});
const read = withClusterRead(withMachineRead(begun, ofMachine(), at(100)), ofCluster(), at(100));
const remembering = (known: RunState, memory: Partial<RunState['memory']>): RunState => ({
  ...known,
  memory: { ...known.memory, ...memory },
});

const look: Command = { do: 'look', machine: true, cluster: true, disks: true, search: false };
const location = { cluster: 'a', node: 'node-a' };
const act = (step: Step): Extract<Command, { do: 'act' }> =>
  actOn(location, { step, because: because('off-proven', 'off') }, 0);
const target = targetNode(node());
const deletePod: Step = { do: 'delete-pod', pod: { namespace: 'default', name: 'db-0', uid: 'pod-uid' } };
const mark: Step = { do: 'mark', node: target, record: record(), addOutOfService: true };

describe('a run at its beginning', () => {
  it('has done nothing, and knows nothing', () => {
    expect(begun).toMatchObject({
      steps: [],
      proofRenewed: false,
      eventsRecorded: false,
      concluded: 0,
      failures: 0,
    });
    expect(begun.memory).toMatchObject({ searched: false, marks: 0, polls: 0, attachments: null, testified: [] });
    expect([
      viewOf(begun, at(0)),
      viewOf({ ...read, cluster: null }, at(0)),
      viewOf({ ...read, machine: null }, at(0)),
    ]).toEqual([null, null, null]);
    expect(viewOf(read, at(200))).toMatchObject({ machine: { machine: 'm-1' }, now: at(200), remembered: null });
  });

  it('reads identity sources as the cloud of its machine does', () => {
    const another = { ...identityRules, name: 'another' };
    const start = { request, policy: defaultPolicy, runId: 'run', deadline: 1 };
    expect(
      startRun({ ...start, identityRules: { ...identityRules, identityRulesFor: () => another } }).identityRules.name,
    ).toBe('another');
  });
});

describe('a read of the machine', () => {
  const next = (change: Partial<MachineFacts>, known = read) => withMachineRead(known, ofMachine(change, 500), at(500));
  it.each([
    ['with the same answer keeps the facts of the cluster', {}, true],
    ['with another boot drops the facts of the cluster', { generation: 'boot-2' }, false],
    ['with another power state drops the facts of the cluster', { power: 'running' }, false],
  ] as const)('%s', (_, change, keeps) => expect(next(change).cluster !== null).toBe(keeps));

  it.each([
    ['off', true],
    ['off-if-repeated', true],
    ['missing', true],
    ['suspended', false],
    ['unknown', false],
    ['running', false],
    ['starting', false],
    ['stopping', false],
  ] as const)('as %s begins a proof: %s', (power, expected) => {
    expect(withMachineRead(begun, ofMachine({ power }), at(500)).memory.firstOff).toEqual(
      expected ? { ...at(500), generation: 'boot-1' } : null,
    );
  });

  it('counts as off because of a person’s statement only if the cloud gives no clear power state', () => {
    const vouched = { ...begun, request: { ...request, vouched: 'unplugged' } };
    const begins = (known: RunState, power: MachineFacts['power']) =>
      withMachineRead(known, ofMachine({ power }), at(0)).memory.firstOff !== null;
    expect((['suspended', 'unknown', 'running', 'stopping'] as const).map((power) => begins(vouched, power))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  const asked = { admission: admitted, admittedBoot: 'boot-1' };
  const full = remembering(read, { lease: ago(9), attachments: ['csi-1'], ...asked, witness: 'released' });
  it.each([
    ['with the same answer keeps what is proven', {}, { lease: ago(9), attachments: ['csi-1'], admission: admitted }],
    ['of a new boot drops proofs', { generation: 'boot-2' }, { lease: undefined, attachments: null, admission: null }],
    [
      'that no longer finds the machine keeps the admission of the cap',
      { power: 'missing', generation: null },
      { lease: undefined, admission: admitted },
    ],
    ['that ends the proof forgets the Lease', { power: 'running' }, { lease: undefined, attachments: null }],
  ] as const)('%s', (_, change, expected) => {
    expect(next(change, full).memory).toMatchObject({ ...expected, witness: null });
  });

  it('keeps attachments that were found before the machine was seen off', () => {
    expect(
      withMachineRead(remembering(begun, { attachments: ['csi-1'] }), ofMachine(), at(0)).memory.attachments,
    ).toEqual(['csi-1']);
  });
});

describe('a read of the cluster', () => {
  const next = (change: Partial<ClusterFacts>, known = read) => withClusterRead(known, ofCluster(change, 500), at(500));
  it('keeps the record of a Node that is gone', () => {
    const fenced = next({ node: marked() });
    expect(fenced.record?.fence).toBe('run.1');
    expect(next({ node: null }, fenced).record?.fence).toBe('run.1');
  });

  it('shows the result of the steps since the look before', () => {
    expect(next({}, remembering(read, { sinceLook: new Set(['x']) })).memory.sinceLook.size).toBe(0);
  });

  it('keeps the first Lease', () => {
    expect(read.memory.firstLease).toBe(ago(20_000));
    expect(next({ lease: ago(1) }).memory.firstLease).toBe(ago(20_000));
  });

  it('notes since when nothing wants a volume', () => {
    const free = next({ pods: [] });
    expect(read.memory.unwanted.size).toBe(0);
    expect(free.memory.unwanted).toEqual(new Map([['a-driver^disk-1', 500]]));
    const later = withClusterRead(free, ofCluster({ pods: [] }, 900), at(900));
    expect(later.memory.unwanted).toEqual(new Map([['a-driver^disk-1', 500]]));
    expect(next({}, free).memory.unwanted.size).toBe(0);
  });

  it('lists what a Node that is gone left behind, and keeps that list', () => {
    const gone = next({ node: null });
    expect(gone.memory.attachments).toEqual(['csi-1']);
    expect(next({ node: null, attachmentsOfOthers: ['csi-2'] }).memory.attachments).toEqual(['csi-1', 'csi-2']);
    expect(next({ node: null, volumes: [] }, gone).memory.attachments).toEqual(['csi-1']);
    expect(next({ node: null, volumes: [volume({ attachment: null })] }).memory.attachments).toEqual([]);
    expect(next({}, gone).memory.attachments).toBeNull();
  });

  it('remembers a volume of a Node that is gone after its attachment is gone, too', () => {
    const seen = [volumeLeft(volume())];
    const gone = next({ node: null });
    const free = { node: null, volumes: [volume({ attachment: null })] };
    const ofAnotherBoot = withMachineRead(gone, ofMachine({ generation: 'boot-2' }, 500), at(500));
    const kept = [gone, next(free, gone), next(free), next({}, gone), ofAnotherBoot];
    expect(kept.map(({ memory }) => memory.volumesLeft)).toEqual([seen, seen, [], [], []]);
  });
});

describe('a look', () => {
  const result = (
    machineRead: Observation<MachineFacts> | null,
    clusterRead: Observation<ClusterFacts> | null,
  ): CommandResult => ({ to: 'look', machine: machineRead, cluster: clusterRead });
  const disks = [{ disk: 'disk-9', state: 'attached', keep: null }] as const;
  it('that only renews the proof keeps the disks of the earlier read', () => {
    const without: Command = { ...look, cluster: false, disks: false };
    const renewed = reduce(read, without, result(ofMachine({ disks: [] }, 500), null), at(500));
    expect(renewed).toMatchObject({
      proofRenewed: true,
      machine: { value: { disks: [{ disk: 'disk-1' }] }, receivedAt: 520 },
    });
    expect(reduce(renewed, look, result(ofMachine({ disks }, 600), null), at(600))).toMatchObject({
      proofRenewed: false,
      machine: { value: { disks } },
    });
    expect(reduce(renewed, look, result(null, ofCluster()), at(600)).proofRenewed).toBe(true);
    expect(reduce(begun, without, result(ofMachine({ disks: [] }), null), at(100)).machine?.value.disks).toEqual([]);
  });

  it('clears no step, and the run remembers that it was a search', () => {
    const after = reduce({ ...read, cleared: { step: 'x', at: 0 } }, look, result(null, ofCluster()), at(500));
    expect([after.cleared, after.memory.searched]).toEqual([null, false]);
    const searched = reduce(read, { ...look, search: true }, result(null, ofCluster()), at(500));
    expect(searched.memory.searched).toBe(true);
    expect(reduce(searched, look, result(null, ofCluster()), at(600)).memory.searched).toBe(true);
  });
});

describe('our mark on the Node', () => {
  const ours = { outOfService: true, ours: true, quarantine: true };
  const markOf = (fence: string) => ({
    node: marked({ fence }, { taints: ours, taintedFor: { fence, boot: 'boot' } }),
  });
  const both = (known: RunState, change: Partial<ClusterFacts>): RunState =>
    reduce(known, look, { to: 'look', machine: ofMachine({}, 500), cluster: ofCluster(change, 500) }, at(500));
  const seen = both(begun, markOf('run.1'));

  it('may be younger than a read of the machine that was requested before this run saw the mark', () => {
    expect(seen.memory).toMatchObject({ mark: 'run.1 in boot', markIsNew: true });
    expect(withClusterRead(seen, ofCluster(markOf('run.1')), at(600)).memory.markIsNew).toBe(true);
  });

  it('is older than the next read of the machine', () => {
    expect(withMachineRead(seen, ofMachine({}, 600), at(600)).memory).toMatchObject({
      mark: 'run.1 in boot',
      markIsNew: false,
    });
    expect(both(seen, markOf('run.1')).memory.markIsNew).toBe(false);
  });

  it('counts as a new one if it is of another fence', () => {
    expect(both(seen, markOf('run.2')).memory).toMatchObject({ mark: 'run.2 in boot', markIsNew: true });
    const standing = both(seen, markOf('run.1'));
    expect(withClusterRead(standing, ofCluster(markOf('run.1')), at(600)).memory.markIsNew).toBe(false);
    expect(withClusterRead(standing, ofCluster(markOf('run.2')), at(600)).memory.markIsNew).toBe(true);
  });

  it('counts as a new one if someone removed the label that names its fence', () => {
    const nameless = { node: marked({}, { taints: ours, taintedFor: null }) };
    expect(both(seen, nameless).memory).toMatchObject({ mark: 'of an unknown fence', markIsNew: true });
    expect(both(both(seen, nameless), nameless).memory.markIsNew).toBe(false);
  });

  it.each([
    ['a Node without our taint', { node: node({ taintedFor: { fence: 'run.1', boot: 'boot' } }) }],
    ['no Node', { node: null }],
  ])('is not there: %s', (_, change) => {
    expect(both(seen, change).memory).toMatchObject({ mark: null, markIsNew: false });
  });
});

describe('a recheck', () => {
  const standing = withClusterRead(read, ofCluster({ node: marked() }), at(100));
  const same = { uid: 'node-uid', recordText: marked().recordText, taints: marked().taints, lease: ago(20_000) };
  const recheck: Command = { do: 'recheck', location, node: 'node-a', step: deletePod };
  const after = (says: object, known = standing) =>
    reduce(known, recheck, { to: 'recheck', value: { ...same, ...says }, requestedAt: at(500), step: 'key' }, at(520));

  it('clears the step if nothing has changed, and also reads the Lease', () => {
    expect(after({ lease: ago(1) })).toMatchObject({
      cleared: { step: 'key', at: 500 },
      cluster: { value: { lease: ago(1) } },
    });
    const unread = { lease: undefined, leaseSince: null };
    const { lease, leaseSince } = after({ lease: ago(1) }, remembering(standing, unread)).memory;
    // The kubelet may have renewed it until the answer came.
    expect({ lease, leaseSince }).toEqual({ lease: ago(1), leaseSince: 520 });
  });

  it.each([
    ['another Node', { uid: 'another' }],
    ['no Node', { uid: null }],
    ['another record', { recordText: '{}' }],
    ['no record', { recordText: null }],
    ['no taint', { taints: { outOfService: false, ours: false } }],
    ['a taint that is no longer ours', { taints: { outOfService: true, ours: false } }],
  ])('that shows %s clears nothing, and makes the run look again', (_, says) => {
    expect(after(says)).toMatchObject({ cleared: null, cluster: null });
  });

  it('clears the step although someone else has added an out-of-service taint', () => {
    const plain = withClusterRead(read, ofCluster({ node: node() }), at(100));
    const says = { recordText: null, taints: { outOfService: true, ours: false } };
    expect(after(says, plain).cleared?.step).toBe('key');
  });

  it('clears nothing if someone else’s taint is gone', () => {
    const taints = { outOfService: true, ours: false, quarantine: true };
    const foreign = withClusterRead(read, ofCluster({ node: marked({}, { taints }) }), at(100));
    expect(after({ taints }, foreign).cleared?.step).toBe('key');
    expect(after({ taints: { outOfService: false, ours: false } }, foreign).cleared).toBeNull();
  });

  it('clears the step for a Node that is gone only if there still is none', () => {
    const gone = withClusterRead(read, ofCluster({ node: null }), at(100));
    expect(after({ uid: null, recordText: null }, gone).cleared?.step).toBe('key');
    expect(after({ uid: 'new', recordText: null }, gone).cleared).toBeNull();
    expect(after({ uid: null, recordText: '{}' }, gone).cleared).toBeNull();
  });

  it('under a reused name clears the step, and ignores the Lease of the other machine', () => {
    const taken = withClusterRead(read, ofCluster({ node: null, nameTaken: true }), at(100));
    const cleared = after({ uid: 'new', lease: ago(1) }, taken);
    expect(cleared).toMatchObject({ cleared: { step: 'key', at: 500 }, cluster: { value: { lease: ago(20_000) } } });
  });

  it('without facts of the cluster clears nothing', () => {
    expect(after({}, { ...standing, cluster: null }).cleared).toBeNull();
  });
});

describe('an answer about the disks', () => {
  const asked: Command = { do: 'witness', disks: ['disk-1'] };
  const after = (known: RunState) => reduce(known, asked, { to: 'witness', value: 'released' }, at(300));
  const fenced = (change: Parameters<typeof marked>[0]) =>
    after(withClusterRead(withMachineRead(begun, ofMachine(), at(100)), ofCluster({ node: marked(change) }), at(100)));

  it('is remembered', () =>
    expect(after(read)).toMatchObject({ cluster: read.cluster, memory: { witness: 'released' } }));

  it('drops the facts of the cluster if a fence may have freed the disks, because they may be detached by now', () => {
    expect(fenced({})).toMatchObject({ cluster: null, machine: { value: {} }, memory: { witness: 'released' } });
    expect(fenced({ generation: null }).cluster).not.toBeNull();
  });

  it('names the attachments that it concerns, which are searched again if only a search found them', () => {
    expect(fenced({}).memory).toMatchObject({ testified: ['va-uid'], searched: false });
    expect(fenced({ generation: null }).memory.testified).toEqual([]);
    const searchedBefore = { ...begun, memory: { ...begun.memory, searched: true } };
    const known = withClusterRead(
      withMachineRead(searchedBefore, ofMachine(), at(100)),
      ofCluster({ node: marked({}) }),
      at(100),
    );
    expect(after(known).memory.searched).toBe(false);
    expect(withMachineRead(after(known), ofMachine({}, 500), at(500)).memory.testified).toEqual([]);
  });

  it('is remembered even if the run knows nothing else', () =>
    expect(after(begun)).toMatchObject({ cluster: null, memory: { witness: 'released' } }));
});

describe('an answer', () => {
  const answered = (result: CommandResult) => reduce(read, look, result, at(500));
  it('is remembered', () => {
    expect(answered({ to: 'witness', value: 'held' }).memory.witness).toBe('held');
    expect(answered({ to: 'survey-connectivity', value: alone, requestedAt: at(400) }).memory.connectivity).toEqual({
      value: alone,
      requestedAt: 400,
    });
    expect(answered({ to: 'record-events' }).eventsRecorded).toBe(true);
    expect(answered({ to: 'conclude' }).concluded).toBe(1);
    const ending = { outcome: 'fenced', reason: because('fenced', ''), lookAgainIn: null, retry: false } as const;
    expect(answered({ to: 'end', ending }).ending).toBe(ending);
  });

  it('to a step changes what is known', () => {
    expect(reduce(read, act(mark), { to: 'act', answers: ['done'], sentAt: at(0) }, at(500)).memory.marks).toBe(1);
    const imagined = reduce(
      read,
      { do: 'imagine', step: mark, because: because('off-proven', '') },
      { to: 'imagine' },
      at(500),
    );
    expect(imagined.steps).toMatchObject([{ step: 'mark', result: 'dry-run' }]);
  });

  it('to any other command changes nothing', () => {
    expect(answered({ to: 'act', answers: ['done'], sentAt: at(0) })).toBe(read);
    expect(answered({ to: 'imagine' })).toBe(read);
  });

  it('to a pause drops the facts that may have changed', () => {
    const waited = remembering(
      { ...read, cleared: { step: 'x', at: 0 }, resumeAt: null },
      { sinceLook: new Set(['x']), witness: 'held', connectivity: { value: alone, requestedAt: 400 }, polls: 3 },
    );
    const pause: Command = { do: 'sleep', ms: 700, because: because('stopping', 'it stops'), until: null };
    const after = reduce(waited, pause, { to: 'sleep', polls: 0 }, at(500));
    expect(after).toMatchObject({
      machine: null,
      cluster: null,
      cleared: null,
      resumeAt: null,
      pending: { outcome: 'waiting', reason: { code: 'stopping' }, ms: 700 },
    });
    expect(after.memory).toMatchObject({ polls: 4, witness: null, connectivity: null, sinceLook: new Set() });
    expect(reduce(waited, pause, { to: 'sleep', polls: 2 }, at(500)).memory.polls).toBe(6);
    const failing = { outcome: 'failed', reason: because('denied', ''), ms: 1 } as const;
    expect(
      reduce({ ...waited, resumeAt: 600, pending: failing }, pause, { to: 'sleep', polls: 0 }, at(500)).pending,
    ).toBe(failing);
    expect(reduce({ ...waited, pending: failing }, look, { to: 'sleep', polls: 0 }, at(500)).pending).toBe(failing);
  });

  it('to a pause that lasts until the deadline keeps what the outcome reports', () => {
    const pause: Command = { do: 'sleep', ms: 700, because: because('attachments-going', 'it goes'), until: null };
    const after = (deadline: number) => reduce({ ...read, deadline }, pause, { to: 'sleep', polls: 0 }, at(500));
    expect(after(500)).toMatchObject({
      machine: read.machine,
      cluster: read.cluster,
      pending: { outcome: 'waiting', reason: { code: 'attachments-going' } },
    });
    expect(after(501).machine).toBeNull();
  });
});

describe('a call that fails', () => {
  const after = (
    command: Command,
    error: PermissionDenied | Refused | Unavailable | InvalidInput | InvalidConfiguration | Unexpected | ProofExpired,
    known = read,
  ) =>
    reduce(
      known,
      command,
      command.do === 'act' ? { to: 'act', answers: [error], sentAt: at(400) } : { to: 'failed', error },
      at(500),
    );
  const unread = { ...begun, location };

  it('is tried again after a pause that grows', () => {
    const once = after(look, new Unavailable('throttled'));
    expect(once).toMatchObject({
      machine: null,
      cluster: null,
      cleared: null,
      failures: 1,
      resumeAt: 1_000,
      pending: { outcome: 'failed', reason: { code: 'unavailable', says: 'throttled' }, ms: 500 },
    });
    expect(once.memory.sinceLook.size).toBe(0);
    expect(after(look, new Unavailable('throttled'), { ...read, failures: 2 })).toMatchObject({
      failures: 3,
      resumeAt: 2_500,
    });
    expect(after(look, new Unavailable('throttled'), { ...read, failures: 9 }).resumeAt).toBe(8_500);
  });

  it.each([
    ['an input that is wrong', new InvalidInput('x'), 'invalid'],
    ['a configuration that is wrong', new InvalidConfiguration(['x']), 'invalid'],
    ['a defect', new Unexpected('x'), 'unexpected'],
    ['a permission that was never there', new PermissionDenied('x'), 'denied'],
  ])('ends the run for good: %s', (_, error, code) => {
    expect(after(look, error, unread).ending).toMatchObject({
      outcome: 'failed',
      reason: { code, says: error.message },
      lookAgainIn: null,
      retry: error.retry,
    });
  });

  it('because of a denial is tried again only if the same kind of read was allowed before', () => {
    const recheck: Command = { do: 'recheck', location, node: 'node-a', step: deletePod };
    expect(after(look, new PermissionDenied('x')).ending).toBeNull();
    expect(after(recheck, new PermissionDenied('x')).ending).toBeNull();
    expect(after(recheck, new PermissionDenied('x'), unread).ending).not.toBeNull();
    const pause: Command = { do: 'sleep', ms: 1, because: because('attachments-going', ''), until: null };
    expect(after(pause, new PermissionDenied('x')).ending).toBeNull();
    expect(after({ ...look, search: true }, new PermissionDenied('x')).ending).not.toBeNull();
    expect(after({ do: 'witness', disks: [] }, new PermissionDenied('x')).ending).not.toBeNull();
  });

  it('does not change the end of a run', () => {
    expect(
      after(
        {
          do: 'record-events',
          location,
          events: [],
        },
        new Unexpected('x'),
      ),
    ).toMatchObject({ eventsRecorded: true, ending: null });
    expect(after({ do: 'conclude', location, boot: null }, new Unexpected('x'))).toMatchObject({
      concluded: 1,
      ending: null,
    });
  });

  it('because the proof ended needs a new proof, and a pause only if that happens again', () => {
    expect(after(act(mark), new ProofExpired('x'), { ...read, cleared: { step: 'x', at: 0 } })).toMatchObject({
      machine: null,
      cleared: null,
      failures: 1,
      resumeAt: null,
      ending: null,
      pending: { outcome: 'waiting', reason: { code: 'unavailable' }, ms: 1_000 },
    });
    expect(after(act(mark), new ProofExpired('x'), { ...read, failures: 1 }).resumeAt).toBeNull();
    expect(after(act(mark), new ProofExpired('x'), { ...read, failures: 2 })).toMatchObject({
      failures: 3,
      resumeAt: 4_500,
    });
    expect(after(act(mark), new ProofExpired('x')).cluster).toBe(read.cluster);
  });

  it('gives the code of its error', () => {
    expect(
      [
        new PermissionDenied(''),
        new Refused(''),
        new Unexpected(''),
        new InvalidInput(''),
        new InvalidConfiguration([]),
        new Unavailable(''),
      ].map((error) => reasonOf(error).code),
    ).toEqual(['denied', 'step-refused', 'unexpected', 'invalid', 'invalid', 'unavailable']);
  });

  it('is given up if the API server declines a step about one object, and ends the run for any other step', () => {
    expect(after(act(deletePod), new PermissionDenied('no'))).toMatchObject({
      ending: null,
      steps: [{ step: 'delete-pod', result: 'refused', message: 'no', ms: 100, at: NOW + 400 }],
    });
    expect(after(act(deletePod), new PermissionDenied('no')).memory.declined).toEqual(
      new Map([['delete-pod pod-uid', 'pod/default/db-0: no']]),
    );
    expect(after(act(mark), new PermissionDenied('no')).ending).toMatchObject({
      outcome: 'failed',
      reason: { code: 'denied', says: 'node/node-a: no' },
      lookAgainIn: null,
      retry: true,
    });
    expect(after(act(mark), new Unavailable('no'))).toMatchObject({
      ending: null,
      refusals: new Map(),
      steps: [{ result: 'failed' }],
    });
  });

  it('counts how often the same step was refused in a row', () => {
    const refused = (known: RunState, step: Step = mark) =>
      applyStepError(known, act(step), new Refused('no'), at(400), at(500));
    const five = Array.from({ length: 5 }).reduce<RunState>((known) => refused(known), read);
    expect(five).toMatchObject({ ending: null, refusals: new Map([['mark node-uid', 5]]) });
    expect(refused(five)).toMatchObject({
      ending: { reason: { code: 'step-refused' } },
      steps: { length: 6 },
    });
    expect(refused(five, deletePod)).toMatchObject({ ending: null, steps: { length: 6 } });
    expect(after(act(mark), new Refused('no'), five)).toMatchObject({ ending: { outcome: 'failed' }, resumeAt: null });
    expect(after(act(mark), new Refused('no'))).toMatchObject({ resumeAt: 1_500 });
  });
});

describe('a step that succeeded', () => {
  const taken = (step: Step, known = read) => applyStepResult(known, act(step), 'done', at(400), at(500));
  it('is reported, and resets the failures before it', () => {
    const before = {
      ...read,
      cleared: { step: 'x', at: 0 },
      failures: 2,
      refusals: new Map([
        ['x', 1],
        ['delete-pod pod-uid', 2],
      ]),
    };
    const first = taken(deletePod, before);
    expect(first).toMatchObject({ cleared: before.cleared, failures: 0, ending: null });
    expect(first.refusals).toEqual(new Map([['x', 1]]));
    expect(taken(mark, before).cleared).toBeNull();
    expect(taken(mark, first).steps).toEqual([
      {
        step: 'delete-pod',
        target: 'pod/default/db-0',
        because: because('off-proven', 'off'),
        at: NOW + 400,
        ms: 100,
        result: 'done',
        message: null,
        pod: { namespace: 'default', name: 'db-0', uid: 'pod-uid', hasVolume: true },
      },
      expect.objectContaining({ step: 'mark', target: 'node/node-a' }),
    ]);
    expect(reportSimulatedStep(act(mark), at(500))).toMatchObject({ result: 'dry-run', ms: 0, at: NOW + 500 });
  });

  it('is remembered until the next look', () => {
    const memory = taken(deletePod, remembering(read, { polls: 7 })).memory;
    expect(memory).toMatchObject({
      sinceLook: new Set(['delete-pod pod-uid']),
      takenAt: new Map([['delete-pod pod-uid', 500]]),
      polls: 0,
      marks: 0,
    });
    expect(memory.deleted).toEqual(new Map([['pod-uid', { origin: 'default/db-0', at: 500 }]]));
    const another = withClusterRead(read, ofCluster({ pods: [pod({ uid: 'other', name: 'other' }), pod()] }), at(100));
    expect(taken(deletePod, another).memory.deleted.get('pod-uid')?.origin).toBe('default/db-0');
    expect(taken(deletePod, withClusterRead(read, ofCluster({ pods: [] }), at(100))).memory.deleted.size).toBe(0);
    expect(taken({ ...deletePod, do: 'fail-pod' }).memory.deleted.size).toBe(0);
    expect(memory.unwanted).toEqual(new Map([['a-driver^disk-1', 500]]));
    const shared = withClusterRead(read, ofCluster({ pods: [pod(), pod({ uid: 'other', name: 'other' })] }), at(100));
    expect(taken(deletePod, shared).memory.unwanted.size).toBe(0);
    expect(taken({ ...deletePod, do: 'fail-pod' }).memory.unwanted.size).toBe(0);
  });

  it('counts marks, and a park returns the admission of the cap', () => {
    const known = remembering(read, { admission: admitted, marks: 1 });
    expect(taken(mark, known).memory).toMatchObject({ marks: 2, admission: admitted });
    expect(taken({ do: 'park', node: target, record: record() }, known).memory).toMatchObject({
      marks: 1,
      admission: null,
    });
  });

  it('that detaches a disk frees the volume of that disk', () => {
    const detach: Step = {
      do: 'detach-disk',
      from: { machine: 'm-1', incarnation: null },
      disk: 'disk-1',
      mode: 'plain',
    };
    const two = withClusterRead(
      read,
      ofCluster({ volumes: [volume({ handle: 'disk-2', key: 'second' }), volume()] }),
      at(100),
    );
    const once = taken(detach, remembering(two, { detached: new Set(['before']) }));
    expect(once.memory.detached).toEqual(new Set(['before', 'a-driver^disk-1']));
    expect(taken(deletePod, two).memory.detached.size).toBe(0);
    expect(taken(detach, { ...two, cluster: null }).memory.detached.size).toBe(0);
  });

  it.each([
    ['mark', mark, 'run.1'],
    ['park', { do: 'park', node: target, record: record({ fence: 'parked.1' }) }, 'parked.1'],
    ['delete-pod', deletePod, 'before.1'],
    ['release-node', { do: 'release-node', node: target, record: record(), tombstone: null }, undefined],
    ['lift-out-of-service without a record', { do: 'lift-out-of-service', node: target, record: null }, 'before.1'],
  ] as const)('leaves the record: %s', (_, step, fence) => {
    expect(taken(step, { ...read, record: record({ fence: 'before.1' }) }).record?.fence).toBe(fence);
  });

  it('changes the Node in memory as the patch did, unless someone else’s write is already visible', () => {
    expect(taken(mark).cluster?.value.node).toMatchObject({
      record: record(),
      taints: { ours: true, quarantine: true },
    });
    expect(
      applyStepResult(read, { step: mark, because: because('off-proven', 'off') }, 'already', at(400), at(500)),
    ).toMatchObject({
      machine: read.machine,
      cluster: null,
    });
  });

  it('marks volumes as unwanted only if it deletes pods', () => {
    const unread = remembering(read, { unwanted: new Map() });
    const free = { ...unread, cluster: ofCluster({ pods: [] }) };
    const note: Step = { do: 'note', node: target, record: record() };
    const after = (step: Step) =>
      applyStepResult(free, { step, because: because('off-proven', 'off') }, 'done', at(400), at(500)).memory.unwanted
        .size;
    expect([after(note), after(deletePod)]).toEqual([0, 1]);
  });

  it.each([
    ['delete-node', { do: 'delete-node', node: target }, 'fenced'],
    ['release-node', { do: 'release-node', node: target, record: record(), tombstone: null }, 'released'],
  ] as const)('ends the run if it is the last one of a fence: %s', (_, step, outcome) => {
    expect(taken(step).ending).toEqual({
      outcome,
      reason: because('off-proven', 'off'),
      lookAgainIn: null,
      retry: false,
    });
  });

  it('drops the facts that it changes', () => {
    const stale = (step: Step) => {
      const { machine: own, cluster: facts } = taken(step);
      return [own !== null, facts !== null];
    };
    expect(stale(deletePod)).toEqual([true, true]);
    expect(stale({ do: 'note', node: mark.node, record: mark.record })).toEqual([true, false]);
    expect(stale({ do: 'delete-attachment', attachment: attachment() })).toEqual([true, false]);
    expect(stale({ do: 'mark', node: target, record: record(), addOutOfService: true })).toEqual([true, true]);
    expect(stale({ do: 'power-off', target: { machine: 'm-1', incarnation: null } })).toEqual([false, false]);
  });
});
