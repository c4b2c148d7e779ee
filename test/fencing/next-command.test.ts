import { describe, expect, it } from 'vitest';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import { emptyMemory, type RunState, startRun } from '../../fencing/loop/state.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import type { Memory, Moment } from '../../fencing/rules/view.ts';
import { admitted, ago, attachment, cluster, machine, marked, node, pod, NOW, view, volume } from './view-builder.ts';

/** The next command of a run, for each thing that it may know or not know. */

const at = (mono: number): Moment => ({ wall: NOW + mono, mono });
const PROOF_MS = 2_000;

const memory: Memory = {
  ...emptyMemory,
  admission: admitted,
  firstOff: { ...at(0), generation: 'boot-1' },
  lease: ago(20_000),
  firstLease: ago(20_000),
};
const { request, identityRules } = view();
const begun = startRun({ request, policy: defaultPolicy, identityRules, runId: 'run', deadline: 60_000 });
/** A run that has just read everything, and is about to mark the Node. */
const known = (change: Partial<RunState> = {}): RunState => ({
  ...begun,
  location: { cluster: 'a', node: 'node-a' },
  machine: { value: machine(), requestedAt: at(0), receivedAt: 0 },
  cluster: { value: cluster(), requestedAt: at(0), receivedAt: 0 },
  memory,
  ...change,
});
const read = (asked: number, got: number, value = machine()): Partial<RunState> => ({
  machine: { value, requestedAt: at(asked), receivedAt: got },
});
const facts = (change: Parameters<typeof cluster>[0]): Partial<RunState> => ({
  cluster: { value: cluster(change), requestedAt: at(0), receivedAt: 0 },
});
const next = (change: Partial<RunState> = {}, mono = 100) => nextCommand(known(change), at(mono));
const look = (wanted: object) => ({
  do: 'look',
  machine: false,
  cluster: false,
  disks: true,
  search: false,
  ...wanted,
});
const end = { do: 'end' };

