import { describe, expect, it } from 'vitest';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import { emptyMemory, type RunState, startRun } from '../../fencing/loop/state.ts';
import { defaultPolicy, timing } from '../../fencing/model/policy.ts';
import { because } from '../../fencing/model/reason.ts';
import type { Memory, Moment } from '../../fencing/rules/view.ts';
import {
  admitted,
  ago,
  attachment,
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

/** The next command of a run, for each thing that it may or may not know. */

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
    [
      'at the machine first, because it does not know its cluster',
      { location: null, machine: null },
      look({ machine: true }),
    ],
    ['for the Node of the machine in all clusters', { location: null }, { do: 'locate', facts: machine() }],
    [
      'at the machine and the cluster at first',
      { machine: null, cluster: null },
      look({ machine: true, cluster: true }),
    ],
    ['at the cluster if only that is unknown', { cluster: null }, look({ cluster: true })],
    [
      'at the cluster alone until it knows to which fence a person’s statement applies',
      { machine: null, cluster: null, request: { ...request, intent: 'release', accepted: 'I looked' } },
      look({ cluster: true }),
    ],
    [
      'at both if it knows that the Node had no fence',
      {
        machine: null,
        cluster: null,
        request: { ...request, intent: 'release', accepted: 'I looked' },
        memory: { ...memory, firstFence: null },
      },
      look({ machine: true, cluster: true }),
    ],
    [
      'at the cluster again after a step, if the next step is not known',
      {
        ...facts({ pods: [], volumes: [], node: marked() }),
        memory: { ...memory, sinceLook: new Set(['x']) },
        ...read(0, 0, machine({ power: 'unknown' })),
      },
      look({ cluster: true }),
    ],
    [
      'at the machine alone, without its disks, if our mark may be younger than the read that would lift it',
      {
        ...facts({ node: marked() }),
        ...read(0, 0, machine({ power: 'running' })),
        memory: { ...memory, markIsNew: true },
      },
      look({ machine: true, disks: false }),
    ],
    [
      'for all attachments in the list if no volume explains a disk',
      facts({ volumes: [] }),
      look({ cluster: true, search: true }),
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change)).toEqual(expected));

  const sinceLook = (...steps: readonly string[]) => ({ memory: { ...memory, sinceLook: new Set(steps) } });
  const parked = facts({
    pods: [],
    volumes: [],
    node: marked({ phase: 'fenced', released: ago(0) }, { taints: PARKED, taintedFor: null }),
  });
  const free = read(0, 0, machine({ disks: [] }));
  it.each([
    ['no more once the fence is parked', sinceLook('park node-uid'), { do: 'end', ending: { outcome: 'fenced' } }],
    [
      'again after the park if that was not the only step',
      sinceLook('park node-uid', 'nudge a on'),
      look({ cluster: true }),
    ],
    [
      'again after the park if the fence has not ended',
      { ...sinceLook('park node-uid'), ...read(0, 0, machine({ power: 'unknown' })) },
      look({ cluster: true }),
    ],
    [
      'again after the park if the machine may resume',
      { ...sinceLook('park node-uid'), ...read(0, 0, machine({ power: 'suspended' })) },
      look({ cluster: true }),
    ],
    [
      'again before a step that changes the Node',
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
    [
      'no more before it waits for the attachments of the pods that it deleted',
      sinceLook('mark node-uid', deleted),
      awaits,
    ],
    ['no more before that wait, even if it had to fail a pod first', sinceLook(failed, deleted), awaits],
    ['no more before that wait, if it remembers the deletion of the pod', justDeleted, awaits],
    [
      'again if the attachments are gone and only disks are left',
      { ...sinceLook(deleted), ...facts({ node: marked(), volumes: [volume({ attachment: null })] }) },
      look({ cluster: true }),
    ],
    ['again if it also deleted pods before', earlier, look({ cluster: true })],
    ['again if a delete was declined', declined, look({ cluster: true })],
    ['again if it took any other step', sinceLook(deleted, 'note node-uid'), look({ cluster: true })],
    ['again before any step', { ...sinceLook(deleted), ...facts({ node: marked(), volumes: [] }) }, { do: 'look' }],
  ] as const)('%s', (_, change, expected) => expect(next({ ...marks, ...change })).toMatchObject(expected));

  it.each([
    ['at the machine when its facts are 1.5 s old', 1_500, {}, look({ machine: true })],
    ['at nothing while the facts of the machine are younger than 1.5 s', 1_499, read(400, 0), { do: 'recheck' }],
    [
      'at the cluster when its facts are too old',
      timing.clusterFacts,
      read(timing.clusterFacts, timing.clusterFacts),
      look({ cluster: true }),
    ],
    [
      'at nothing while the answer about the cluster is young enough, even if the request is too old',
      timing.clusterFacts,
      {
        ...read(timing.clusterFacts, timing.clusterFacts),
        cluster: { value: cluster(), requestedAt: at(0), receivedAt: 1 },
      },
      { do: 'recheck' },
    ],
    [
      'at nothing if the cluster was read in less than 30 s',
      timing.clusterRead,
      {
        ...read(timing.clusterRead, timing.clusterRead),
        cluster: { value: cluster(), requestedAt: at(1), receivedAt: timing.clusterRead },
      },
      { do: 'recheck' },
    ],
    [
      'at the cluster if reading it took 30 s, because the process was frozen',
      timing.clusterRead,
      {
        ...read(timing.clusterRead, timing.clusterRead),
        cluster: { value: cluster(), requestedAt: at(0), receivedAt: timing.clusterRead },
      },
      look({ cluster: true }),
    ],
    [
      'at nothing while the facts of the cluster are young enough',
      timing.clusterFacts - 1,
      read(timing.clusterFacts - 1, timing.clusterFacts - 1),
      { do: 'recheck' },
    ],
  ] as const)('%s', (_, mono, change, expected) => expect(next(change, mono)).toMatchObject(expected));
});

