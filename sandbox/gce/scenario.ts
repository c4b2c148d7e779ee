import { put, write } from '../history.ts';
import { logSystemEvent } from './audit.ts';
import { beginStop, change, remove, repair } from './instances.ts';
import { diskIn, instanceIn, nextId, type AttachedDisk, type Disk, type GceWorld, type Instance } from './state.ts';

/** Changes that tests and demos make to the cloud without its API. */

export const zonesOf = (world: GceWorld): readonly string[] =>
  ['a', 'b', 'c'].map((letter) => `${world.parts.gce.region}-${letter}`);

export const pathOf = (world: GceWorld, name: string, zone = zonesOf(world)[0] ?? ''): string =>
  `projects/${world.parts.gce.project}/zones/${zone}/instances/${name}`;

/** Adds an instance with its boot disk, as if it had always existed. It runs by default. Returns its path. */
export const addInstance = (world: GceWorld, wanted: Partial<Instance> = {}): string => {
  const { gce } = world.parts;
  const id = nextId(gce);
  const path = wanted.path ?? pathOf(world, `node-${gce.serial}`);
  const instance: Instance = { ...newInstance(world, path, id), ...wanted };
  put(gce.instances, path, instance);
  addDisk(
    world,
    { path: path.replace('/instances/', '/disks/') },
    { instance: path, boot: true, autoDelete: true, deviceName: 'persistent-disk-0' },
  );
  return path;
};

/** Creates the next instance with the same name, as a managed instance group does. */
export const recreate = (world: GceWorld, path: string, wanted: Partial<Instance> = {}): string => {
  const instance = { ...newInstance(world, path, nextId(world.parts.gce)), ...wanted };
  write(world.parts.gce.instances, path, instance, world.now());
  addDisk(
    world,
    { path: path.replace('/instances/', '/disks/') },
    { instance: path, boot: true, autoDelete: true, deviceName: 'persistent-disk-0' },
  );
  return path;
};

const newInstance = (world: GceWorld, path: string, id: string): Instance => ({
  path,
  id,
  status: 'RUNNING',
  createdAt: world.now(),
  startedAt: world.now(),
  stoppedAt: null,
  suspendedAt: null,
  stopAskedAt: null,
  disks: [],
  labels: {},
  hostname: null,
  spot: false,
  createdBy: null,
  gracefulTakes: null,
  shutdownTakes: world.parts.gce.knobs.shutdownTakes,
  toBeDeleted: false,
  guest: 'up',
  boot: 1,
  mounts: [],
});

/** Adds a disk, as if it had always existed, and attaches it if requested. Returns its path. */
export const addDisk = (
  world: GceWorld,
  wanted: Partial<Disk> = {},
  attached?: Partial<AttachedDisk> & { readonly instance: string },
): string => {
  const { gce } = world.parts;
  const id = nextId(gce);
  const path = wanted.path ?? `projects/${gce.project}/zones/${gce.region}-a/disks/pvc-${gce.serial}`;
  const users = attached ? [attached.instance] : [];
  put(gce.disks, path, {
    path,
    id,
    status: 'READY',
    accessMode: 'READ_WRITE_SINGLE',
    createdAt: world.now(),
    attachedAt: null,
    detachedAt: null,
    users,
    ...wanted,
  });
  if (attached) attachAtOnce(world, path, attached);
  return path;
};

const attachAtOnce = (
  world: GceWorld,
  source: string,
  { instance: holder, ...wanted }: Partial<AttachedDisk> & { readonly instance: string },
): void => {
  const instance = known(world, holder);
  const deviceName = source.split('/').at(-1) ?? '';
  const disk: AttachedDisk = { deviceName, source, boot: false, mode: 'READ_WRITE', autoDelete: false, ...wanted };
  put(world.parts.gce.instances, holder, { ...instance, disks: [...instance.disks, disk] });
};

const known = (world: GceWorld, path: string): Instance => {
  const instance = instanceIn(world, path);
  if (!instance) throw new Error(`the sandbox has no instance ${path}`);
  return instance;
};

/** Runs `poweroff` in the machine. */
export const stopGuest = (world: GceWorld, path: string): void => {
  const instance = known(world, path);
  if (instance.status !== 'RUNNING') return;
  logSystemEvent(world, instance, 'guestTerminate');
  beginStop(world, instance);
};

/** Stops the guest without Compute Engine noticing, as a kernel panic or `halt` does. */
export const haltGuest = (world: GceWorld, path: string): void =>
  void change(world, known(world, path), { guest: 'down', mounts: [] });

/** Google preempts a spot instance. */
export const preempt = (world: GceWorld, path: string): void => {
  const instance = known(world, path);
  logSystemEvent(world, instance, 'preempted');
  beginStop(world, instance);
};

/** The host fails. Google restarts instances with automatic restart, and others stop. */
export const failHost = (world: GceWorld, path: string): void => {
  const instance = known(world, path);
  logSystemEvent(world, instance, 'hostError');
  if (instance.spot) beginStop(world, change(world, instance, { guest: 'down', mounts: [] }));
  else repair(world, instance);
};

export const deleteInstance = (world: GceWorld, path: string): void => remove(world, known(world, path));

/** A local SSD, which is not a separate resource and is created with its machine. */
export const addLocalSsd = (world: GceWorld, path: string): void => {
  const instance = known(world, path);
  const disk: AttachedDisk = {
    deviceName: `local-ssd-${instance.disks.length}`,
    source: null,
    boot: false,
    mode: 'READ_WRITE',
    autoDelete: true,
  };
  put(world.parts.gce.instances, path, { ...instance, disks: [...instance.disks, disk] });
};

/** Sets how long this machine takes to shut down (ms). Null means as long as Compute Engine allows. */
export const shutdownTakes = (world: GceWorld, path: string, ms: number | null): void =>
  void change(world, known(world, path), { shutdownTakes: ms });

/** Deletes the disk immediately. */
export const forgetDisk = (world: GceWorld, path: string): void => {
  if (diskIn(world, path)) write(world.parts.gce.disks, path, null, world.now());
};