describe('a run looks', () => {
  it.each([
    ['at the machine, which nobody has located yet', { location: null, machine: null }, look({ machine: true })],
    ['for the Node of the machine', { location: null }, { do: 'locate', facts: machine() }],
    ['at everything at first', { machine: null, cluster: null }, look({ machine: true, cluster: true })],
    ['at the cluster if only that is unknown', { cluster: null }, look({ cluster: true })],
    [
      'at the cluster again after a step, unless the next step is known',
      {
        ...facts({ pods: [], volumes: [], node: marked() }),
        memory: { ...memory, sinceLook: new Set(['x']) },
        ...read(0, 0, machine({ power: 'unknown' })),
      },
      look({ cluster: true }),
    ],
    [
      'at the machine alone, and not at its disks, if our mark may be younger than the read that would lift it',
      {
        ...facts({ node: marked() }),
        ...read(0, 0, machine({ power: 'running' })),
        memory: { ...memory, markIsNew: true },
      },
      look({ machine: true, disks: false }),
    ],
    [
      'through the list of all attachments if a disk is unexplained',
      facts({ volumes: [] }),
      look({ cluster: true, search: true }),
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change)).toEqual(expected));

  const sinceLook = (...steps: readonly string[]) => ({ memory: { ...memory, sinceLook: new Set(steps) } });
  const parked = facts({
    pods: [],
    volumes: [],
    node: marked(
      { phase: 'fenced', released: ago(0) },
      { taints: { outOfService: false, ours: false, quarantine: true }, taintedFor: null },
    ),
  });
  const free = read(0, 0, machine({ disks: [] }));
  it.each([
    ['no more once the fence is parked', sinceLook('park node-uid'), { do: 'end', ending: { outcome: 'fenced' } }],
    ['... unless the park was not the only step', sinceLook('park node-uid', 'nudge a on'), look({ cluster: true })],
    [
      '... unless the fence is not over',
      { ...sinceLook('park node-uid'), ...read(0, 0, machine({ power: 'unknown' })) },
      look({ cluster: true }),
    ],
    [
      '... unless it ends otherwise',
      { ...sinceLook('park node-uid'), ...read(0, 0, machine({ power: 'suspended' })) },
      look({ cluster: true }),
    ],
    [
      'before a step that changes the Node',
      { ...sinceLook('mark node-uid'), ...facts({ node: marked(), pods: [], volumes: [] }) },
      look({ cluster: true }),
    ],
  ] as const)('%s', (_, change, expected) => expect(next({ ...parked, ...free, ...change })).toMatchObject(expected));

  const marks = facts({ node: marked(), volumes: [volume({ attachment: attachment() })] });
  const [deleted, failed] = ['delete-pod pod-uid', 'fail-pod pod-uid'];
  const awaits = { do: 'sleep', because: { code: 'attachments-going' }, until: { attachments: [attachment()] } };
  const earlier = { memory: { ...sinceLook(deleted).memory, deleted: new Map([['earlier', { origin: 'x', at: 0 }]]) } };
  const justDeleted = {
    memory: { ...sinceLook(deleted).memory, deleted: new Map([['pod-uid', { origin: 'x', at: 0 }]]) },
  };
  const declined = { memory: { ...sinceLook(deleted).memory, failedSinceLook: new Set(['delete-pod another']) } };
  it.each([
    ['not before it waits for what the pods let go', sinceLook('mark node-uid', deleted), awaits],
    ['... even if it had to fail one of them', sinceLook(failed, deleted), awaits],
    ['... whose deletion it remembers', justDeleted, awaits],
    [
      '... but if their attachments are gone, and only disks are left',
      { ...sinceLook(deleted), ...facts({ node: marked(), volumes: [volume({ attachment: null })] }) },
      look({ cluster: true }),
    ],
    ['... but if it deleted others before', earlier, look({ cluster: true })],
    ['... if a delete was declined', declined, look({ cluster: true })],
    ['... if it did anything else', sinceLook(deleted, 'note node-uid'), look({ cluster: true })],
    [
      '... and before any other step',
      { ...sinceLook(deleted), ...facts({ node: marked(), volumes: [] }) },
      { do: 'look' },
    ],
  ] as const)('%s', (_, change, expected) => expect(next({ ...marks, ...change })).toMatchObject(expected));

  it.each([
    ['at the machine when its facts are 1.5 s old', 1_500, {}, look({ machine: true })],
    ['... and not before', 1_499, read(400, 0), { do: 'recheck' }],
    [
      'at the cluster when its facts are too old',
      timing.clusterFacts,
      read(timing.clusterFacts, timing.clusterFacts),
      look({ cluster: true }),
    ],
    [
      '... counted from their answer',
      timing.clusterFacts,
      {
        ...read(timing.clusterFacts, timing.clusterFacts),
        cluster: { value: cluster(), requestedAt: at(0), receivedAt: 1 },
      },
      { do: 'recheck' },
    ],
    [
      '... and not before',
      timing.clusterFacts - 1,
      read(timing.clusterFacts - 1, timing.clusterFacts - 1),
      { do: 'recheck' },
    ],
  ] as const)('%s', (_, mono, change, expected) => expect(next(change, mono)).toMatchObject(expected));
});

