import { expect, it } from 'vitest';
import type { Outcome } from '../../fencing/model/outcome.ts';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { sweep } from '../../fencing/sweep/sweep.ts';
import { createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import { change, start } from '../../sandbox/ec2/instances.ts';
import { shutdownTakes, stopOutOfBand } from '../../sandbox/ec2/scenario.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { addMachine, databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { fence } from './ends.ts';
import type { Incident } from './incidents.ts';
import { freshRun, portsOver } from './ports.ts';
import { stepOn, walk, type CommandMoment } from './walk.ts';

/** EC2 stops a machine by itself and gives no time. The shutdown hangs, and no run lasts for ten minutes. */

const MINUTE = 60_000;
const LABEL = 'cloudfence.node-restriction.kubernetes.io/stopping';
const powerOff = { unreachable: 'power-off' } as const;

const hung = (): Incident => {
  const world = createAwsSandbox({ seed: 5, now: Date.UTC(2026, 0, 1) });
  const scene = databaseOnTwoNodes(world);
  addMachine(world);
  settle(world);
  world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
  shutdownTakes(world, scene.holder, null);
  stopOutOfBand(world, scene.holder, 'Server.ScheduledStop');
  return { world, scene };
};

const noted = ({ world, scene }: Incident): string | null =>
  getObject(world, 'nodes', scene.nodeOf(scene.holder))?.metadata.labels?.[LABEL] ?? null;
const look = (incident: Incident, policy: Partial<Policy> = powerOff): Promise<Outcome> =>
  fence(incident, { policy, lasts: 10_000 });
const events = ({ world }: Incident) => listObjects(world, 'events').map(({ reason }) => reason);
const sweepOnce = async ({ world }: Incident): Promise<readonly string[]> => {
  const runOptions = { policy: defaultPolicy, deadline: world.now() + MINUTE, newRunId: () => `sweep-${world.now()}` };
  return (await sweep(runOptions, portsOver(world))).outcomes.map(({ reason }) => reason.code);
};
const waits = (code: string) => ({ outcome: 'waiting', reason: { code } });

/** The moments before each command of a first run. */
const crossingsOf = async ({ world, scene }: Incident): Promise<readonly CommandMoment[]> =>
  (
    await walk(
      world.fork(),
      freshRun(world, portsOver(world), { machine: scene.holder, policy: powerOff, lasts: 5_000 }),
    )
  ).crossings;

it('a stop that hangs is forced by a later run, ten minutes after an earlier run saw it first', async () => {
  const incident = hung();
  const { world, scene } = incident;
  expect(await look(incident)).toMatchObject(waits('stopping'));
  world.advance(9 * MINUTE);
  expect(await look(incident)).toMatchObject(waits('stopping'));
  expect(instanceIn(world, scene.holder)?.state).toBe('stopping');
  world.advance(MINUTE);
  const outcome = await fence(incident, { policy: powerOff });
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  expect(outcome.steps[0]).toMatchObject({ step: 'power-off', result: 'done' });
  expect(noted(incident)).toBeNull();
  expect(world.parts.ec2.violations).toEqual([]);
});

it('a stop that hangs is forced, whenever the run that noted it was killed, and whichever run is next', async () => {
  const incident = hung();
  const crossings = await crossingsOf(incident);
  const note = crossings.findIndex(({ command }) => command.do === 'act');
  const cut = crossings[note];
  if (!cut) throw new Error('the first run noted nothing');
  await stepOn(cut.known, cut.command, portsOver(cut.world));
  for (const { world } of [cut, ...crossings.slice(note + 1)]) {
    world.advance(11 * MINUTE);
    const outcome = await fence({ ...incident, world }, { policy: powerOff });
    expect(outcome.steps[0]).toMatchObject({ step: 'power-off', result: 'done' });
    expect(outcome.outcome).toBe('fenced');
  }
});

it('a stop is timed again if the earlier run was killed before it could write a note', async () => {
  const incident = hung();
  const [first] = await crossingsOf(incident);
  if (!first) throw new Error('nothing was done');
  const world = first.world;
  world.advance(11 * MINUTE);
  expect(await look({ ...incident, world })).toMatchObject(waits('stopping'));
});

it('the time of a stop begins again with another boot', async () => {
  const incident = hung();
  const { world, scene } = incident;
  await look(incident);
  const before = noted(incident);
  world.advance(8 * MINUTE);
  const instance = () => instanceIn(world, scene.holder) ?? expect.fail('no instance');
  change(world, instance(), { state: 'stopped', guest: 'down' });
  start(world, instance());
  world.advance(2 * MINUTE);
  stopOutOfBand(world, scene.holder, 'Server.ScheduledStop');
  world.advance(2 * MINUTE);
  expect(await look(incident)).toMatchObject(waits('stopping'));
  expect(noted(incident)).not.toBe(before);
  world.advance(9 * MINUTE);
  expect(await look(incident)).toMatchObject(waits('stopping'));
  expect(instance().state).toBe('stopping');
});

it('a machine that runs again loses its note', async () => {
  const incident = hung();
  const { world, scene } = incident;
  await look(incident);
  expect(noted(incident)).not.toBeNull();
  const instance = instanceIn(world, scene.holder);
  if (instance) change(world, instance, { state: 'running' });
  await look(incident);
  expect(noted(incident)).toBeNull();
});

it('a machine that runs again loses its note to the next sweep, even if no event reports it', async () => {
  const incident = hung();
  const { world, scene } = incident;
  await look(incident);
  const instance = instanceIn(world, scene.holder);
  if (instance) change(world, instance, { state: 'running' });
  world.parts.cluster.knobs.partitioned.length = 0;
  world.advance(2 * MINUTE);
  expect(noted(incident)).not.toBeNull();
  expect(await sweepOnce(incident)).toEqual(['machine-running']);
  expect(noted(incident)).toBeNull();
  expect(await sweepOnce(incident)).toEqual([]);
});

it('a stop that hangs raises an alarm under the default policy, and nothing is done', async () => {
  const incident = hung();
  const { world, scene } = incident;
  expect(await look(incident, {})).toMatchObject(waits('stopping'));
  world.advance(10 * MINUTE);
  expect(await look(incident, {})).toMatchObject(waits('stopping-too-long'));
  expect(events(incident)).toContain('MachineStoppingTooLong');
  expect(instanceIn(world, scene.holder)?.state).toBe('stopping');
});

it('a stop that hangs raises an alarm in the sweep', async () => {
  const incident = hung();
  const said: string[] = [];
  for (let minutes = 0; minutes < 15; minutes += 1) {
    incident.world.advance(MINUTE);
    said.push(...(await sweepOnce(incident)));
  }
  expect(new Set(said)).toEqual(new Set(['stopping', 'stopping-too-long']));
  expect(events(incident)).toContain('MachineStoppingTooLong');
});

it('a stop that hangs raises an alarm in the sweep while its kubelet runs, once an event has noted it', async () => {
  const incident = hung();
  incident.world.parts.cluster.knobs.partitioned.splice(0);
  expect(await look(incident, {})).toMatchObject(waits('stopping'));
  incident.world.advance(11 * MINUTE);
  expect(await sweepOnce(incident)).toEqual(['stopping-too-long']);
});

it('a machine that has stopped after all is fenced, and its note is removed without another write', async () => {
  const incident = hung();
  const { world, scene } = incident;
  await look(incident, {});
  expect(noted(incident)).not.toBeNull();
  const instance = instanceIn(world, scene.holder);
  if (instance) change(world, instance, { state: 'stopped', guest: 'down' });
  const outcome = await fence(incident);
  expect(outcome).toMatchObject({ outcome: 'fenced' });
  expect(outcome.steps.map(({ step }) => step)).not.toContain('note-stopping');
  expect(noted(incident)).toBeNull();
  expect(world.parts.ec2.violations).toEqual([]);
});

it.each([
  ['in a dry run', { ...powerOff, dryRun: true }],
  ['in shadow mode', { ...powerOff, shadow: true }],
  ['under a pause', { ...powerOff, paused: 'upgrade' }],
])('a stop is not noted %s', async (_, policy) => {
  const incident = hung();
  const outcome = await look(incident, policy);
  expect(['waiting', 'refused']).toContain(outcome.outcome);
  expect(noted(incident)).toBeNull();
});
