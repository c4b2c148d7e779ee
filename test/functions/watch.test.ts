import { tendIncidents } from '../../functions/incidents.ts';
import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../fencing/model/errors.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import { sweep } from '../../functions/sweep.ts';
import type { Incident } from '../../incidents/incident.ts';
import { shadowSummaryOf } from '../../report/figures.ts';
import { addDeployment, addJob, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { createAwsSandbox } from '../../sandbox/aws-sandbox.ts';
import { getObject, listObjects } from '../../sandbox/cluster/get-objects.ts';
import { databaseOnTwoNodes } from '../../sandbox/scenes/ec2-database.ts';
import { attacherDown, startMachine, stopMachine, stopped } from '../simulation/incidents.ts';
import { batchOf, installOver, stateChange } from './install.ts';

/** Sweeps watch what happens to an incident after its run. */

const MINUTE_MS = 60_000;

const stage = async (policy: Partial<Policy> = {}) => {
  const { world, scene } = stopped();
  const install = installOver(world, policy);
  const deliver = (dependencies = install.dependencies) =>
    onEvent(async () => dependencies)(batchOf(stateChange(scene.holder)), install.context());
  const sweeping = (dependencies = install.dependencies) => sweep(async () => dependencies)({}, install.context());
  await deliver();
  const incident = (): Incident => {
    const [only] = install.history.incidents();
    if (!only) throw new Error('the run left no incident');
    return only;
  };
  const watched = async (minutes: number, dependencies = install.dependencies): Promise<Incident> => {
    for (let passed = 0; passed < minutes; passed += 1) {
      world.advance(MINUTE_MS);
      await sweeping(dependencies);
    }
    return incident();
  };
  const removeNode = (): void => {
    const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
    if (node) writerAs(world, 'person').remove('nodes', node);
  };
  return { world, scene, install, deliver, incident, watched, removeNode };
};

const after = ({ phases }: Incident, phase: keyof Incident['phases']): number =>
  (Date.parse(phases[phase] ?? '') - Date.parse(phases.off ?? '')) / 1_000;

describe('shadow mode', () => {
  const shadow = { shadow: true };

  it('names what the machine held, because it leaves no record', async () => {
    const { incident } = await stage(shadow);
    expect(incident()).toMatchObject({
      bootID: expect.stringMatching(/./),
      volumes: [{ persistentVolume: expect.stringMatching(/./) }],
      pods: [{ name: 'db-0' }],
      watch: null,
    });
  });

  it('sees that Kubernetes has freed everything by itself, and ends its watch', async () => {
    const { watched, removeNode, install, world } = await stage(shadow);
    expect(await watched(3)).toMatchObject({ phases: { attachmentsGone: null, running: null }, watch: null });
    removeNode();
    const incident = await watched(15);
    expect(incident).toMatchObject({ state: 'would-fence', shadow: true, watch: { because: 'running' } });
    expect(after(incident, 'running')).toBeGreaterThan(360);
    expect(after(incident, 'running')).toBeLessThan(20 * 60);
    expect(after(incident, 'attachedElsewhere')).toBeGreaterThanOrEqual(after(incident, 'attachmentsGone'));
    const { managed, saved, notSeen } = shadowSummaryOf([incident]);
    expect(managed).toMatchObject([{ by: 'running', took: after(incident, 'running') * 1_000 }]);
    expect(saved).toBe((managed[0]?.tookFromLook ?? 0) - 2_530);
    expect(notSeen.size).toBe(0);
    const writes = install.history.writes();
    world.advance(MINUTE_MS);
    await watched(2);
    expect(install.history.writes()).toBe(writes);
    expect(install.history.announced.map(({ about }) => about)).toEqual(['would-fence']);
  });

  it('sees that the Node came back by itself', async () => {
    const { watched, world, scene } = await stage(shadow);
    await watched(2);
    startMachine(world, scene.holder);
    const incident = await watched(3);
    expect(incident).toMatchObject({ phases: { running: null }, watch: { because: 'returned' } });
    expect(after(incident, 'returned')).toBeGreaterThan(120);
    expect(shadowSummaryOf([incident]).managed).toMatchObject([{ by: 'returned' }]);
  });

  it('does not count what happened after Cloudfence itself fenced the Node', async () => {
    const { watched, install, deliver } = await stage(shadow);
    await watched(1);
    await deliver({ ...install.dependencies, policy: { ...install.dependencies.policy, shadow: false } });
    await watched(2);
    const [imagined, real] = install.history.incidents();
    expect(imagined).toMatchObject({ shadow: true, phases: { attachedElsewhere: null }, watch: { because: 'fenced' } });
    expect(real).toMatchObject({ shadow: false, state: 'fenced', phases: { running: expect.stringMatching(/T/) } });
    const summary = shadowSummaryOf(install.history.incidents());
    expect(summary).toMatchObject({ incidents: 1, managed: [], saved: 0 });
    expect([...summary.notSeen]).toEqual([['fenced', 1]]);
  });

  it('ends its watch after a day, and says so', async () => {
    const { watched, world } = await stage(shadow);
    world.advance(24 * 60 * MINUTE_MS);
    const incident = await watched(1);
    expect(incident).toMatchObject({ phases: { running: null, returned: null }, watch: { because: 'time-up' } });
    expect([...shadowSummaryOf([incident]).notSeen]).toEqual([['time-up', 1]]);
  });
});

describe('a fence', () => {
  it('shows later when the volume was attached elsewhere and the new pod ran', async () => {
    const { incident, watched } = await stage();
    expect(incident()).toMatchObject({ state: 'fenced', phases: { running: null } });
    const later = await watched(2);
    expect(later).toMatchObject({ state: 'fenced', shadow: false, watch: { because: 'running' } });
    expect(after(later, 'running')).toBeLessThan(60);
    expect(later.steps).toEqual(incident().steps);
  });

  it('is watched for an hour if its workload does not come back', async () => {
    const { world, scene } = stopped();
    const set = getObject(world, 'statefulsets', 'db', 'default');
    if (set) writerAs(world, 'person').remove('statefulsets', set);
    const install = installOver(world);
    const get = async () => install.dependencies;
    await onEvent(get)(batchOf(stateChange(scene.holder)), install.context());
    for (const minutes of [30, 31]) {
      world.advance(minutes * MINUTE_MS);
      await sweep(get)({}, install.context());
    }
    expect(install.history.incidents()).toMatchObject([
      { state: 'fenced', phases: { attachedElsewhere: null, running: null }, watch: { because: 'time-up' } },
    ]);
  });
});

describe('pods without volumes', () => {
  /** Three web servers, a cache, and a job in two namespaces. Some of them run on the machine that stops. */
  const staged = async (policy: Partial<Policy>, isPinned = false) => {
    const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
    const scene = databaseOnTwoNodes(world);
    const holder = { nodeSelector: { 'kubernetes.io/hostname': scene.nodeOf(scene.holder) } };
    addDeployment(world, { name: 'web', namespace: 'shop', replicas: 3, ...(isPinned && { spec: holder }) });
    addStatefulSet(world, { name: 'cache', namespace: 'shop', replicas: 2 });
    addJob(world, { name: 'once', spec: holder });
    world.advance(5 * MINUTE_MS);
    stopMachine(world, scene.holder);
    world.advance(MINUTE_MS);
    const install = installOver(world, policy);
    const get = async () => install.dependencies;
    await onEvent(get)(batchOf(stateChange(scene.holder)), install.context());
    const incident = (): Incident => {
      const [only] = install.history.incidents();
      if (!only) throw new Error('the run left no incident');
      return only;
    };
    const watched = async (minutes: number): Promise<Incident> => {
      for (let passed = 0; passed < minutes; passed += 1) {
        world.advance(MINUTE_MS);
        await sweep(get)({}, install.context());
      }
      return incident();
    };
    return { world, scene, incident, watched };
  };

  it('are watched until their replacements are ready', async () => {
    const { incident, watched, world } = await staged({});
    const followed = incident().pods.filter(({ replacedBy }) => replacedBy !== null);
    expect(followed.map(({ namespace }) => namespace)).toEqual(followed.map(() => 'shop'));
    expect(followed.length).toBeGreaterThanOrEqual(2);
    const owners = [...listObjects(world, 'deployments'), ...listObjects(world, 'statefulsets')].map(
      ({ metadata }) => metadata.uid,
    );
    expect(owners).toEqual(expect.arrayContaining(followed.map(({ replacedBy }) => replacedBy)));
    expect(await watched(3)).toMatchObject({
      phases: { running: expect.stringMatching(/T/) },
      watch: { because: 'running' },
    });
  });

  it('keep the watch open while nothing can replace them', async () => {
    const { watched, world, incident } = await staged({}, true);
    const { uid } = getObject(world, 'deployments', 'web', 'shop')?.metadata ?? {};
    expect(incident().pods.filter(({ replacedBy }) => replacedBy === uid)).toHaveLength(3);
    expect(await watched(3)).toMatchObject({
      phases: { attachedElsewhere: expect.stringMatching(/T/), running: null },
      watch: null,
    });
  });
});

describe('a fence whose Node was gone before', () => {
  it('leaves an incident although it needs a second run, and a sweep sees the end', async () => {
    const { world, scene } = attacherDown();
    const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
    if (node) writerAs(world, 'person').remove('nodes', node);
    world.advance(50);
    const install = installOver(world, { detach: 'never' });
    const get = async () => install.dependencies;
    await onEvent(get)(batchOf(stateChange(scene.holder)), install.context());
    expect(install.history.incidents()).toMatchObject([
      { state: 'fencing', fence: null, volumes: [{}], pods: [{ name: 'db-0' }], ends: [{ outcome: 'waiting' }] },
    ]);
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(MINUTE_MS);
    for (let times = 0; times < 2; times += 1) await sweep(get)({}, install.context());
    const [incident] = install.history.incidents();
    expect(install.history.incidents()).toMatchObject([
      {
        state: 'fenced',
        phases: { attachmentsGone: expect.stringMatching(/T/), fenced: expect.stringMatching(/T/) },
        ends: [{ outcome: 'waiting' }, { outcome: 'fenced' }],
        watch: null,
      },
    ]);
    expect(install.history.announced).toMatchObject([{ about: 'fence', incident: incident?.id }]);
    expect(install.history.unsent()).toEqual([]);
  });
});

describe('a fence whose Node is deleted before it ends', () => {
  it('ends with the look of a sweep, which also sends its message', async () => {
    const { world, scene } = attacherDown();
    const install = installOver(world, { detach: 'never' });
    const get = async () => install.dependencies;
    await onEvent(get)(batchOf(stateChange(scene.holder)), install.context());
    expect(install.history.incidents()).toMatchObject([{ state: 'fencing', fence: expect.stringMatching(/./) }]);
    const node = getObject(world, 'nodes', scene.nodeOf(scene.holder));
    if (node) writerAs(world, 'person').remove('nodes', node);
    await tendIncidents(install.dependencies, 60_000);
    expect(install.history.incidents()).toMatchObject([{ state: 'fencing' }]);
    world.parts.cluster.knobs.attacherDown = false;
    const attachment = Object.values(world.parts.cluster.objects.volumeattachments).find(
      ({ spec }) => spec.nodeName === scene.nodeOf(scene.holder),
    );
    if (attachment) writerAs(world, 'person').remove('volumeattachments', attachment);
    world.advance(MINUTE_MS);
    for (let times = 0; times < 2; times += 1) await tendIncidents(install.dependencies, 60_000);
    expect(install.history.incidents()).toMatchObject([
      { state: 'fenced', ends: [{ outcome: 'waiting' }, { outcome: 'fenced', run: 'watch' }] },
    ]);
    expect(install.history.announced.map(({ about }) => about)).toEqual(['fence']);
  });
});

describe('a message about an incident', () => {
  const staged = () => {
    const { world, scene } = stopped();
    const install = installOver(world);
    const { incidents } = install.dependencies;
    if (!incidents) throw new Error('the install keeps incidents');
    const deliver = (change: Partial<typeof incidents> = {}) =>
      onEvent(async () => ({ ...install.dependencies, incidents: { ...incidents, ...change } }))(
        batchOf(stateChange(scene.holder)),
        install.context(),
      );
    const sweeping = () => sweep(async () => install.dependencies)({}, install.context());
    return {
      ...install.history,
      incidents: install.history.incidents,
      keeper: incidents,
      world,
      install,
      deliver,
      sweeping,
    };
  };
  const dies = async () => Promise.reject(new Error('the process is gone'));

  it('is sent once by a later sweep if its run could not send it', async () => {
    const { deliver, sweeping, announced, unsent, incidents } = staged();
    await deliver({ announce: dies });
    expect(incidents()).toMatchObject([{ state: 'fenced' }]);
    expect([announced.length, unsent().length]).toEqual([0, 1]);
    await sweeping();
    await sweeping();
    expect(announced).toMatchObject([{ about: 'fence', incident: incidents()[0]?.id }]);
    expect(unsent()).toEqual([]);
  });

  it('does not end the watch if it cannot be sent', async () => {
    const { deliver, sweeping, incidents, world } = staged();
    await deliver({ announce: dies });
    world.advance(MINUTE_MS);
    await sweeping();
    expect(incidents()).toMatchObject([{ phases: { running: expect.stringMatching(/T/) } }]);
  });

  it('is given up after a day if its incident does not exist', async () => {
    const { unsent, keeper, world, install } = staged();
    const note = 'notes/unsent/a%20fence';
    await keeper.objects.write(note, '{"object":"incidents/-/-/a.json"}', null, new AbortController().signal);
    let reads = 0;
    const read: typeof keeper.objects.read = (name, signal) => {
      reads += name.startsWith('incidents/') ? 1 : 0;
      return keeper.objects.read(name, signal);
    };
    const counting = { ...install.dependencies, incidents: { ...keeper, objects: { ...keeper.objects, read } } };
    for (let minutes = 0; minutes < 25 * 60; minutes += 5) {
      world.advance(5 * MINUTE_MS);
      await tendIncidents(counting, 60_000);
    }
    expect(reads).toBeGreaterThan(5);
    expect(reads).toBeLessThan(12);
    expect(unsent()).toEqual([]);
  });

  it('is tried a few times, and given up after a day if it can never be sent', async () => {
    const { deliver, unsent, keeper, world, install } = staged();
    await deliver({ announce: dies });
    let tries = 0;
    const announce = async () => Promise.reject(new Unavailable(`try ${(tries += 1)}`));
    const failing = { ...install.dependencies, incidents: { ...keeper, announce } };
    for (let minutes = 0; minutes < 25 * 60; minutes += 5) {
      world.advance(5 * MINUTE_MS);
      await tendIncidents(failing, 60_000);
    }
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(12);
    expect(unsent()).toEqual([]);
  });

  it('is not sent if its incident was never written', async () => {
    const { deliver, sweeping, announced, unsent, incidents, keeper } = staged();
    const write: typeof keeper.objects.write = (name, ...rest) =>
      name.startsWith('incidents/') ? dies() : keeper.objects.write(name, ...rest);
    await deliver({ objects: { ...keeper.objects, write } });
    await sweeping();
    expect([incidents().length, announced.length, unsent().length]).toEqual([0, 0, 1]);
  });

  it('leaves no note once it was sent', async () => {
    const { deliver, announced, unsent } = staged();
    await deliver();
    expect([announced.length, unsent().length]).toEqual([1, 0]);
  });
});

describe('a watch of an incident', () => {
  it('reads the incident once in each look, and writes only what is new', async () => {
    const { install, watched } = await stage({ shadow: true });
    const { incidents } = install.dependencies;
    if (!incidents) throw new Error('the install keeps incidents');
    const reads: string[] = [];
    const read: typeof incidents.objects.read = (name, signal) => {
      reads.push(name);
      return incidents.objects.read(name, signal);
    };
    const writes = install.history.writes();
    const counting = { ...incidents, objects: { ...incidents.objects, read } };
    await watched(1, { ...install.dependencies, incidents: counting });
    // The run of the sweep itself also reads it once.
    expect(reads.filter((name) => name.startsWith('incidents/'))).toHaveLength(2);
    expect(install.history.writes()).toBe(writes);
  });
});

describe('a watch that does not work', () => {
  it('does not delay a sweep, and is logged, if the bucket cannot be listed', async () => {
    const { watched, install } = await stage({ shadow: true });
    const list = async () => Promise.reject(new Unavailable('s3:ListBucket got no response'));
    const { incidents } = install.dependencies;
    if (!incidents) throw new Error('the install keeps incidents');
    await watched(1, { ...install.dependencies, incidents: { ...incidents, objects: { ...incidents.objects, list } } });
    expect(install.lines.filter(({ because }) => because === 'incident')).toMatchObject([
      { says: expect.stringMatching(/s3:ListBucket got no response/) },
    ]);
  });

  it('ends after a day even if the cluster never answers', async () => {
    const { watched, install, world } = await stage({ shadow: true });
    const aftermath = async () => async () => Promise.reject(new Unavailable('the API server is away'));
    expect(await watched(1, { ...install.dependencies, aftermath })).toMatchObject({ watch: null });
    world.advance(25 * 60 * MINUTE_MS);
    expect(await watched(1, { ...install.dependencies, aftermath })).toMatchObject({ watch: { because: 'time-up' } });
  });
});
