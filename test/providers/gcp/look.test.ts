import { describe, expect, it } from 'vitest';
import { PermissionDenied, Refused, Unavailable } from '../../../fencing/model/errors.ts';
import { addFault, forbidden, rateLimitError, unavailable } from '../../../sandbox/gce/faults.ts';
import { remove, stop } from '../../../sandbox/gce/instances.ts';
import { addDisk, addInstance, forgetDisk, recreate } from '../../../sandbox/gce/scenario.ts';
import { instanceIn, type GceWorld, type Instance } from '../../../sandbox/gce/state.ts';
import { put } from '../../../sandbox/history.ts';
import { MINUTE, cloudOf, gceWorld, patient, zone } from '../../sandbox/gce/gce-world.ts';

const look = (world: GceWorld, machines: readonly string[], disks = false) =>
  cloudOf(world).look(machines, { disks }, patient());

const apply = (world: GceWorld, path: string, change: (world: GceWorld, instance: Instance) => void): void => {
  const instance = instanceIn(world, path);
  if (instance) change(world, instance);
  world.advance(5 * MINUTE);
};

describe('a look at instances of Compute Engine', () => {
  it('returns what the API said, as evidence and as facts', async () => {
    const world = gceWorld();
    const path = addInstance(world, { labels: { 'goog-k8s-cluster-name': 'blue' }, hostname: 'db.example.org' });
    apply(world, path, stop);
    expect(await look(world, [path])).toEqual([
      {
        machine: path,
        incarnation: { id: '4611686018427387906', made: Date.UTC(2026, 10, 21) },
        power: 'off',
        forGood: false,
        generation: '4611686018427387906 2026-11-20T16:00:00.000-08:00',
        since: Date.UTC(2026, 10, 21, 0, 0, 20),
        nodeNames: ['node-1', 'db.example.org', `node-1.${zone}.c.my-project.internal`, 'node-1.c.my-project.internal'],
        clusters: ['blue'],
        zone,
        disks: [],
        evidence: {
          status: 'TERMINATED',
          id: '4611686018427387906',
          created: '2026-11-20T16:00:00.000-08:00',
          lastStart: '2026-11-20T16:00:00.000-08:00',
          lastStop: '2026-11-20T16:00:20.000-08:00',
          readFrom: 'compute.instances.get',
        },
      },
    ]);
  });

  it('gives an instance that was never started the generation of its creation', async () => {
    const world = gceWorld();
    const path = addInstance(world, { startedAt: null, status: 'STAGING', guest: 'down' });
    expect(await look(world, [path])).toMatchObject([
      { power: 'starting', generation: '4611686018427387906 2026-11-20T16:00:00.000-08:00' },
    ]);
  });

  it('gives the next instance of the name another generation, even if both started at the same time', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    const [former] = await look(world, [path]);
    recreate(world, path, { startedAt: Date.UTC(2026, 10, 21), createdAt: Date.UTC(2026, 10, 21) });
    const [present] = await look(world, [path]);
    expect(present?.incarnation?.made).toBe(former?.incarnation?.made);
    expect(present?.generation).not.toBe(former?.generation);
  });

  it('knows since when an instance is stopping if the API says so', async () => {
    const world = gceWorld();
    const path = addInstance(world, { shutdownTakes: null });
    world.advance(MINUTE);
    const instance = instanceIn(world, path);
    if (instance) stop(world, instance);
    world.advance(MINUTE / 2);
    expect(await look(world, [path])).toMatchObject([{ power: 'stopping', since: Date.UTC(2026, 10, 21, 0, 1) }]);
  });

  it('answers about each of many machines once, including missing and malformed ones', async () => {
    const world = gceWorld();
    const known = Array.from({ length: 25 }, () => addInstance(world));
    const gone = known[7] ?? '';
    apply(world, gone, remove);
    const facts = await look(world, ['i-0123456789abcdef0', ...known, ...known]);
    expect(facts.map((one) => one.machine)).toEqual(['i-0123456789abcdef0', ...known]);
    expect(facts.filter((one) => one.power === 'missing').map((one) => one.machine)).toEqual([gone]);
    expect(facts.filter((one) => one.power === 'unknown').map((one) => one.machine)).toEqual(['i-0123456789abcdef0']);
    expect(facts.filter((one) => one.power === 'running')).toHaveLength(24);
  });

  it('says which disks must be kept, and why', async () => {
    const world = gceWorld();
    const [path, other] = [addInstance(world), addInstance(world)];
    const data = addDisk(world, {}, { instance: path });
    const regional = addDisk(
      world,
      { path: 'projects/my-project/regions/europe-west1/disks/replicated' },
      { instance: path },
    );
    const readOnly = addDisk(world, {}, { instance: path, mode: 'READ_ONLY' });
    const many = addDisk(world, { accessMode: 'READ_WRITE_MANY' }, { instance: path });
    const shared = addDisk(world, { users: [path, other], accessMode: null }, { instance: path });
    const elsewhere = addDisk(world, { users: [other] }, { instance: path });
    const vanished = addDisk(world, {}, { instance: path });
    forgetDisk(world, vanished);
    addScratch(world, path);
    const [facts] = await look(world, [path], true);
    expect(Object.fromEntries(facts?.disks.map((disk) => [disk.disk, disk.keep]) ?? [])).toEqual({
      [path.replace('/instances/', '/disks/')]: 'boot disk',
      [data]: null,
      [regional]: null,
      [readOnly]: 'attached READ_ONLY, so possibly shared',
      [many]: 'attached to several instances, or a multi-writer disk',
      [shared]: 'attached to several instances, or a multi-writer disk',
      [elsewhere]: 'the disk itself does not report this attachment',
      [vanished]: 'the disk itself does not report this attachment',
    });
  });
});