describe('a step', () => {
  it('of destruction is rechecked first, and then leaves with what is left of the proof', () => {
    expect(next()).toMatchObject({ do: 'recheck', node: 'node-a', location: { cluster: 'a' }, step: { do: 'mark' } });
    expect(next({ cleared: { step: 'another step', at: 0 } })).toMatchObject({ do: 'recheck' });
    expect(next({ cleared: { step: 'mark node-uid', at: 0 }, ...read(50, 60) })).toMatchObject({
      do: 'act',
      step: { do: 'mark' },
      expires: 50 + PROOF_MS,
    });
  });

  it('of destruction leaves beside others only under a young recheck, which also clears the next', () => {
    const two = facts({ node: marked(), pods: [pod(), pod({ uid: 'another', name: 'web-0' })] });
    const after = (change: Partial<RunState>, mono: number) => next({ ...two, ...read(50, 60), ...change }, mono);
    const cleared = { step: 'delete-pod pod-uid', at: 60 };
    expect(after({}, 100)).toMatchObject({ do: 'recheck' });
    expect(after({ cleared }, 559)).toMatchObject({
      do: 'act',
      step: { pod: { uid: 'pod-uid' } },
      alongside: [{ step: { pod: { uid: 'another' } } }],
      leaveBy: 560,
      isRechecked: true,
    });
    expect(after({ cleared }, 560)).toMatchObject({ do: 'act', alongside: [] });
    const sinceLook = { ...memory, sinceLook: new Set(['delete-pod pod-uid']) };
    expect(after({ cleared, memory: sinceLook }, 559)).toMatchObject({ do: 'act', step: { pod: { uid: 'another' } } });
    const other = { ...cleared, step: 'delete-pod a-third' };
    expect(after({ cleared: other }, 559)).toMatchObject({ do: 'act', leaveBy: 560, isRechecked: false });
    expect(after({ cleared, memory: sinceLook }, 560)).toMatchObject({ do: 'recheck' });
  });

  it('that deletes nothing is not rechecked', () => {
    const lease = { lease: ago(1), node: marked({ lease: ago(20_000) }) };
    expect(next({ ...facts(lease), ...read(50, 60) })).toMatchObject({
      do: 'act',
      step: { do: 'note' },
      expires: 50 + PROOF_MS,
      isRechecked: true,
    });
  });

  it('is not rechecked where no Node ever was', () => {
    expect(next({ ...facts({ node: null, nodeName: null }) })).toMatchObject({ do: 'act', step: { do: 'delete-pod' } });
    expect(next({ ...facts({ node: null }) })).toMatchObject({
      do: 'recheck',
      node: 'node-a',
      step: { do: 'delete-pod' },
    });
  });

  it.each([
    ['a new proof', {}, 1_499, 'recheck'],
    ['a proof that is too old', {}, 1_500, 'look'],
    ['a proof that was renewed for it', { proofRenewed: true }, 1_799, 'recheck'],
    ['a renewed proof that is too old', { proofRenewed: true }, 1_800, 'look'],
    [
      'a renewed proof, after the recheck',
      { proofRenewed: true, cleared: { step: 'mark node-uid', at: 0 } },
      1_999,
      'act',
    ],
    [
      'a renewed proof that has ended',
      { proofRenewed: true, cleared: { step: 'mark node-uid', at: 0 } },
      2_000,
      'look',
    ],
    ['a new proof, after the recheck', { cleared: { step: 'mark node-uid', at: 0 } }, 1_500, 'look'],
  ])('needs a young proof: %s', (_, change, mono, expected) => {
    const command = next({ ...read(0, 1_000), ...change }, mono);
    expect(command.do).toBe(expected);
    if (command.do === 'look') expect(command).toEqual(look({ machine: true, disks: false }));
  });

  it.each([
    [
      'waits while the cloud answers too slowly',
      { proofRenewed: true, ...read(0, 1_800) },
      { do: 'sleep', ms: 2_000, because: { code: 'unavailable', says: expect.stringContaining(' 1800 ms') } },
    ],
    [
      '... counted from the request',
      { proofRenewed: true, ...read(1, 1_800), cleared: { step: 'another step', at: 0 } },
      { do: 'recheck' },
    ],
    ['... which takes two attempts', read(0, 1_800), look({ machine: true, disks: false })],
    ['... and ends the run if there is no time left', { proofRenewed: true, deadline: 3_800, ...read(0, 1_800) }, end],
  ])('%s', (_, change, expected) => expect(next(change, 1_800)).toMatchObject(expected));

  it('that is awaited lets the run use all its time', () => {
    const going = facts({
      node: marked(),
      pods: [],
      volumes: [volume({ attachment: attachment({ deletingSince: NOW }) })],
    });
    const never = { policy: { ...defaultPolicy, detach: 'never' as const } };
    const waits = (deadline: number) => next({ ...going, ...never, deadline });
    expect(waits(60_000)).toMatchObject({
      do: 'sleep',
      ms: timing.lookAgain,
      until: { attachments: [{ name: 'csi-1' }] },
    });
    expect(waits(1_100)).toMatchObject({ do: 'sleep', ms: 1_000 });
    expect(waits(99 + timing.pollShortest)).toMatchObject({ do: 'end', ending: { outcome: 'waiting' } });
  });

  it('measures how long the cloud took from the request', () => {
    expect(next({ proofRenewed: true, ...read(900, 2_000) }, 2_700)).toEqual(look({ machine: true, disks: false }));
  });

  it('that only takes back what Cloudfence wrote needs no proof', () => {
    const running = machine({ power: 'running' });
    expect(next({ ...facts({ node: marked() }), ...read(0, 1_000, running) }, 1_900)).toMatchObject({
      do: 'act',
      step: { do: 'lift-out-of-service' },
      expires: 1_900 + PROOF_MS,
    });
    const back = marked(
      { phase: 'fenced', released: ago(600_000) },
      { bootID: 'boot-b', taints: { outOfService: false, ours: false, quarantine: true } },
    );
    const returned = {
      ...facts({ node: back, pods: [], volumes: [], lease: ago(1_000) }),
      ...read(0, 1_000, machine({ power: 'running', generation: 'boot-2', disks: [] })),
    };
    expect(next(returned, 1_900)).toMatchObject({ do: 'act', step: { do: 'release-node' }, expires: 1_900 + PROOF_MS });
  });
});

