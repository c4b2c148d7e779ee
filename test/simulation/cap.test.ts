import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunState } from '../../fencing/loop/state.ts';
import { nextCommand } from '../../fencing/loop/next-command.ts';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { defaultPolicy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { FENCED_LABEL, RECORD_ANNOTATION } from '../../kubernetes/names.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { addBarePod } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { startMachine, stopMachine } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { stateOf } from './state.ts';
import { stepOn } from './walk.ts';
import { allOff, byEvents, fenceOne, freshId, MINUTE, momentOf, nodeOf, terminateMachine, type Zone } from './zone.ts';

/**
 * Many machines at once. The answers of the cloud, or Cloudfence itself, may be wrong, so only a share of the cluster
 * is fenced within a certain time.
 */

const LOOK_EVERY = 3;

const bySweeps = async ({ world }: Zone): Promise<readonly Outcome[]> =>
  (await sweep({ policy: defaultPolicy, deadline: world.now() + 4 * MINUTE, newRunId: freshId }, portsOver(world)))
    .outcomes;

/** When the fence of each machine ended, in minutes since the first. */
const fencedAt = async (
  zone: Zone,
  look: (zone: Zone) => Promise<readonly Outcome[]>,
  minutes: number,
): Promise<readonly number[]> => {
  const ended = new Map<string, number>();
  for (let past = 0; past < minutes; past += LOOK_EVERY) {
    for (const { machine, outcome, steps } of await look(zone))
      if (outcome === 'fenced' && steps.length > 0 && !ended.has(machine)) ended.set(machine, zone.world.now());
    zone.world.advance(LOOK_EVERY * MINUTE);
  }
  const times = [...ended.values()].sort((a, b) => a - b);
  return times.map((time) => Math.floor((time - (times[0] ?? 0)) / MINUTE));
};

const within = (times: readonly number[], from: number, to: number): number =>
  times.filter((time) => time >= from && time < to).length;

describe.each([
  ['by events', byEvents],
  ['by sweeps', bySweeps],
])('nine of nine machines off at once, %s', (_, look) => {
  it.each([
    [
      'nine stopped Nodes that stay: four within fifteen minutes, four in the next, then the last',
      stopMachine,
      [4, 4, 1],
    ],
    [
      'nine terminated Nodes that their fences delete: four of nine, two of five, one of three',
      terminateMachine,
      [4, 2, 1],
    ],
  ])('%s', async (_, end, expected) => {
    const zone = allOff(9, end);
    const times = await fencedAt(zone, look, 45);
    expect([within(times, 0, 15), within(times, 15, 30), within(times, 30, 45)]).toEqual(expected);
    expect(stateOf(zone.world).violations).toEqual([]);
  });
});

it('machines whose Nodes are gone count for the cap as well: five of the eleven Nodes that are left', async () => {
  const zone = allOff(20, stopMachine, 9);
  for (const machine of zone.machines) {
    const node = getObject(zone.world, 'nodes', nodeOf(zone.world, machine));
    if (node) writerAs(zone.world, 'person').remove('nodes', node);
  }
  expect(await fencedAt(zone, byEvents, 12)).toHaveLength(5);
});

it('a fence that was released within the window still counts', async () => {
  const zone = allOff(9);
  const { world, machines } = zone;
  for (let times = 0; times < 4; times += 1) await byEvents(zone);
  const fenced = machines.filter((machine) =>
    stateOf(world).nodes.some((line) => line.startsWith(nodeOf(world, machine)) && line.includes('labelled')),
  );
  expect(fenced).toHaveLength(4);
  for (const machine of fenced) startMachine(world, machine);
  world.advance(90_000);
  for (const machine of fenced) expect(await fenceOne(world, machine)).toMatchObject({ outcome: 'released' });
  for (const machine of machines.filter((one) => !fenced.includes(one)))
    expect(await fenceOne(world, machine)).toMatchObject({ outcome: 'refused', reason: { code: 'cap-reached' } });
});

it('the one machine of a small cluster is fenced again after a restart, because it counts only once', async () => {
  const { world, machines } = allOff(2, stopMachine, 1);
  const [machine = ''] = machines;
  expect(await fenceOne(world, machine)).toMatchObject({ outcome: 'fenced' });
  startMachine(world, machine);
  world.advance(90_000);
  expect(await fenceOne(world, machine)).toMatchObject({ outcome: 'released' });
  addBarePod(world, { name: 'another', spec: { nodeName: nodeOf(world, machine) } });
  settle(world);
  stopMachine(world, machine);
  world.advance(30_000);
  const outcome = await fenceOne(world, machine);
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  expect(outcome.steps[0]).toMatchObject({ step: 'mark' });
});

describe('work that comes back to a parked Node', () => {
  const bindLate = ({ world, machines: [machine = ''] }: Zone): void =>
    void addBarePod(world, { name: 'late', spec: { nodeName: nodeOf(world, machine) } });
  /** The first machine is fenced, and this many others follow after a while. */
  const parked = async (minutes: number, others: number): Promise<Zone> => {
    const zone = allOff(9);
    const [first = '', ...rest] = zone.machines;
    expect(await fenceOne(zone.world, first)).toMatchObject({ outcome: 'fenced' });
    zone.world.advance(minutes * MINUTE);
    for (const machine of rest.slice(0, others))
      expect(await fenceOne(zone.world, machine)).toMatchObject({ outcome: 'fenced' });
    bindLate(zone);
    return zone;
  };

  it('needs no reservation while the previous one of its machine still counts', async () => {
    const { world, machines } = await parked(1, 3);
    const outcome = await fenceOne(world, machines[0] ?? '');
    expect(outcome).toMatchObject({
      outcome: 'fenced',
      steps: expect.arrayContaining([expect.objectContaining({ step: 'mark' })]),
    });
    expect(await fenceOne(world, machines[4] ?? '')).toMatchObject({
      outcome: 'refused',
      reason: { code: 'cap-reached' },
    });
  });

  it('needs another reservation once the previous one has left the window, and waits until there is room', async () => {
    const { world, machines } = await parked(16, 4);
    const before = stateOf(world).nodes;
    expect(await fenceOne(world, machines[0] ?? '')).toMatchObject({
      outcome: 'refused',
      reason: { code: 'cap-reached' },
      steps: [],
    });
    expect(stateOf(world).nodes).toEqual(before);
    world.advance(15 * MINUTE);
    const outcome = await fenceOne(world, machines[0] ?? '');
    expect(outcome).toMatchObject({
      outcome: 'fenced',
      steps: expect.arrayContaining([expect.objectContaining({ step: 'mark' })]),
    });
    expect(stateOf(world).violations).toEqual([]);
  });

  it('counts for the other machines: only a limited number is fenced within the window', async () => {
    const zone = await parked(16, 3);
    expect(await fenceOne(zone.world, zone.machines[0] ?? '')).toMatchObject({ outcome: 'fenced' });
    expect(await fenceOne(zone.world, zone.machines[4] ?? '')).toMatchObject({
      outcome: 'refused',
      reason: { code: 'cap-reached' },
    });
  });
});

describe('runs that reach the cap at the same time', () => {
  const labelled = (world: AwsWorld): number => stateOf(world).nodes.filter((line) => line.includes('labelled')).length;

  it('begin only as many fences as the cap allows', async () => {
    const { world, machines } = allOff(9);
    const outcomes = await Promise.all(
      machines.map((machine) => fenceOne(world, machine, { cap: { share: 0.49, atOnce: 1 } })),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'fenced')).toHaveLength(4);
    expect(outcomes.filter(({ reason }) => reason.code === 'cap-reached')).toHaveLength(5);
    expect(labelled(world)).toBe(4);
  });

  it('begin one fence, in every order of their calls, if there are two runs', async () => {
    const { world: untouched, machines } = allOff(2);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 1 }), { maxLength: 20 }), async (order) => {
        const world = untouched.fork();
        const runs: RunState[] = machines.map((machine) =>
          freshRun(world, portsOver(world), { machine, runId: machine }),
        );
        const stepOf = async (which: number): Promise<boolean> => {
          const known = runs[which];
          const command = known && nextCommand(known, momentOf(world));
          if (!known || !command || command.do === 'finish') return false;
          runs[which] = await stepOn(known, command, portsOver(world));
          return true;
        };
        for (const which of order) await stepOf(which);
        for (const which of [0, 1]) while (await stepOf(which));
        expect(labelled(world)).toBe(1);
      }),
      { numRuns: 40, seed: 5 },
    );
  });

  it('continue after they were killed and delivered again if they were admitted, and only then', async () => {
    const { world, machines } = allOff(9);
    const policy = { cap: { share: 0.49, atOnce: 1 } };
    const killed = async (machine: string): Promise<void> => {
      let known = freshRun(world, portsOver(world), { machine, policy, runId: `killed-${machine}` });
      for (
        let command = nextCommand(known, momentOf(world));
        command.do !== 'finish' && !known.memory.admission;
        command = nextCommand(known, momentOf(world))
      )
        known = await stepOn(known, command, portsOver(world));
    };
    for (const machine of machines) await killed(machine);
    expect(labelled(world)).toBe(0);
    world.advance(30_000);
    for (const machine of machines.toReversed()) await fenceOne(world, machine, policy);
    expect(stateOf(world).nodes.map((line) => line.includes('labelled'))).toEqual(machines.map((_, at) => at < 4));
  });
});

it('a fence on a Node does not count by itself: a forged fence of the year 9999 uses no place of the cap', async () => {
  const { world, machines } = allOff(9, stopMachine, 1);
  const [machine = ''] = machines;
  const forged = {
    version: 1,
    fence: 'f',
    phase: 'fencing',
    cloud: 'aws',
    machine: 'i-forged',
    generation: null,
    node: 'n',
    nodeUid: 'u',
    bootID: 'b',
    lease: null,
    outOfService: 'ours',
    begun: '9999-01-01T00:00:00.000Z',
    released: null,
    vouched: null,
    evidence: {},
    volumes: [],
    pods: [],
  };
  for (const node of listObjects(world, 'nodes').filter(({ metadata }) => metadata.name !== nodeOf(world, machine))) {
    writerAs(world, 'kubelet').change('nodes', node, (draft) => {
      draft.metadata.annotations = { ...draft.metadata.annotations, [RECORD_ANNOTATION]: JSON.stringify(forged) };
      draft.metadata.labels = { ...draft.metadata.labels, [FENCED_LABEL]: 'forged.1' };
    });
  }
  expect(await fenceOne(world, machine)).toMatchObject({ outcome: 'fenced' });
});
