import { write } from '../history.ts';
import { endOperationsOf } from './operations.ts';
import { notReady } from './refusal.ts';
import { disksOf, instanceIn, type Disk, type GceWorld, type Instance, type InstanceStatus } from './state.ts';

/** The lifecycle of one instance: https://cloud.google.com/compute/docs/instances/instance-lifecycle */

export const SETTLE_INSTANCE = 'gce.settle-instance';

/**
 * A finished transition must not end another one. A transition of a deleted instance must not end one of the next
 * instance with its name.
 */
const appointment = ({ path, id, status }: Instance): string => `${path} ${id} ${status}`;

const inDue = (world: GceWorld, instance: Instance, delay: number): void =>
  world.schedule(SETTLE_INSTANCE, delay, appointment(instance));

export const change = (world: GceWorld, instance: Instance, changes: Partial<Instance>): Instance => {
  const changed = { ...instance, ...changes };
  write(world.parts.gce.instances, instance.path, changed, world.now());
  return changed;
};

const require = (instance: Instance, ...allowed: readonly InstanceStatus[]): void => {
  if (!allowed.includes(instance.status)) throw notReady(instance.path);
};

/** @throws GceRefusal resourceNotReady */
export const stop = (world: GceWorld, instance: Instance, noGracefulShutdown = false): void => {
  require(instance, 'RUNNING', 'PENDING_STOP', 'STOPPING', 'TERMINATED', 'REPAIRING');
  if (instance.status === 'TERMINATED' || instance.status === 'STOPPING') return;
  if (instance.gracefulTakes === null || noGracefulShutdown) return beginStop(world, instance);
  if (instance.status === 'PENDING_STOP') return;
  inDue(world, change(world, instance, { status: 'PENDING_STOP', stopAskedAt: world.now() }), instance.gracefulTakes);
};

/** Presses the power button. The guest shuts down, or loses power after a time limit. */
export const beginStop = (world: GceWorld, instance: Instance, toBeDeleted = instance.toBeDeleted): void => {
  const stopAskedAt = instance.stopAskedAt ?? world.now();
  const stopping = change(world, instance, { status: 'STOPPING', stopAskedAt, toBeDeleted });
  inDue(world, stopping, Math.min(instance.shutdownTakes ?? Infinity, world.parts.gce.knobs.shutdownLimit));
};

/** @throws GceRefusal resourceNotReady */
export const start = (world: GceWorld, instance: Instance): void => {
  require(instance, 'TERMINATED', 'RUNNING');
  if (instance.status === 'TERMINATED') provision(world, instance);
};

/** @throws GceRefusal resourceNotReady */
export const suspend = (world: GceWorld, instance: Instance): void => {
  require(instance, 'RUNNING');
  inDue(world, change(world, instance, { status: 'SUSPENDING' }), world.parts.gce.knobs.suspendTakes);
};

/** @throws GceRefusal resourceNotReady */
export const resume = (world: GceWorld, instance: Instance): void => {
  require(instance, 'SUSPENDED');
  provision(world, instance);
};

const provision = (world: GceWorld, instance: Instance): void =>
  inDue(
    world,
    change(world, instance, { status: 'PROVISIONING', stopAskedAt: null }),
    world.parts.gce.knobs.provisioningTakes,
  );

/** A hard reboot. The state stays RUNNING. @throws GceRefusal resourceNotReady */
export const reset = (world: GceWorld, instance: Instance): void => {
  require(instance, 'RUNNING');
  change(world, instance, { guest: 'up', boot: instance.boot + 1, mounts: [] });
};

export const remove = (world: GceWorld, instance: Instance): void => {
  if (instance.guest === 'up') return beginStop(world, instance, true);
  const { deprovisioningTakes } = world.parts.gce.knobs;
  inDue(
    world,
    change(world, instance, { status: 'DEPROVISIONING', toBeDeleted: true, guest: 'down', mounts: [] }),
    deprovisioningTakes,
  );
};

/** Simulates a host failure, after which Google restarts the instance on another host. */
export const repair = (world: GceWorld, instance: Instance): void =>
  inDue(
    world,
    change(world, instance, { status: 'REPAIRING', guest: 'down', mounts: [] }),
    world.parts.gce.knobs.repairTakes,
  );

/** Completes the transition in progress. */
export const settleInstance = (world: GceWorld, about: string): void => {
  const [path = ''] = about.split(' ');
  const instance = instanceIn(world, path);
  if (instance && appointment(instance) === about) settle(world, instance);
};

const settle = (world: GceWorld, instance: Instance): void => {
  switch (instance.status) {
    case 'PROVISIONING':
    case 'REPAIRING':
      return inDue(world, change(world, instance, { status: 'STAGING' }), world.parts.gce.knobs.stagingTakes);
    case 'STAGING':
      return endStart(world, instance);
    case 'PENDING_STOP':
      return beginStop(world, instance);
    case 'STOPPING':
      return endStop(world, instance);
    case 'SUSPENDING':
      return endSuspend(world, instance);
    case 'DEPROVISIONING':
      return endDeletion(world, instance);
    case 'RUNNING':
    case 'SUSPENDED':
    case 'TERMINATED':
      return undefined;
  }
};

const endStart = (world: GceWorld, instance: Instance): void => {
  const boot = instance.guest === 'frozen' ? instance.boot : instance.boot + 1;
  change(world, instance, { status: 'RUNNING', guest: 'up', boot, startedAt: world.now() });
  endOperationsOf(world, instance.id, ['start', 'resume']);
};

const endStop = (world: GceWorld, instance: Instance): void => {
  const stopped = change(world, instance, {
    status: 'TERMINATED',
    guest: 'down',
    mounts: [],
    stoppedAt: world.now(),
    stopAskedAt: null,
  });
  endOperationsOf(world, instance.id, ['stop']);
  if (instance.toBeDeleted) remove(world, stopped);
};

const endSuspend = (world: GceWorld, instance: Instance): void => {
  const { guest, mounts } = instance;
  change(world, instance, {
    status: 'SUSPENDED',
    guest: guest === 'up' ? 'frozen' : 'down',
    mounts,
    suspendedAt: world.now(),
  });
  endOperationsOf(world, instance.id, ['suspend']);
};

const endDeletion = (world: GceWorld, instance: Instance): void => {
  const { gce } = world.parts;
  for (const disk of disksOf(world, instance.path)) {
    const doomed = instance.disks.some(({ source, autoDelete }) => source === disk.path && autoDelete);
    write(gce.disks, disk.path, doomed ? null : detachedFrom(world, disk, instance.path), world.now());
  }
  write(gce.instances, instance.path, null, world.now());
  endOperationsOf(world, instance.id, ['delete', 'stop']);
};

export const detachedFrom = (world: GceWorld, disk: Disk, instance: string): Disk => ({
  ...disk,
  users: disk.users.filter((user) => user !== instance),
  detachedAt: world.now(),
});
