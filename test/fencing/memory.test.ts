import { describe, expect, it } from 'vitest';
import { applyStepResult } from '../../fencing/loop/apply-step.ts';
import { because } from '../../fencing/model/reason.ts';
import { reduce } from '../../fencing/loop/reduce.ts';
import { targetNode } from '../../fencing/rules/mark.ts';
import { startRun, type RunState, type Observation } from '../../fencing/loop/state.ts';
import { baselineLease, withClusterRead, withMachineRead } from '../../fencing/loop/reads.ts';
import type { ClusterFacts } from '../../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../../fencing/model/machine.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import {
  admitted,
  ago,
  alone,
  cluster,
  diskOf,
  incarnationsOf,
  machine,
  machineOf,
  marked,
  node,
  NOW,
  record,
  volume,
  volumeLeft,
} from './view-builder.ts';

const at = (mono: number) => ({ wall: NOW + mono, mono });
const read = (change: Partial<MachineFacts>, mono: number): Observation<MachineFacts> => ({
  value: machine(change),
  requestedAt: at(mono),
  receivedAt: mono,
});
const known: RunState = startRun({
  request: { machine: 'm-1', intent: 'fence', accepted: null, vouched: null },
  policy: defaultPolicy,
  identityRules: { name: 'a-cloud', machineOf, immutableIdsOf: incarnationsOf, unservedScope: () => null, diskOf },
  runId: 'run',
  deadline: 60_000,
});
const seenOff = withMachineRead(known, read({}, 0), at(0));

it('a run remembers nothing at first', () => {
  expect(known).toMatchObject({ steps: [], ending: null, memory: { takenAt: new Map(), declined: new Map() } });
});

it('two looks that say off confirm each other only for the same boot', () => {
  expect(withMachineRead(seenOff, read({}, 500), at(500)).memory.firstOff).toEqual({ ...at(0), generation: 'boot-1' });
  expect(withMachineRead(seenOff, read({ generation: 'boot-2' }, 500), at(500)).memory.firstOff).toEqual({
    ...at(500),
    generation: 'boot-2',
  });
  expect(withMachineRead(seenOff, read({ power: 'running' }, 500), at(500)).memory.firstOff).toBeNull();
});

it('a stop is timed from its first sight in that boot, and an answer without a power state does not reset that', () => {
  const stopping = withMachineRead(known, read({ power: 'stopping' }, 100), at(100));
  const first = { at: NOW + 100, generation: 'boot-1' };
  expect(withMachineRead(stopping, read({ power: 'stopping' }, 500), at(500)).memory.firstStopping).toEqual(first);
  expect(
    withMachineRead(stopping, read({ power: 'unknown', generation: null }, 500), at(500)).memory.firstStopping,
  ).toEqual(first);
  expect(withMachineRead(stopping, read({ power: 'running' }, 500), at(500)).memory.firstStopping).toBeNull();
  expect(
    withMachineRead(stopping, read({ power: 'stopping', generation: 'boot-2' }, 500), at(500)).memory.firstStopping,
  ).toEqual({ at: NOW + 500, generation: 'boot-2' });
});

it('an operation on a machine that is off does not count as its stop', () => {
  const stopping = withMachineRead(known, read({ power: 'stopping' }, 100), at(100));
  const busy = read({ power: 'stopping', offUnderOperation: true }, 500);
  expect(withMachineRead(known, busy, at(500)).memory.firstStopping).toBeNull();
  expect(withMachineRead(stopping, busy, at(500)).memory.firstStopping).toBeNull();
});

it('a survey is forgotten with each pause, so that a power-off never relies on an old one', () => {
  const counted: RunState = {
    ...seenOff,
    memory: { ...seenOff.memory, connectivity: { value: alone, requestedAt: 100 } },
  };
  const pause = {
    do: 'sleep',
    ms: 1_000,
    because: { code: 'unreachable-but-running', says: '' },
    until: null,
  } as const;
  expect(reduce(counted, pause, { to: 'sleep', polls: 0 }, at(1_500)).memory.connectivity).toBeNull();
});

it('the answer of the witnesses is forgotten with each look at the machine, so that it is never older', () => {
  const witnessed: RunState = { ...seenOff, memory: { ...seenOff.memory, witness: 'released' } };
  expect(
    withMachineRead(witnessed, read({ power: 'missing', generation: null }, 500), at(500)).memory.witness,
  ).toBeNull();
});

it('only a Lease that was requested after the machine was seen off is compared with later ones', () => {
  const unread = { lease: undefined, leaseSince: null };
  expect(baselineLease(known.memory, ago(0), at(500), 520)).toEqual(unread);
  expect(baselineLease(withMachineRead(known, read({}, 600), at(600)).memory, ago(0), at(500), 620)).toEqual(unread);
  expect(baselineLease(seenOff.memory, ago(0), at(500), 520)).toEqual({ lease: ago(0), leaseSince: 520 });
  const at500 = withMachineRead(known, read({}, 500), at(500));
  expect(baselineLease(at500.memory, ago(0), at500.memory.firstOff ?? at(0), 520)).toMatchObject({ lease: ago(0) });
  const first = { lease: ago(9), leaseSince: 100 };
  expect(baselineLease({ ...seenOff.memory, ...first }, ago(0), at(500), 520)).toEqual(first);
});

