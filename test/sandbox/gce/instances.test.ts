import { describe, expect, it } from 'vitest';
import { readHints } from '../../../providers/gcp/events/read-hints.ts';
import { errorReasonOf } from '../../../providers/gcp/errors.ts';
import {
  addDisk,
  addInstance,
  deleteInstance,
  failHost,
  haltGuest,
  preempt,
  recreate,
  shutdownTakes,
  stopGuest,
} from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn, type GceWorld } from '../../../sandbox/gce/state.ts';
import { underlyingGce } from '../../../sandbox/gce/underlying-cloud.ts';
import { MINUTE, gceWorld, place, zone } from './gce-world.ts';
import { handOf } from './sdk-hand.ts';

const at = (path: string) => ({ project: place.project, zone, instance: path.split('/').at(-1) ?? '' });
const get = async (world: GceWorld, path: string) => (await handOf(world).instances.get(at(path)))[0];
const status = (world: GceWorld, path: string) => instanceIn(world, path)?.status;

const logged = (world: GceWorld) =>
  world.parts.gce.events.map(
    ({ protoPayload, operation }) =>
      `${protoPayload.methodName}${operation.first ? ' first' : ''}${operation.last ? ' last' : ''}`,
  );

describe("an instance of the sandbox's Compute Engine", () => {
  it('stops and starts as another boot, and the audit log reports each call twice', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    const before = await get(world, path);
    const { id } = before;
    await handOf(world).instances.stop(at(path));
    world.advance(19_999);
    expect(instanceIn(world, path)).toMatchObject({ status: 'STOPPING', guest: 'up' });
    world.advance(1);
    expect(instanceIn(world, path)).toMatchObject({ status: 'TERMINATED', guest: 'down' });
    await handOf(world).instances.start(at(path));
    world.advance(MINUTE);
    const after = await get(world, path);
    expect([after.id, after.status, after.creationTimestamp]).toEqual([id, 'RUNNING', before.creationTimestamp]);
    expect(after.lastStartTimestamp).not.toBe(before.lastStartTimestamp);
    expect(underlyingGce.bootOf(world, path)).toBe(`${String(id)}/2`);
    expect(logged(world)).toEqual([
      'v1.compute.instances.stop first',
      'v1.compute.instances.stop last',
      'v1.compute.instances.start first',
      'v1.compute.instances.start last',
    ]);
  });

  it('has an ID that does not fit into a number', async () => {
    const world = gceWorld();
    const { id } = await get(world, addInstance(world));
    expect(id).toBe('4611686018427387906');
    expect(String(Number(id))).not.toBe(id);
  });

  it('is powered off in the end, and at once from a graceful shutdown if requested', async () => {
    const world = gceWorld();
    const path = addInstance(world, { gracefulTakes: 30 * MINUTE });
    shutdownTakes(world, path, null);
    await handOf(world).instances.stop(at(path));
    world.advance(20 * MINUTE);
    expect(status(world, path)).toBe('PENDING_STOP');
    await handOf(world).instances.stop({ ...at(path), noGracefulShutdown: true });
    expect(status(world, path)).toBe('STOPPING');
    world.advance(90_000);
    expect(status(world, path)).toBe('TERMINATED');
  });

  it('keeps its memory through a suspension', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    await handOf(world).instances.suspend(at(path));
    world.advance(MINUTE);
    expect(instanceIn(world, path)).toMatchObject({ status: 'SUSPENDED', guest: 'frozen' });
    await handOf(world).instances.resume(at(path));
    world.advance(MINUTE);
    expect(instanceIn(world, path)).toMatchObject({ status: 'RUNNING', guest: 'up', boot: 1 });
  });

  it('is gone with its boot disk when it is deleted, and the next one of its name has another ID', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    const disk = addDisk(world, {}, { instance: path });
    const { id } = await get(world, path);
    deleteInstance(world, path);
    world.advance(MINUTE);
    await expect(get(world, path)).rejects.toSatisfy((caught) => errorReasonOf(caught) === 'notFound');
    expect(diskIn(world, path.replace('/instances/', '/disks/'))).toBeUndefined();
    expect(diskIn(world, disk)?.users).toEqual([]);
    expect((await get(world, recreate(world, path))).id).not.toBe(id);
  });

  it('is not affected by operations on the instance that had its name before', () => {
    const world = gceWorld();
    const path = addInstance(world);
    stopGuest(world, path);
    recreate(world, path, { status: 'STOPPING' });
    world.advance(MINUTE);
    expect(status(world, path)).toBe('STOPPING');
  });

  it('is repaired when its host fails, and stops when it is a spot instance', () => {
    const world = gceWorld();
    const [path, spot] = [addInstance(world), addInstance(world, { spot: true })];
    failHost(world, path);
    failHost(world, spot);
    expect([status(world, path), status(world, spot)]).toEqual(['REPAIRING', 'STOPPING']);
    world.advance(10 * MINUTE);
    expect([status(world, path), status(world, spot)]).toEqual(['RUNNING', 'TERMINATED']);
    expect(instanceIn(world, path)?.boot).toBe(2);
  });

  it('shows nothing of a reset, or of a guest that halts', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    const before = await get(world, path);
    await handOf(world).instances.reset(at(path));
    haltGuest(world, path);
    expect(await get(world, path)).toEqual(before);
    expect(instanceIn(world, path)).toMatchObject({ boot: 2, guest: 'down' });
  });

  it('cannot do from one status what requires another', async () => {
    const world = gceWorld();
    const path = addInstance(world);
    stopGuest(world, path);
    const { instances } = handOf(world);
    for (const call of [
      instances.start(at(path)),
      instances.suspend(at(path)),
      instances.resume(at(path)),
      instances.reset(at(path)),
    ]) {
      await expect(call).rejects.toSatisfy((caught) => errorReasonOf(caught) === 'resourceNotReady');
    }
    expect(logged(world)).toEqual(['compute.instances.guestTerminate first last']);
  });

  it('is seen as it was a moment ago if reads are stale, and also by its number', async () => {
    const world = gceWorld({ staleUpTo: 5_000 });
    const path = addInstance(world);
    const id = instanceIn(world, path)?.id ?? '';
    stopGuest(world, path);
    world.advance(4_999);
    expect((await handOf(world).instances.get({ ...at(path), instance: id }))[0].status).toBe('RUNNING');
    world.advance(1);
    expect((await get(world, path)).status).toBe('STOPPING');
  });

  it('can be forked: what happens in one branch does not happen in the other', () => {
    const world = gceWorld();
    const path = addInstance(world);
    const branch = world.fork();
    stopGuest(branch, path);
    branch.advance(MINUTE);
    expect([status(world, path), status(branch, path)]).toEqual(['RUNNING', 'TERMINATED']);
  });

  it('writes log entries that the provider reads as hints', async () => {
    const world = gceWorld();
    const [one, two] = [addInstance(world), addInstance(world, { spot: true })];
    await handOf(world).instances.stop(at(one));
    preempt(world, two);
    world.advance(MINUTE);
    const { hints, faults, ignored } = readHints(world.parts.gce.events);
    expect(hints.map(({ machine, because }) => [machine, because])).toEqual([
      [two, 'preempted'],
      [one, 'api-call-stop'],
    ]);
    expect([faults, ignored.length]).toEqual([[], 1]);
  });
});
