import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../fencing/model/errors.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import { fence } from '../../functions/aws/fence.ts';
import { tendIncidents } from '../../functions/incidents.ts';
import { sweep } from '../../functions/sweep.ts';
import { createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { shutdownTakes } from '../../sandbox/ec2/scenario.ts';
import { addMachine, databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { startMachine, stopped } from '../simulation/incidents.ts';
import { stateOf } from '../simulation/state.ts';
import { again, batchOf, installOver, stateChange, type Install } from './install.ts';

/** What a function stores of an incident, and that this never prevents a fence. */

const deliver = (install: Install, ...bodies: readonly unknown[]) =>
  onEvent(async () => install.dependencies)(batchOf(...bodies), install.context());
const sweeping = (install: Install) => sweep(async () => install.dependencies)({}, install.context());
const fencedLine = (node: string) => `${node} [cloudfence.dev/quarantine] fenced labelled`;

describe('an incident', () => {
  it('of an event is stored with the id of the event, and completed when the sweep releases the Node', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    await deliver(install, stateChange(scene.holder));
    expect(install.history.incidents()).toMatchObject([
      {
        state: 'fenced',
        machine: scene.holder,
        triggers: [{ kind: 'event', event: `e-${scene.holder}`, says: 'state-change-stopped' }],
        release: null,
      },
    ]);
    startMachine(world, scene.holder);
    world.advance(90_000);
    await sweeping(install);
    expect(install.history.incidents()).toMatchObject([
      { state: 'released', triggers: [{ kind: 'event' }, { kind: 'sweep' }], release: { accepted: null } },
    ]);
    expect(install.history.announced.map(({ about, texts }) => [about, texts.page])).toEqual([
      ['fence', `Cloudfence fenced Node ${scene.nodeOf(scene.holder)} in sandbox`],
      ['release', `Cloudfence released Node ${scene.nodeOf(scene.holder)} in sandbox`],
    ]);
  });

  it('is written once, and again when a sweep sees the new pod, however often both repeat', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    for (let time = 0; time < 3; time += 1) {
      await deliver(install, stateChange(scene.holder));
      await sweeping(install);
      world.advance(60_000);
    }
    expect({ writes: install.history.writes(), announced: install.history.announced.length }).toEqual({
      writes: 2,
      announced: 1,
    });
  });

  it('of a request by a person says so', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    await fence(async () => install.dependencies)({ instanceId: scene.holder }, install.context());
    expect(install.history.incidents()).toMatchObject([{ state: 'fenced', triggers: [{ kind: 'person' }] }]);
  });

  it('of a refusal is stored and reported once, although each sweep refuses again', async () => {
    const { world } = stopped();
    const install = installOver(world, { paused: 'network maintenance' });
    world.advance(120_000);
    await sweeping(install);
    await sweeping(install);
    expect(install.history.incidents()).toMatchObject([{ state: 'refused', ends: [{ because: { code: 'paused' } }] }]);
    expect(install.history.announced).toMatchObject([{ about: 'refusal', severity: 'warning' }]);
  });

  it('of shadow mode is written once for each boot, although each sweep would fence again', async () => {
    const { world, scene } = stopped();
    const install = installOver(world, { shadow: true });
    await deliver(install, stateChange(scene.holder));
    world.advance(120_000);
    await sweeping(install);
    await sweeping(install);
    expect(install.history.incidents()).toMatchObject([{ state: 'would-fence', shadow: true, fence: null }]);
    expect(install.history.writes()).toBe(1);
    startMachine(world, scene.holder);
    world.advance(90_000);
    await sweeping(install);
    expect(install.history.incidents()).toHaveLength(1);
  });

  it('is not stored for a dry run, or for a machine that runs', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    await deliver(install, { ...stateChange(scene.holder), dryRun: true });
    await deliver(install, stateChange(scene.spare, 'running'));
    expect([install.history.incidents(), install.history.announced]).toEqual([[], []]);
  });
});