it('another boot of the machine resets the silence of its kubelet', () => {
  const watched: RunState = { ...seenOff, memory: { ...seenOff.memory, lease: ago(9), leaseSince: 100 } };
  const { memory } = withMachineRead(watched, read({ generation: 'boot-2' }, 500), at(500));
  expect([memory.lease, memory.leaseSince]).toEqual([undefined, null]);
});

it('the admission of the cap ends with the park: a taint that returns later in the same run needs a new one', () => {
  const claimed: RunState = { ...seenOff, memory: { ...seenOff.memory, admission: admitted } };
  const after = (step: 'note' | 'park') =>
    applyStepResult(
      claimed,
      { step: { do: step, node: targetNode(node()), record: record() }, because: because('fenced', '') },
      'done',
      at(500),
      at(500),
    ).memory.admission;
  expect([after('note'), after('park')]).toEqual([admitted, null]);
});

describe('what the cap has admitted', () => {
  const asked = (admittedBoot: string | null): RunState => ({
    ...known,
    memory: { ...known.memory, admission: admitted, admittedBoot },
  });

  it('is remembered with the boot that it is about', () => {
    const reservation = { machine: 'm-1', boot: 'boot-1', cap: defaultPolicy.cap, onlyAsked: false };
    const location = { cluster: 'a', node: 'node-a' };
    const reserve = { do: 'reserve', location, reservation, markToRecheck: null } as const;
    const { memory } = reduce(seenOff, reserve, { to: 'reserve', value: admitted, recheck: null }, at(500));
    expect(memory).toMatchObject({ admission: admitted, admittedBoot: 'boot-1' });
  });

  it.each<[string, Partial<MachineFacts>, string | null, boolean]>([
    ['this boot', {}, 'boot-1', true],
    ['another boot, whatever the read before has shown', {}, 'boot-0', false],
    ['a boot that the cloud did not name then', {}, null, false],
    ['a boot that the cloud does not name any more', { power: 'missing', generation: null }, 'boot-1', true],
    ['a generation that an operation has changed', { generationDrifts: true }, 'operation-1', true],
  ])('stays if it is for %s: %j, %s, %s', (_, change, admittedBoot, stays) => {
    const { memory } = withMachineRead(asked(admittedBoot), read(change, 500), at(500));
    expect(memory.admission).toEqual(stays ? admitted : null);
  });
});

describe('the fence that a person’s word is about', () => {
  const releasing: RunState = {
    ...known,
    request: { ...known.request, intent: 'release', accepted: 'checked' },
    memory: { ...known.memory, statedAt: 0 },
  };
  const look = (state: RunState, shown: ClusterFacts['node']): RunState =>
    withClusterRead(state, { value: cluster({ node: shown }), requestedAt: at(100), receivedAt: 100 }, at(100));
  const after = (...nodes: readonly ClusterFacts['node'][]): RunState => nodes.reduce(look, releasing);

  it.each([
    ['the tombstone', node({ label: 'run.1_removed_x', tombstone: { fence: 'run.1', boot: 'x' } })],
    ['the taint', node({ taintedFor: { fence: 'run.1', boot: 'boot' } })],
    ['the record', marked({ fence: 'run.1' }, { label: 'run.2', taintedFor: { fence: 'run.3', boot: 'boot' } })],
    ['the label', node({ label: 'run.1', strayRecord: record({ fence: 'run.2' }) })],
    ['what is left of the record', node({ strayRecord: record({ fence: 'run.1' }) })],
  ])('has its name from %s, and stays the first that this run sees', (_, shown) => {
    expect(after(shown).memory.firstFence).toBe('run.1');
    expect(after(shown, marked({ fence: 'run.9' })).memory.firstFence).toBe('run.1');
  });

  it('has no name if nothing names it, and stays without one', () => {
    expect(after(node(), marked({ fence: 'run.9' })).memory.firstFence).toBeNull();
    expect(after(null).memory.firstFence).toBeNull();
  });

  it('is not remembered by a run without such a statement', () => {
    expect(look(known, marked()).memory.firstFence).toBeUndefined();
  });
});