it('a look at an instance with as many disks as Compute Engine allows reads each of them', async () => {
  const world = gceWorld();
  const path = addInstance(world);
  const data = Array.from({ length: 127 }, () => addDisk(world, {}, { instance: path }));
  const [facts] = await look(world, [path], true);
  expect(facts?.disks.filter(({ keep }) => keep === null).map(({ disk }) => disk)).toEqual(data);
});

/** A local SSD. */
const addScratch = (world: GceWorld, path: string): void => {
  const instance = instanceIn(world, path);
  if (!instance) return;
  const disks = [
    ...instance.disks,
    { deviceName: 'local-ssd-0', source: null, boot: false, mode: 'READ_WRITE', autoDelete: true } as const,
  ];
  put(world.parts.gce.instances, path, { ...instance, disks });
};

describe('a look that Compute Engine does not answer', () => {
  it('is repeated by the SDK if the service is unavailable for a moment', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    addFault(world.parts.gce, { mishap: unavailable });
    expect(await look(world, [path])).toMatchObject([{ power: 'running' }]);
  });

  it.each([
    ['rateLimitExceeded', 403, Unavailable],
    ['quotaExceeded', 403, Unavailable],
    ['somethingNew', 429, Unavailable],
    ['internalError', 500, Unavailable],
    ['resourceNotReady', 400, Unavailable],
    ['forbidden', 403, PermissionDenied],
    ['accessNotConfigured', 403, PermissionDenied],
    ['authError', 401, PermissionDenied],
    ['somethingNew', 403, PermissionDenied],
    ['invalid', 400, Refused],
    ['notFound', 400, Refused],
    ['somethingNew', 404, Refused],
  ])('is an error and no power state (%s, %i)', async (reason, status, expected) => {
    const world = gceWorld();
    const path = addInstance(world);
    addFault(world.parts.gce, { mishap: { kind: 'error', reason, status } });
    await expect(look(world, [path])).rejects.toBeInstanceOf(expected);
  });

  it('is an error if something other than the service says "not found"', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    addFault(world.parts.gce, { mishap: { kind: 'page', status: 404 } });
    await expect(look(world, [path])).rejects.toBeInstanceOf(Refused);
  });

  it('keeps a disk that it may not read, and answers about the instance and its other disks', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    const [denied, readable] = [addDisk(world, {}, { instance: path }), addDisk(world, {}, { instance: path })];
    apply(world, path, stop);
    addFault(world.parts.gce, { method: 'disks.get', path: denied, mishap: forbidden });
    expect(await look(world, [path], true)).toMatchObject([
      {
        power: 'off',
        disks: [
          { keep: 'boot disk' },
          { disk: denied, keep: expect.stringMatching(/^Cloudfence may not read this disk: compute\.disks\.get /) },
          { disk: readable, keep: null },
        ],
      },
    ]);
  });

  it('is an error if only the disks do not answer', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    addFault(world.parts.gce, { method: 'disks.get', mishap: rateLimitError });
    await expect(look(world, [path], true)).rejects.toBeInstanceOf(Unavailable);
  });

  it('leaves out the instance that does not answer, whose own look then says why', async () => {
    const world = gceWorld();
    const [one, silent, other] = [addInstance(world), addInstance(world), addInstance(world)];
    addFault(world.parts.gce, { path: silent, times: 2, mishap: { kind: 'error', reason: 'forbidden', status: 403 } });
    expect((await look(world, [one, silent, other])).map(({ machine }) => machine)).toEqual([one, other]);
    await expect(look(world, [silent])).rejects.toBeInstanceOf(PermissionDenied);
  });

  it('is an error in a zone that does not exist, and missing in a project that may not exist', async () => {
    const world = gceWorld();
    await expect(look(world, ['projects/my-project/zones/mars-north1-a/instances/n'])).rejects.toBeInstanceOf(Refused);
    expect(await look(world, [`projects/nobodys/zones/${zone}/instances/n`])).toMatchObject([
      { power: 'missing', incarnation: null },
    ]);
  });

  it('is unavailable if the caller gives up on a silent service', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    addFault(world.parts.gce, { mishap: { kind: 'hang' } });
    const giveUp = new AbortController();
    const answer = cloudOf(world).look([path], { disks: false }, giveUp.signal);
    giveUp.abort();
    await expect(answer).rejects.toBeInstanceOf(Unavailable);
  });
});
