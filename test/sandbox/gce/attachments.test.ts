import { describe, expect, it } from 'vitest';
import { errorReasonOf, httpStatusOf } from '../../../providers/gcp/errors.ts';
import { addFault } from '../../../sandbox/gce/faults.ts';
import { resume, suspend } from '../../../sandbox/gce/instances.ts';
import { addDisk, addInstance, deleteInstance, recreate, stopGuest } from '../../../sandbox/gce/scenario.ts';
import { diskIn, instanceIn, type GceWorld } from '../../../sandbox/gce/state.ts';
import { underlyingGce } from '../../../sandbox/gce/underlying-cloud.ts';
import { MINUTE, gceWorld, place, zone } from './gce-world.ts';
import { handOf } from './sdk-hand.ts';

const at = (path: string) => ({ project: place.project, zone, instance: path.split('/').at(-1) ?? '' });
const detach = (world: GceWorld, path: string, deviceName: string, requestId?: string) =>
  handOf(world).instances.detachDisk({ ...at(path), deviceName, ...(requestId !== undefined && { requestId }) });
const attach = (world: GceWorld, path: string, source: string, mode = 'READ_WRITE') =>
  handOf(world).instances.attachDisk({ ...at(path), attachedDiskResource: { source, mode } });
const users = (world: GceWorld, disk: string) => diskIn(world, disk)?.users;
const declinedWith = (reason: string, status = 400) =>
  expect.toSatisfy((caught: unknown) => errorReasonOf(caught) === reason && httpStatusOf(caught) === status);

const mounted = () => {
  const world = gceWorld();
  const machine = addInstance(world);
  const disk = addDisk(world, {}, { instance: machine, deviceName: 'data' });
  expect(underlyingGce.mount(world, disk, machine)).toBe(true);
  return { world, machine, disk };
};

describe("disks in the sandbox's Compute Engine", () => {
  it('can be detached from a running guest that has them mounted, which is a violation', async () => {
    const { world, machine, disk } = mounted();
    await detach(world, machine, 'data');
    expect(users(world, disk)).toEqual([machine]);
    world.advance(MINUTE);
    expect(users(world, disk)).toEqual([]);
    await attach(world, addInstance(world), disk);
    world.advance(MINUTE);
    expect(world.parts.gce.violations.map(({ what }) => what)).toEqual([
      expect.stringMatching(/was detached from .*node-1 .*guest is up/),
      expect.stringMatching(/was attached to .*node-\d+ .* while .*node-1 .*guest is up/),
    ]);
  });

  it('cause a violation if they are taken from a suspended guest, and none from a stopped one', async () => {
    const { world, machine } = mounted();
    const instance = instanceIn(world, machine);
    if (instance) suspend(world, instance);
    world.advance(MINUTE);
    await detach(world, machine, 'data');
    world.advance(MINUTE);
    expect(world.parts.gce.violations).toHaveLength(1);
    const calm = mounted();
    stopGuest(calm.world, calm.machine);
    calm.world.advance(MINUTE);
    await detach(calm.world, calm.machine, 'data');
    calm.world.advance(MINUTE);
    expect([users(calm.world, calm.disk), calm.world.parts.gce.violations]).toEqual([[], []]);
  });

  it('stay mounted during a suspension, but not during a stop', () => {
    const { world, machine, disk } = mounted();
    const instance = instanceIn(world, machine);
    if (instance) suspend(world, instance);
    world.advance(MINUTE);
    const suspended = instanceIn(world, machine);
    if (suspended) resume(world, suspended);
    world.advance(MINUTE);
    expect(instanceIn(world, machine)).toMatchObject({ status: 'RUNNING', boot: 1, mounts: [disk] });
    stopGuest(world, machine);
    world.advance(MINUTE);
    expect(instanceIn(world, machine)).toMatchObject({ status: 'TERMINATED', mounts: [] });
  });

  it('are rejected where Compute Engine rejects them', async () => {
    const { world, machine, disk } = mounted();
    const other = addInstance(world);
    const [elsewhere, creating] = [
      addDisk(world, { path: `projects/${place.project}/zones/${place.region}-b/disks/d` }),
      addDisk(world, { status: 'CREATING' }),
    ];
    await expect(attach(world, other, disk)).rejects.toEqual(declinedWith('resourceInUseByAnotherResource'));
    await expect(attach(world, other, elsewhere)).rejects.toEqual(declinedWith('invalid'));
    await expect(attach(world, other, creating)).rejects.toEqual(declinedWith('resourceNotReady'));
    await expect(attach(world, other, `${disk}-not`)).rejects.toEqual(declinedWith('notFound', 404));
    await expect(detach(world, other, 'data')).rejects.toEqual(declinedWith('invalid'));
    await expect(detach(world, machine, 'persistent-disk-0')).rejects.toEqual(declinedWith('invalid'));
    await expect(detach(world, `${machine}-not`, 'data')).rejects.toEqual(declinedWith('notFound', 404));
    await expect(detach(world, machine, 'data', 'no-uuid')).rejects.toEqual(declinedWith('invalid'));
    await detach(world, machine, 'data');
    await expect(detach(world, machine, 'data')).rejects.toEqual(declinedWith('resourceNotReady'));
    world.advance(MINUTE);
    await expect(detach(world, machine, 'data')).rejects.toEqual(declinedWith('invalid'));
  });

  it('are shared only by readers', async () => {
    const world = gceWorld();
    const [one, two] = [addInstance(world), addInstance(world)];
    const disk = addDisk(world, { accessMode: 'READ_ONLY_MANY' }, { instance: one, mode: 'READ_ONLY' });
    await attach(world, two, disk, 'READ_ONLY');
    world.advance(MINUTE);
    expect(users(world, disk)).toEqual([one, two]);
  });

  it('ignore a call for the instance that had the name before', async () => {
    const { world, machine } = mounted();
    const id = instanceIn(world, machine)?.id ?? '';
    deleteInstance(world, machine);
    world.advance(MINUTE);
    recreate(world, machine);
    await expect(handOf(world).instances.get({ ...at(machine), instance: id })).rejects.toEqual(
      declinedWith('notFound', 404),
    );
    await expect(detach(world, `${machine.replace(/[^/]*$/, '')}${id}`, 'data')).rejects.toEqual(
      declinedWith('notFound', 404),
    );
  });
});