describe('a step is only imagined', () => {
  const shadow = { policy: { ...defaultPolicy, shadow: true } };
  const dryRun = { policy: { ...defaultPolicy, dryRun: true } };
  const lift = { ...facts({ node: marked() }), ...read(0, 0, machine({ power: 'running' })) };
  const imagined = [
    { step: 'note', target: 'x', because: because('off-proven', ''), at: NOW, ms: 0, result: 'dry-run', message: null },
  ] as const;
  it.each([
    ['in a dry run', dryRun, 'imagine'],
    ['... even if it takes back what Cloudfence wrote', { ...dryRun, ...lift }, 'imagine'],
    ['... even in shadow mode', { policy: { ...defaultPolicy, dryRun: true, shadow: true }, ...lift }, 'imagine'],
    ['in shadow mode', shadow, 'imagine'],
    ['... unless it takes back what Cloudfence wrote', { ...shadow, ...lift }, 'act'],
    [
      '... by facts that are not imagined',
      { ...shadow, ...lift, memory: { ...memory, sinceLook: new Set(['x']) }, steps: imagined },
      'imagine',
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change).do).toBe(expected));
});

it('shadow mode takes our taint off when its work is done, and only imagines any other park', () => {
  const shadow = { policy: { ...defaultPolicy, shadow: true }, ...read(0, 0, machine({ disks: [] })) };
  const free = { pods: [], volumes: [] };
  const unfinished = marked({ phase: 'fencing', released: ago(1_000) });
  expect(next({ ...shadow, ...facts({ ...free, node: marked() }) })).toMatchObject({ do: 'act', step: { do: 'park' } });
  expect(next({ ...shadow, ...facts({ ...free, node: unfinished }) })).toMatchObject({
    do: 'imagine',
    step: { do: 'park' },
  });
});