it('a sweep stores its incidents before it watches them, and ends after that', async () => {
  const { world } = stopped();
  const install = installOver(world);
  world.advance(120_000);
  const calls: string[] = [];
  const { incidents } = install.dependencies;
  if (!incidents) throw new Error('the install keeps incidents');
  const { objects } = incidents;
  const noting = {
    ...objects,
    write: async (...write: Parameters<typeof objects.write>) => {
      await new Promise(setImmediate);
      calls.push('write');
      return objects.write(...write);
    },
    list: async (...list: Parameters<typeof objects.list>) => {
      calls.push('list');
      return objects.list(...list);
    },
  };
  const dependencies = { ...install.dependencies, incidents: { ...incidents, objects: noting } };
  await sweep(async () => dependencies)({}, install.context());
  expect(calls.slice(0, calls.indexOf('list'))).toContain('write');
  expect(calls).toContain('list');
});

it('of many notes, each sweep handles some at random, so that none hides the others for ever', async () => {
  const { world } = stopped();
  const install = installOver(world);
  const { incidents } = install.dependencies;
  if (!incidents) throw new Error('the install keeps incidents');
  const names = Array.from({ length: 40 }, (_, at) => `notes/unsent/note-${String(at).padStart(2, '0')}`);
  for (const [at, name] of names.entries())
    await incidents.objects.write(name, `{"object":"incidents/-/-/${at}.json"}`, null, new AbortController().signal);
  const read: string[] = [];
  const objects = {
    ...incidents.objects,
    read: (...asked: Parameters<typeof incidents.objects.read>) => {
      read.push(asked[0]);
      return incidents.objects.read(...asked);
    },
  };
  let lot = 1;
  const dependencies = { ...install.dependencies, incidents: { ...incidents, objects }, chance: () => (lot -= 0.02) };
  await tendIncidents(dependencies, 60_000);
  expect(names.filter((name) => read.includes(name))).toEqual(names.slice(20));
});

describe('a bucket that does not work', () => {
  const incidentLines = ({ lines }: Install) => lines.filter(({ because }) => because === 'incident');

  it('is logged if it cannot be reached, and the message is acknowledged', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    install.history.trouble.before = async () => {
      throw new Unavailable('s3:PutObject got no response');
    };
    expect(await deliver(install, stateChange(scene.holder))).toEqual(again());
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
    expect(incidentLines(install)).toMatchObject([
      { decision: 'failed', instance: scene.holder, says: expect.stringMatching(/is not complete: s3:PutObject/) },
    ]);
  });

  it('is given up after five seconds if it never answers', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const limits: number[] = [];
    const up = new AbortController();
    const { ports } = install.dependencies;
    const clock = { ...ports.clock, timeout: (ms: number) => (limits.push(ms), up.signal) };
    const dependencies = { ...install.dependencies, ports: { ...ports, clock } };
    install.history.trouble.before = async (signal) => {
      up.abort();
      signal.throwIfAborted();
    };
    expect(await onEvent(async () => dependencies)(batchOf(stateChange(scene.holder)), install.context())).toEqual(
      again(),
    );
    expect(limits.at(-1)).toBe(5_000);
    expect(incidentLines(install)).toMatchObject([{ says: expect.stringMatching(/there was no time left for it$/) }]);
  });

  it.each([
    [60_000, 5_000],
    [3_000, 2_000],
    [500, 0],
  ])('is given up in time for the answer: with %i ms left, after %i ms', async (left, after) => {
    const { dependencies } = installOver(stopped().world);
    const limits: number[] = [];
    const { ports } = dependencies;
    const clock = { ...ports.clock, timeout: (ms: number) => (limits.push(ms), new AbortController().signal) };
    await tendIncidents({ ...dependencies, ports: { ...ports, clock } }, left);
    expect(limits).toEqual([after]);
  });

  it('is given up even if its library ignores the end of the time', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const up = new AbortController();
    const { ports } = install.dependencies;
    const dependencies = {
      ...install.dependencies,
      ports: { ...ports, clock: { ...ports.clock, timeout: () => up.signal } },
    };
    install.history.trouble.before = () => {
      up.abort();
      return new Promise(() => undefined);
    };
    expect(await onEvent(async () => dependencies)(batchOf(stateChange(scene.holder)), install.context())).toEqual(
      again(),
    );
    expect(incidentLines(install)).toMatchObject([{ says: expect.stringMatching(/there was no time left for it$/) }]);
  });

  it('delays no message: each is handled before anything is stored', async () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const ended: number[] = [];
    install.history.trouble.before = async () => void ended.push(install.dead.length);
    await deliver(install, stateChange(scene.holder), 'no event at all');
    expect(install.history.incidents()).toHaveLength(1);
    expect(ended[0]).toBe(1);
  });
});