describe('the boot that a person’s statement means', () => {
  const vouching: RunState = {
    ...known,
    request: { ...known.request, vouched: 'pulled the plug' },
    memory: { ...known.memory, statedAt: 100 },
  };
  const look = (state: RunState, shown: ClusterFacts['node']): RunState =>
    withClusterRead(state, { value: cluster({ node: shown }), requestedAt: at(100), receivedAt: 100 }, at(100));
  const after = (...nodes: readonly ClusterFacts['node'][]) => nodes.reduce(look, vouching).memory.firstBoot;

  it('is the first that this run sees on the Node', () => {
    expect(after(node({ bootID: 'boot-a' }), node({ bootID: 'boot-b' }))).toBe('boot-a');
  });
  it('is none if there is no Node at first', () => expect(after(null, node())).toBeNull());
  it('is of no interest to another run', () => expect(look(known, node()).memory.firstBoot).toBeUndefined());

  const readAs = (state: RunState, generation: string | null): RunState =>
    withMachineRead(
      state,
      { value: machine({ power: 'suspended', generation }), requestedAt: at(100), receivedAt: 100 },
      at(100),
    );
  const named = (...generations: readonly (string | null)[]) =>
    generations.reduce(readAs, vouching).memory.firstGeneration;

  it('is also the first that the cloud names', () => {
    expect(named('boot-1', 'boot-2')).toBe('boot-1');
    expect(named('boot-1', null)).toBe('boot-1');
  });
  it('is none that the cloud names only later', () => {
    expect(named(null, 'boot-1')).toBeNull();
    expect(named(null)).toBeNull();
  });
  it('is of no interest to another run, whatever the cloud names', () => {
    expect(readAs(known, 'boot-1').memory.firstGeneration).toBeUndefined();
  });
});

describe('whether a person’s statement makes the machine count as off', () => {
  const accepting: RunState = { ...known, policy: { ...known.policy, vouching: 'accepted' } };
  const begins = (state: RunState): boolean =>
    withMachineRead(state, { value: machine({ power: 'suspended' }), requestedAt: at(100), receivedAt: 100 }, at(100))
      .memory.firstOff !== null;
  const vouched = record({ vouched: 'pulled the plug' });

  it.each<[string, RunState, boolean]>([
    ['the statement in the request', { ...known, request: { ...known.request, vouched: 'pulled the plug' } }, true],
    ['the statement in the record, if the configuration accepts it', { ...accepting, record: vouched }, true],
    ['the statement in the record, if the configuration does not accept it', { ...known, record: vouched }, false],
    ['no statement, with a record', { ...accepting, record: record() }, false],
    ['no statement, without a record', { ...accepting, record: null }, false],
  ])('%s: %s', (_, state, expected) => expect(begins(state)).toBe(expected));
});

describe('what a machine has left whose Node is gone', () => {
  const look = { value: cluster({ node: null, pods: [] }), requestedAt: at(100), receivedAt: 100 };
  const then = (...changes: readonly Partial<MachineFacts>[]) =>
    changes.reduce<RunState>(
      (state, change) => withMachineRead(state, read(change, 500), at(500)),
      withClusterRead(seenOff, look, at(100)),
    ).memory;
  const kept = { attachments: ['csi-1'], volumesLeft: [volumeLeft(volume())] };
  const searchedAgain = { attachments: null, volumesLeft: [] };

  it('is remembered during an operation on the machine, such as the detach of its disks', () => {
    const busy = { power: 'stopping', offUnderOperation: true } as const;
    expect(then(busy)).toMatchObject(kept);
    expect(then(busy, {})).toMatchObject(kept);
  });
  it('is remembered if each operation changes the generation', () => {
    expect(then({ generation: 'after a detach', generationDrifts: true })).toMatchObject(kept);
  });
  it.each<[string, Partial<MachineFacts>]>([
    ['is off after another boot', { generation: 'boot-2' }],
    ['stops', { power: 'stopping' }],
    ['runs, although each operation changes the generation', { power: 'running', generationDrifts: true }],
  ])('is searched again if the machine %s', (_, change) => expect(then(change)).toMatchObject(searchedAgain));
});

describe('a recheck of a Node that its own machine has registered again', () => {
  const anew = withClusterRead(
    seenOff,
    { value: cluster({ node: marked(), nameTaken: true }), requestedAt: at(100), receivedAt: 100 },
    at(100),
  );
  const step = { do: 'delete-pod', pod: { namespace: 'default', name: 'db-0', uid: 'pod-uid' } } as const;
  const seen = {
    uid: 'node-uid',
    recordText: marked().recordText,
    taints: { outOfService: true, ours: true, quarantine: true },
    lease: ago(20_000),
  };
  const after = (change: Partial<typeof seen>): RunState =>
    reduce(
      anew,
      { do: 'recheck', location: { cluster: 'one', node: 'node-a' }, node: 'node-a', step },
      { to: 'recheck', value: { ...seen, ...change }, requestedAt: at(200), step: 'key' },
      at(300),
    );

  it('clears the step if the Node is as it was read', () => expect(after({}).cleared).not.toBeNull());
  it('does not clear it if someone has removed the fence', () =>
    expect(after({ recordText: '{}' })).toMatchObject({ cleared: null, cluster: null }));
  it('reads the Lease, because it is that of the machine', () =>
    expect(after({ lease: ago(1) }).cluster?.value.lease).toBe(ago(1)));
});