describe('an end to which only imagined steps led', () => {
  const steps = [
    { step: 'note', target: 'x', because: because('off-proven', ''), at: NOW, ms: 0, result: 'dry-run', message: null },
  ] as const;
  const free = { pods: [], volumes: [] };
  const done = {
    ...facts({ ...free, node: marked({ phase: 'fenced', released: ago(1_000) }) }),
    ...read(0, 0, machine({ disks: [] })),
  };
  it.each([
    ['is a fence that would be', { ...done, steps }, 'would-fence'],
    ['... and is one if nothing was imagined', done, 'fenced'],
    ['is a release that would be', { request: { ...request, intent: 'release' }, steps }, 'would-fence'],
    ['... and is one if nothing was imagined', { request: { ...request, intent: 'release' } }, 'released'],
    ['is a refusal as before', { ...read(0, 0, machine({ power: 'unknown' })), steps }, 'refused'],
  ] as const)('%s', (_, change, outcome) => expect(next(change)).toMatchObject({ do: 'end', ending: { outcome } }));
});

describe('a wait', () => {
  const stopping = read(0, 0, machine({ power: 'stopping', since: NOW - 1_000 }));
  const ms = timing.pollShortest;
  it.each([
    ['is a pause', {}, { do: 'sleep', ms, because: { code: 'stopping' } }],
    [
      'ends the run if its time is up',
      { deadline: 100 + ms },
      { do: 'end', ending: { outcome: 'waiting', reason: { code: 'stopping' }, lookAgainIn: ms, retry: false } },
    ],
    ['... and not before', { deadline: 101 + ms }, { do: 'sleep' }],
    [
      'ends a run that hands such waits over',
      { handsOver: new Set(['stopping'] as const) },
      { do: 'end', ending: { outcome: 'waiting' } },
    ],
  ] as const)('%s', (_, change, expected) => expect(next({ ...stopping, ...change })).toMatchObject(expected));

  const pending = { outcome: 'waiting', reason: because('stopping', 'it stops'), ms: 700 } as const;
  it.each([
    ['goes on until its end', { resumeAt: 400, pending }, { do: 'sleep', ms: 300, because: { code: 'stopping' } }],
    ['... and no longer', { resumeAt: 100, pending }, { do: 'recheck' }],
    ['has a reason even if none is known', { resumeAt: 400 }, { because: { code: 'unexpected', says: 'paused' } }],
    [
      'is not longer than the run',
      { resumeAt: 400, pending, deadline: 400 },
      { do: 'end', ending: { outcome: 'waiting', lookAgainIn: 700 } },
    ],
    ['... and may be as long', { resumeAt: 400, pending, deadline: 401 }, { do: 'sleep' }],
    [
      'is handed over',
      { resumeAt: 400, pending, handsOver: new Set(['stopping'] as const) },
      { do: 'end', ending: { outcome: 'waiting' } },
    ],
    [
      '... but not after a failure',
      { resumeAt: 400, pending: { ...pending, outcome: 'failed' }, handsOver: new Set(['stopping'] as const) },
      { do: 'sleep' },
    ],
    [
      'ends at the deadline',
      { deadline: 100, pending: { ...pending, outcome: 'failed' } },
      { do: 'end', ending: { outcome: 'failed', lookAgainIn: null, retry: true } },
    ],
    [
      '... whatever was learned',
      { deadline: 100 },
      { do: 'end', ending: { outcome: 'waiting', reason: { code: 'not-fenced' }, lookAgainIn: 1_000 } },
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change)).toMatchObject(expected));
});