describe('an event with an impossible time', () => {
  it.each([1e300, -1, 253_402_300_800_000])('%d does not affect the events next to it', async (eventAt) => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const message = { cloudfence: 'look-again', machine: scene.holder, hops: 1, because: '', event: 'e-1', eventAt };
    expect(await deliver(install, message)).toEqual(again());
    expect(stateOf(world).nodes).toContain(fencedLine(scene.nodeOf(scene.holder)));
    expect(install.history.incidents()).toMatchObject([{ state: 'fenced', triggers: [{ happened: null }] }]);
  });
});

describe('a machine out of reach that the policy powers off', () => {
  /** The first sweep powers it off, and waits until its shutdown has ended. */
  const poweredOff = async () => {
    const world = createAwsSandbox({ seed: 5, now: Date.UTC(2026, 0, 1) });
    const scene = databaseOnTwoNodes(world);
    addMachine(world);
    settle(world);
    world.parts.cluster.knobs.partitioned.push(scene.nodeOf(scene.holder));
    world.advance(600_000);
    shutdownTakes(world, scene.holder, 90_000);
    const install = installOver(world, { unreachable: 'power-off' });
    await sweeping(install);
    return { world, scene, install };
  };

  it('leaves one incident, which begins with the power-off', async () => {
    const { world, install } = await poweredOff();
    expect(install.history.incidents()).toEqual([]);
    for (let minute = 0; minute < 4; minute += 1) {
      world.advance(60_000);
      await sweeping(install);
    }
    const [incident, ...others] = install.history.incidents();
    expect(others).toEqual([]);
    expect(incident).toMatchObject({ state: 'fenced', fence: expect.any(String) });
    expect(incident?.steps.map(({ step }) => step)).toEqual(['power-off', 'mark', 'delete-pod', 'park']);
    expect(incident?.ends.map(({ outcome }) => outcome)).toEqual(['waiting', 'fenced']);
    expect(incident?.triggers).toHaveLength(1);
    expect(install.history.announced.map(({ about }) => about)).toEqual(['fence']);
    expect(install.history.names().filter((name) => name.startsWith('notes/powered-off/'))).toEqual([]);
  });

  it('leaves an incident that failed if no fence follows', async () => {
    const { world, scene, install } = await poweredOff();
    world.advance(100_000);
    world.parts.cluster.knobs.partitioned.splice(0);
    startMachine(world, scene.holder);
    for (let minute = 0; minute < 20; minute += 1) {
      world.advance(60_000);
      await sweeping(install);
    }
    expect(install.history.incidents()).toMatchObject([
      {
        state: 'failed',
        fence: null,
        steps: [{ step: 'power-off' }],
        ends: [{ outcome: 'waiting' }, { outcome: 'failed' }],
      },
    ]);
    expect(install.history.announced.map(({ about }) => about)).toEqual(['failure']);
    expect(install.history.names().filter((name) => name.startsWith('notes/'))).toEqual([]);
  });
});