describe('a step', () => {
  it('that destroys something is rechecked first, and then sent with what is left of the proof', () => {
    expect(next()).toMatchObject({ do: 'recheck', node: 'node-a', location: { cluster: 'a' }, step: { do: 'mark' } });
    expect(next({ cleared: { step: 'another step', at: 0 } })).toMatchObject({ do: 'recheck' });
    expect(next({ cleared: { step: 'mark node-uid', at: 0 }, ...read(50, 60) })).toMatchObject({
      do: 'act',
      step: { do: 'mark' },
      expires: 50 + PROOF_MS,
    });
  });

  it('that destroys something is sent with others only after a young recheck, which also clears the next step', () => {
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

  it('is not rechecked if there never was a Node', () => {
    expect(next({ ...facts({ node: null, nodeName: null }) })).toMatchObject({ do: 'act', step: { do: 'delete-pod' } });
    expect(next({ ...facts({ node: null }) })).toMatchObject({
      do: 'recheck',
      node: 'node-a',
      step: { do: 'delete-pod' },
    });
  });

  it.each([
    ['a new proof', {}, 1_499, 'recheck'],
    ['a proof that is 1.5 s old', {}, 1_500, 'look'],
    ['a proof that was renewed for it, before 1.8 s', { proofRenewed: true }, 1_799, 'recheck'],
    ['a renewed proof that is 1.8 s old', { proofRenewed: true }, 1_800, 'look'],
    [
      'a renewed proof, after the recheck',
      { proofRenewed: true, cleared: { step: 'mark node-uid', at: 0 } },
      1_999,
      'act',
    ],
    [
      'a renewed proof that is 2 s old',
      { proofRenewed: true, cleared: { step: 'mark node-uid', at: 0 } },
      2_000,
      'look',
    ],
    ['a proof that is 1.5 s old, after the recheck', { cleared: { step: 'mark node-uid', at: 0 } }, 1_500, 'look'],
  ])('needs a proof that is young enough: %s', (_, change, mono, expected) => {
    const command = next({ ...read(0, 1_000), ...change }, mono);
    expect(command.do).toBe(expected);
    if (command.do === 'look') expect(command).toEqual(look({ machine: true, disks: false }));
  });

  it.each([
    [
      'waits if the cloud answers too slowly',
      { proofRenewed: true, ...read(0, 1_800) },
      { do: 'sleep', ms: 2_000, because: { code: 'unavailable', says: expect.stringContaining(' 1800 ms') } },
    ],
    [
      'does not wait if the age of the answer, counted from its request, is just small enough',
      { proofRenewed: true, ...read(1, 1_800), cleared: { step: 'another step', at: 0 } },
      { do: 'recheck' },
    ],
    ['waits only after a second slow answer', read(0, 1_800), look({ machine: true, disks: false })],
    [
      'is not sent if the cloud answers too slowly and the run has no time left',
      { proofRenewed: true, deadline: 3_800, ...read(0, 1_800) },
      end,
    ],
  ])('%s', (_, change, expected) => expect(next(change, 1_800)).toMatchObject(expected));

  it('that is waited for may use all the time of the run', () => {
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

  it('counts the age of a proof from the request', () => {
    expect(next({ proofRenewed: true, ...read(900, 2_000) }, 2_700)).toEqual(look({ machine: true, disks: false }));
  });

  it('that only removes what Cloudfence wrote needs no proof', () => {
    const running = machine({ power: 'running' });
    expect(next({ ...facts({ node: marked() }), ...read(0, 1_000, running) }, 1_900)).toMatchObject({
      do: 'act',
      step: { do: 'lift-out-of-service' },
      expires: 1_900 + PROOF_MS,
    });
    const back = marked({ phase: 'fenced', released: ago(600_000) }, { bootID: 'boot-b', taints: PARKED });
    const returned = {
      ...facts({ node: back, pods: [], volumes: [], lease: ago(1_000) }),
      ...read(0, 1_000, machine({ power: 'running', generation: 'boot-2', disks: [] })),
    };
    expect(next(returned, 1_900)).toMatchObject({ do: 'act', step: { do: 'release-node' }, expires: 1_900 + PROOF_MS });
  });
});

describe('whether a step is sent or only imagined', () => {
  const shadow = { policy: { ...defaultPolicy, shadow: true } };
  const dryRun = { policy: { ...defaultPolicy, dryRun: true } };
  const lift = { ...facts({ node: marked() }), ...read(0, 0, machine({ power: 'running' })) };
  const imagined = [
    { step: 'note', target: 'x', because: because('off-proven', ''), at: NOW, ms: 0, result: 'dry-run', message: null },
  ] as const;
  it.each([
    ['a dry run imagines it', dryRun, 'imagine'],
    ['a dry run imagines it even if it only removes what Cloudfence wrote', { ...dryRun, ...lift }, 'imagine'],
    [
      'a dry run in shadow mode imagines it even if it only removes what Cloudfence wrote',
      { policy: { ...defaultPolicy, dryRun: true, shadow: true }, ...lift },
      'imagine',
    ],
    ['shadow mode imagines it', shadow, 'imagine'],
    ['shadow mode sends it if it only removes what Cloudfence wrote', { ...shadow, ...lift }, 'act'],
    [
      'shadow mode imagines it if it follows from an imagined step',
      { ...shadow, ...lift, memory: { ...memory, sinceLook: new Set(['x']) }, steps: imagined },
      'imagine',
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change).do).toBe(expected));
});

it('shadow mode removes our taint when its work is done, and only imagines any other park', () => {
  const shadow = { policy: { ...defaultPolicy, shadow: true }, ...read(0, 0, machine({ disks: [] })) };
  const free = { pods: [], volumes: [] };
  const unfinished = marked({ phase: 'fencing', released: ago(1_000) });
  expect(next({ ...shadow, ...facts({ ...free, node: marked() }) })).toMatchObject({ do: 'act', step: { do: 'park' } });
  expect(next({ ...shadow, ...facts({ ...free, node: unfinished }) })).toMatchObject({
    do: 'imagine',
    step: { do: 'park' },
  });
});

describe('the end of a dry run', () => {
  const steps = [
    { step: 'note', target: 'x', because: because('off-proven', ''), at: NOW, ms: 0, result: 'dry-run', message: null },
  ] as const;
  const free = { pods: [], volumes: [] };
  const done = {
    ...facts({ ...free, node: marked({ phase: 'fenced', released: ago(1_000) }) }),
    ...read(0, 0, machine({ disks: [] })),
  };
  it.each([
    ['is would-fence if steps were imagined', { ...done, steps }, 'would-fence'],
    ['is fenced if no step was imagined', done, 'fenced'],
    [
      'is would-fence after imagined steps, even for a release',
      { request: { ...request, intent: 'release' }, steps },
      'would-fence',
    ],
    ['is released if no step was imagined', { request: { ...request, intent: 'release' } }, 'released'],
    [
      'is refused if the fence is refused, whatever was imagined',
      { ...read(0, 0, machine({ power: 'unknown' })), steps },
      'refused',
    ],
  ] as const)('%s', (_, change, outcome) => expect(next(change)).toMatchObject({ do: 'end', ending: { outcome } }));
});

describe('a wait', () => {
  const stopping = read(0, 0, machine({ power: 'stopping', since: NOW - 1_000 }));
  const ms = timing.pollShortest;
  it.each([
    ['is a pause of the run', {}, { do: 'sleep', ms, because: { code: 'stopping' } }],
    [
      'ends the run if it lasts until the deadline',
      { deadline: 100 + ms },
      { do: 'end', ending: { outcome: 'waiting', reason: { code: 'stopping' }, lookAgainIn: ms, retry: false } },
    ],
    ['does not end the run if it ends a moment before the deadline', { deadline: 101 + ms }, { do: 'sleep' }],
    [
      'ends a run that returns such waits to its caller',
      { handsOver: new Set(['stopping'] as const) },
      { do: 'end', ending: { outcome: 'waiting' } },
    ],
  ] as const)('%s', (_, change, expected) => expect(next({ ...stopping, ...change })).toMatchObject(expected));

  const pending = { outcome: 'waiting', reason: because('stopping', 'it stops'), ms: 700 } as const;
  it.each([
    ['continues until its end', { resumeAt: 400, pending }, { do: 'sleep', ms: 300, because: { code: 'stopping' } }],
    ['is over at its end', { resumeAt: 100, pending }, { do: 'recheck' }],
    ['has a reason even if the run knows none', { resumeAt: 400 }, { because: { code: 'unexpected', says: 'paused' } }],
    [
      'ends the run if it lasts until the deadline',
      { resumeAt: 400, pending, deadline: 400 },
      { do: 'end', ending: { outcome: 'waiting', lookAgainIn: 700 } },
    ],
    ['is slept out if the deadline is just after it', { resumeAt: 400, pending, deadline: 401 }, { do: 'sleep' }],
    [
      'ends a run that returns such waits to its caller',
      { resumeAt: 400, pending, handsOver: new Set(['stopping'] as const) },
      { do: 'end', ending: { outcome: 'waiting' } },
    ],
    [
      'does not end such a run if it is the pause after a failure',
      { resumeAt: 400, pending: { ...pending, outcome: 'failed' }, handsOver: new Set(['stopping'] as const) },
      { do: 'sleep' },
    ],
    [
      'after a failure ends at the deadline, and the run fails',
      { deadline: 100, pending: { ...pending, outcome: 'failed' } },
      { do: 'end', ending: { outcome: 'failed', lookAgainIn: null, retry: true } },
    ],
    [
      'ends at the deadline, even if the run knows no reason',
      { deadline: 100 },
      { do: 'end', ending: { outcome: 'waiting', reason: { code: 'not-fenced' }, lookAgainIn: 1_000 } },
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change)).toMatchObject(expected));
});

describe('a request', () => {
  it.each([
    [
      'to the ledger reserves a place',
      { memory: { ...memory, admission: null } },
      {
        do: 'reserve',
        location: { cluster: 'a' },
        reservation: { machine: 'm-1', boot: 'boot-1', cap: defaultPolicy.cap, onlyAsked: false },
        markToRecheck: { node: 'node-a', step: 'mark node-uid' },
      },
    ],
    [
      'to the ledger reserves no place in a dry run',
      { memory: { ...memory, admission: null }, policy: { ...defaultPolicy, dryRun: true } },
      { reservation: { onlyAsked: true }, markToRecheck: null },
    ],
    [
      'to the ledger reserves no place in shadow mode',
      { memory: { ...memory, admission: null }, policy: { ...defaultPolicy, shadow: true } },
      { reservation: { onlyAsked: true } },
    ],
    [
      'to the disks asks whether one of them names the machine',
      {
        ...read(0, 0, machine({ power: 'missing', generation: null, disks: [] })),
        ...facts({ lease: ago(90_000) }),
        memory: { ...memory, lease: ago(90_000) },
      },
      { do: 'witness', disks: ['disk-1'] },
    ],
    [
      'to the other Nodes asks which of them are unreachable',
      {
        ...read(0, 0, machine({ power: 'running', since: NOW - 3_600_000 })),
        ...facts({ node: node({ ready: 'Unknown', readySince: NOW - 3_600_000 }) }),
        policy: { ...defaultPolicy, unreachable: 'power-off' },
      },
      { do: 'survey-connectivity', node: 'node-a' },
    ],
    [
      'to the other Nodes is sent even if the name of the Node is unknown',
      {
        ...read(0, 0, machine({ power: 'running', since: NOW - 3_600_000 })),
        ...facts({ nodeName: null, node: node({ ready: 'Unknown', readySince: NOW - 3_600_000 }) }),
        policy: { ...defaultPolicy, unreachable: 'power-off' },
      },
      { do: 'survey-connectivity', node: '' },
    ],
  ] as const)('%s', (_, change, expected) => expect(next(change)).toMatchObject(expected));
});

describe('the end of a run', () => {
  const done = facts({ node: marked({ phase: 'fenced', released: ago(1_000) }), pods: [], volumes: [] });
  const off = read(0, 0, machine({ disks: [] }));
  it.each([
    ['is the decision', { ...done, ...off }, { outcome: 'fenced', retry: false, lookAgainIn: null }],
    [
      'asks for a retry after a failure',
      {
        ...facts({ node: marked({ released: ago(1_000) }), volumes: [volume({ attachment: null })], pods: [] }),
        memory: { ...memory, declined: new Map([['detach-disk m-1 disk-1 plain', 'no']]) },
      },
      { outcome: 'failed', retry: true },
    ],
    [
      'asks for another look when the cap has room again',
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
    ['with a fence is written into the ledger', ending('fenced', 'fenced'), 'conclude'],
    ['with a release is written into the ledger', ending('released', 'released'), 'conclude'],
    [
      'because someone removed the fence is written into the ledger',
      ending('refused', 'fence-removed-by-hand'),
      'conclude',
    ],
    [
      'because someone removed its taint is written into the ledger',
      ending('refused', 'taint-removed-by-hand'),
      'conclude',
    ],
    [
      'without a fence is written into the ledger if the cap had admitted one',
      ending('ignored', 'nothing-to-free'),
      'conclude',
    ],
    [
      'because nothing is left is written into the ledger, even if the cap was never asked',
      { ...ending('ignored', 'no-node'), ...unclaimed },
      'conclude',
    ],
    [
      'without a fence is not written into the ledger if the cap was never asked',
      { ...ending('ignored', 'nothing-to-free'), ...unclaimed },
      'finish',
    ],
    [
      'without a fence is not written into the ledger if the cap did not admit one',
      { ...ending('ignored', 'nothing-to-free'), ...refusedByCap },
      'finish',
    ],
    ['with any other refusal is not written into the ledger', ending('refused', 'opted-out'), 'record-events'],
    ['in a dry run is not written into the ledger', { ...ending('fenced', 'fenced'), ...dry }, 'finish'],
    [
      'is written into the ledger only once',
      { ...ending('refused', 'fence-removed-by-hand'), concluded: 1 },
      'record-events',
    ],
    ['is recorded in Events only once', { ...ending('refused', 'opted-out'), eventsRecorded: true }, 'finish'],
    ['without a Node is not recorded in Events', { ...ending('refused', 'opted-out'), location: null }, 'finish'],
    ['without a Node is not written into the ledger', { ...ending('fenced', 'fenced'), location: null }, 'finish'],
  ] as const)('%s', (_, change, expected) => expect(next(change).do).toBe(expected));

  const waiting = (code: 'attachments-going' | 'pods-going' | 'disks-going') => ({
    ending: { outcome: 'waiting', reason: because(code, ''), lookAgainIn: 1_000, retry: false } as const,
  });
  const failing = (code: 'step-refused' | 'unavailable' | 'name-reused') => ({
    ending: { outcome: 'failed', reason: because(code, ''), lookAgainIn: null, retry: true } as const,
    eventsRecorded: true,
  });
  const reused = { node: null, nameTaken: true, pods: [], volumes: [volume({ nameTaken: true })] };
  const leaving = volume({ attachment: attachment({ deletingSince: NOW - 1_000 }) });
  const left = { ...read(0, 0, machine({ disks: [] })), ...facts({ node: marked(), pods: [], volumes: [leaving] }) };
  it.each([
    ['for an attachment that its attacher has to release', { ...left, ...waiting('attachments-going') }, 'conclude'],
    ['for a pod that finalizers keep', { ...left, ...waiting('pods-going') }, 'conclude'],
    ['for a detach', { ...left, ...waiting('disks-going') }, 'finish'],
    ['for a pod, before the mark', { ...left, ...facts({ node: node() }), ...waiting('pods-going') }, 'finish'],
    ['for a pod', { ...left, ...facts({ node: marked(), volumes: [leaving] }), ...waiting('pods-going') }, 'finish'],
    ['for something that this run has not read', { ...left, cluster: null, ...waiting('attachments-going') }, 'finish'],
    ['in a dry run', { ...left, ...dry, ...waiting('attachments-going') }, 'finish'],
    ['once its place is given back', { ...left, ...waiting('attachments-going'), concluded: 1 }, 'finish'],
    ['while steps are rejected', { ...left, ...failing('step-refused') }, 'conclude'],
    ['because the mark is rejected', { ...left, ...facts({ node: node() }), ...failing('step-refused') }, 'conclude'],
    ['while a pod is left', { ...left, ...facts({ node: marked() }), ...failing('step-refused') }, 'finish'],
    [
      'while the machine runs',
      { ...left, ...failing('step-refused'), memory: { ...memory, firstOff: null } },
      'finish',
    ],
    ['because the cloud does not answer', { ...left, ...facts({ node: node() }), ...failing('unavailable') }, 'finish'],
    ['because its Node name is in use again', { ...left, ...facts(reused), ...failing('name-reused') }, 'conclude'],
  ])('gives its place under the cap back if it waits for others: %s', (_, change, expected) =>
    expect(next(change).do).toBe(expected),
  );

  const named = read(0, 0, machine({ generation: 'boot-3' }));
  const reserved = { memory: { ...memory, admittedBoot: 'boot-2' } };
  const drifts = { generationDrifts: true };
  const fencedAgain = { ...ending('fenced', 'fenced'), machine: null, record: record({ generation: 'boot-1' }) };
  it.each([
    ['was reserved', reserved, 'boot-2'],
    ['is in the record of a fence that another run has reserved', unclaimed, 'boot-1'],
    ['was released', { ...ending('released', 'released'), endedBoot: 'boot-0' }, 'boot-0'],
    ['was released, also if nothing named it', { ...ending('released', 'released'), ...named, endedBoot: null }, null],
    [
      'the cloud names, if the record is of another machine',
      { record: record({ machine: 'm-2' }), ...named },
      'boot-3',
    ],
    ['is not known, if nothing names it', { record: null }, null],
    ['is not known, if a detach has renamed it', { ...unclaimed, record: record({ ...drifts }) }, null],
    ['is not known, if the cloud names it by an operation', { ...reserved, ...read(0, 0, machine(drifts)) }, null],
  ])('ends only the reservation of the boot that %s', (_, change, boot) =>
    expect(next({ ...fencedAgain, ...unclaimed, ...change })).toMatchObject({ do: 'conclude', boot }),
  );

  it('ends the reservations of both boots of a fence that was moved to the present boot', () => {
    const moved = { ...fencedAgain, endedBoot: 'boot-0' };
    expect(next({ ...moved, concluded: 0 })).toMatchObject({ do: 'conclude', boot: 'boot-0' });
    expect(next({ ...moved, concluded: 1 })).toMatchObject({ do: 'conclude', boot: 'boot-1' });
    expect(next({ ...moved, concluded: 2 }).do).not.toBe('conclude');
  });

  it('does not end a reservation of the boot in which the machine runs after a release', () => {
    const released = { ...ending('released', 'released'), ...named, record: null, endedBoot: 'boot-0' };
    expect(next({ ...released, concluded: 0 })).toMatchObject({ do: 'conclude', boot: 'boot-0' });
    expect(next({ ...released, concluded: 1 }).do).not.toBe('conclude');
  });
});
