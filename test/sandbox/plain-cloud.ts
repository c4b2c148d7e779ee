import { clusterActors, startControlPlane } from '../../sandbox/cluster/controllers/actors.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import type { ClusterWorld } from '../../sandbox/cluster/cluster-world.ts';
import type { ClusterState } from '../../sandbox/cluster/store.ts';
import { emptyCluster } from '../../sandbox/cluster/store.ts';
import { addNode, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import type { UnderlyingCloud } from '../../sandbox/underlying-cloud.ts';
import type { World } from '../../sandbox/world.ts';
import { createWorld } from '../../sandbox/world.ts';

/**
 * The smallest cloud for a cluster: everything in it happens at once, and a disk is attached to at most one machine.
 */
export interface PlainCloud {
  readonly machines: Record<
    string,
    { state: 'running' | 'stopping' | 'stopped' | 'terminated'; boot: number; mounts: string[] }
  >;
  readonly disks: Record<string, { on: string | null; refuses: 'attach' | 'detach' | null }>;
  readonly violations: string[];
}

export interface PlainParts {
  readonly cluster: ClusterState;
  readonly cloud: PlainCloud;
}

export type PlainWorld = World<PlainParts>;

export const driver = 'disk.example.org';

const alive = (world: PlainWorld, machine: string): boolean =>
  ['running', 'stopping'].includes(world.parts.cloud.machines[machine]?.state ?? 'terminated');

const underlyingPlainCloud: UnderlyingCloud<PlainParts> = {
  driver,
  guestAlive: alive,
  guestStopping: (world, machine) => world.parts.cloud.machines[machine]?.state === 'stopping',
  bootOf: (world, machine) => String(world.parts.cloud.machines[machine]?.boot ?? 0),
  existence: (world, machine) => {
    const state = world.parts.cloud.machines[machine]?.state ?? 'terminated';
    if (state === 'terminated') return 'gone';
    return state === 'stopped' ? 'shut-down' : 'exists';
  },
  publish: (world, handle, machine) => {
    const disk = world.parts.cloud.disks[handle];
    if (!disk || disk.refuses === 'attach' || (disk.on !== null && disk.on !== machine))
      return { error: `VolumeInUse: ${handle}` };
    disk.on = machine;
    return 'done';
  },
  unpublish: (world, handle, machine) => {
    const disk = world.parts.cloud.disks[handle];
    if (disk?.refuses === 'detach') return { error: `InternalError: ${handle}` };
    if (disk?.on !== machine) return 'done';
    if (alive(world, machine) && world.parts.cloud.machines[machine]?.mounts.includes(handle))
      world.parts.cloud.violations.push(handle);
    disk.on = null;
    return 'pending';
  },
  mount: (world, handle, machine) => {
    if (world.parts.cloud.disks[handle]?.on !== machine) return false;
    world.parts.cloud.machines[machine]?.mounts.push(handle);
    return true;
  },
  unmount: (world, handle, machine) => {
    const guest = world.parts.cloud.machines[machine];
    if (guest) guest.mounts = guest.mounts.filter((mounted) => mounted !== handle);
  },
};

export const emptyPlainWorld = (seed: number): PlainWorld =>
  createWorld(
    clusterActors(underlyingPlainCloud),
    { cluster: emptyCluster(), cloud: { machines: {}, disks: {}, violations: [] } },
    { now: Date.UTC(2026, 10, 21), seed },
  );

export const addMachine = (world: PlainWorld, machine: string, node: string, zone = 'z-1a'): void => {
  world.parts.cloud.machines[machine] = { state: 'running', boot: 1, mounts: [] };
  addNode(world, { name: node, machine, providerID: `plain:///${zone}/${machine}`, zone, driver });
};

export const addDisk = (world: PlainWorld, handle: string) => {
  world.parts.cloud.disks[handle] = { on: null, refuses: null };
  return { driver, handle, zone: 'z-1a', volume: `pv-${handle}` };
};

/** Two nodes in one zone, and `db-0` with its disk on the first. */
export const twoNodes = (seed: number): PlainWorld => {
  const world = emptyPlainWorld(seed);
  addMachine(world, 'm-1', 'node-1');
  addMachine(world, 'm-2', 'node-2');
  startControlPlane(world);
  settle(world);
  addStatefulSet(world, { name: 'db', disks: [addDisk(world, 'disk-1')] });
  settle(world);
  return world;
};

export const power = (world: PlainWorld, machine: string, state: 'stopping' | 'stopped' | 'terminated'): void => {
  const guest = world.parts.cloud.machines[machine];
  if (!guest) return;
  guest.state = state;
  if (state !== 'stopping') guest.mounts = [];
};

export const boot = (world: PlainWorld, machine: string): void => {
  const guest = world.parts.cloud.machines[machine];
  if (guest) Object.assign(guest, { state: 'running', boot: guest.boot + 1, mounts: [] });
};

/** Writes as a person or a script would, without an API. */
export const person = (world: ClusterWorld) => writerAs(world, 'person');