describe('a question', () => {
  it.each([
    [
      'to the ledger',
      { memory: { ...memory, admission: null } },
      {
        do: 'reserve',
        location: { cluster: 'a' },
        reservation: { machine: 'm-1', boot: 'boot-1', cap: defaultPolicy.cap, onlyAsked: false },
        markToRecheck: { node: 'node-a', step: 'mark node-uid' },
      },
    ],
    [
      '... without an entry in a dry run',
      { memory: { ...memory, admission: null }, policy: { ...defaultPolicy, dryRun: true } },
      { reservation: { onlyAsked: true }, markToRecheck: null },
    ],
    [
      '... or in shadow mode',
      { memory: { ...memory, admission: null }, policy: { ...defaultPolicy, shadow: true } },
      { reservation: { onlyAsked: true } },
    ],
    [
      'to the disks',
      {
        ...read(0, 0, machine({ power: 'missing', generation: null, disks: [] })),
        ...facts({ lease: ago(90_000) }),
        memory: { ...memory, lease: ago(90_000) },
      },
      { do: 'witness', disks: ['disk-1'] },
    ],
    [
      'to the other Nodes',
      {
        ...read(0, 0, machine({ power: 'running', since: NOW - 3_600_000 })),
        ...facts({ node: node({ ready: 'Unknown', readySince: NOW - 3_600_000 }) }),
        policy: { ...defaultPolicy, unreachable: 'power-off' },
      },
      { do: 'survey-connectivity', node: 'node-a' },
    ],
    [
      '... even if nothing names the Node',
      {
        ...read(0, 0, machine({ power: 'running', since: NOW - 3_600_000 })),
        ...facts({ nodeName: null, node: node({ ready: 'Unknown', readySince: NOW - 3_600_000 }) }),
        policy: { ...defaultPolicy, unreachable: 'power-off' },
      },
      { do: 'survey-connectivity', node: '' },
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change)).toMatchObject(expected));
});

describe('an end', () => {
  const done = facts({ node: marked({ phase: 'fenced', released: ago(1_000) }), pods: [], volumes: [] });
  const off = read(0, 0, machine({ disks: [] }));
  it.each([
    ['is what was decided', { ...done, ...off }, { outcome: 'fenced', retry: false, lookAgainIn: null }],
    [
      'is repeated after a failure',
      {
        ...facts({ node: marked({ released: ago(1_000) }), volumes: [volume({ attachment: null })], pods: [] }),
        memory: { ...memory, declined: new Map([['detach-disk m-1 disk-1 plain', 'no']]) },
      },
      { outcome: 'failed', retry: true },
    ],
    [
      'is looked at again when the cap allows it',
      { memory: { ...memory, admission: { ...admitted, admitted: false, opens: NOW + 60_100 } } },
      { outcome: 'refused', retry: false, lookAgainIn: 60_000 },
    ],
  ] as const)('%s', (_, change, ending) => expect(next(change)).toMatchObject({ do: 'end', ending }));

  const ending = (outcome: 'fenced' | 'released' | 'ignored' | 'refused', code: Parameters<typeof because>[0]) => ({
    ending: { outcome, reason: because(code, ''), lookAgainIn: null, retry: false },
  });
  const dry = { policy: { ...defaultPolicy, dryRun: true } };
  const unclaimed = { memory: { ...memory, admission: null } };
  const refusedByCap = { memory: { ...memory, admission: { ...admitted, admitted: false } } };
  it.each([
    ['of a fence is entered in the ledger', ending('fenced', 'fenced'), 'conclude'],
    ['of a release, too', ending('released', 'released'), 'conclude'],
    ['of a fence that someone removed, too', ending('refused', 'fence-removed-by-hand'), 'conclude'],
    ['... or whose taint someone removed', ending('refused', 'taint-removed-by-hand'), 'conclude'],
    ['of a fence that was admitted and was not needed, too', ending('ignored', 'nothing-to-free'), 'conclude'],
    ['... but not if it was never asked for', { ...ending('ignored', 'nothing-to-free'), ...unclaimed }, 'finish'],
    ['... or not admitted', { ...ending('ignored', 'nothing-to-free'), ...refusedByCap }, 'finish'],
    ['of any other kind is not', ending('refused', 'opted-out'), 'record-events'],
    ['in a dry run is not', { ...ending('fenced', 'fenced'), ...dry }, 'finish'],
    ['is entered once', { ...ending('refused', 'fence-removed-by-hand'), concluded: true }, 'record-events'],
    ['is told once', { ...ending('refused', 'opted-out'), eventsRecorded: true }, 'finish'],
    ['without a Node is not told', { ...ending('refused', 'opted-out'), location: null }, 'finish'],
    ['... or entered', { ...ending('fenced', 'fenced'), location: null }, 'finish'],
  ] as const)('%s', (_, change, expected) => expect(next(change).do).toBe(expected));
});