describe('operations', () => {
  it('begin once if a request arrives twice', async () => {
    const { world, machine } = mounted();
    const requestId = '0a000000-0000-4000-8000-000000000001';
    const [first, second] = [
      await detach(world, machine, 'data', requestId),
      await detach(world, machine, 'data', requestId),
    ];
    expect(second[0].latestResponse.name).toBe(first[0].latestResponse.name);
    expect(world.parts.gce.operations).toHaveLength(1);
  });

  it('go from PENDING to RUNNING to DONE, and a wait lets time pass until then', async () => {
    const { world, machine } = mounted();
    const [{ latestResponse }] = await detach(world, machine, 'data');
    const operation = { project: place.project, zone, operation: latestResponse.name ?? '' };
    const [pending] = await handOf(world).operations.get(operation);
    world.advance(1_000);
    const [running] = await handOf(world).operations.get(operation);
    const [done] = await handOf(world).operations.wait(operation);
    expect([pending.status, running.status, done.status]).toEqual(['PENDING', 'RUNNING', 'DONE']);
    expect(world.now()).toBe(Date.UTC(2026, 10, 21, 0, 0, 2, 500));
  });

  it('are waited for at most two minutes', async () => {
    const world = gceWorld({ shutdownLimit: 10 * MINUTE });
    const machine = addInstance(world, { shutdownTakes: null });
    const [{ latestResponse }] = await handOf(world).instances.stop(at(machine));
    const [waited] = await handOf(world).operations.wait({
      project: place.project,
      zone,
      operation: latestResponse.name ?? '',
    });
    expect([waited.status, world.now()]).toEqual(['RUNNING', Date.UTC(2026, 10, 21, 0, 2)]);
  });

  it('fail if the instance is deleted meanwhile, and change nothing if they were told to fail', async () => {
    const { world, machine, disk } = mounted();
    addFault(world.parts.gce, {
      method: 'instances.detachDisk',
      mishap: { kind: 'failing-operation', error: { code: 'INTERNAL_ERROR', status: 500 } },
    });
    await detach(world, machine, 'data');
    world.advance(MINUTE);
    expect(users(world, disk)).toEqual([machine]);
    world.parts.gce.knobs.detachTakes = 10 * MINUTE;
    await detach(world, machine, 'data');
    deleteInstance(world, machine);
    world.advance(20 * MINUTE);
    expect(world.parts.gce.operations.map(({ error }) => error?.code)).toEqual([
      'INTERNAL_ERROR',
      'RESOURCE_NOT_FOUND',
    ]);
  });
});

describe('the Persistent Disk driver on the sandbox', () => {
  it('publishes and unpublishes by asking again', () => {
    const world = gceWorld();
    const [machine, disk] = [addInstance(world), addDisk(world)];
    expect([
      underlyingGce.publish(world, disk, machine),
      underlyingGce.publish(world, disk, machine),
      underlyingGce.mount(world, disk, machine),
    ]).toEqual(['pending', 'pending', false]);
    world.advance(MINUTE);
    expect([underlyingGce.publish(world, disk, machine), underlyingGce.unpublish(world, disk, machine)]).toEqual([
      'done',
      'pending',
    ]);
    world.advance(MINUTE);
    expect([underlyingGce.unpublish(world, disk, machine), users(world, disk)]).toEqual(['done', []]);
  });

  it('learns that a disk is in use elsewhere, and treats a disk of a machine that is gone as detached', () => {
    const { world, machine, disk } = mounted();
    expect(underlyingGce.publish(world, disk, addInstance(world))).toEqual({
      error: expect.stringMatching(/^resourceInUseByAnotherResource/),
    });
    deleteInstance(world, machine);
    world.advance(MINUTE);
    expect([
      underlyingGce.unpublish(world, disk, machine),
      underlyingGce.existence(world, machine),
      users(world, disk),
    ]).toEqual(['done', 'gone', []]);
  });

  it('finds that the cloud controller does nothing about a stopped machine', () => {
    const { world, machine } = mounted();
    stopGuest(world, machine);
    world.advance(MINUTE);
    expect([instanceIn(world, machine)?.status, underlyingGce.existence(world, machine)]).toEqual([
      'TERMINATED',
      'exists',
    ]);
  });
});
