import { listObjects, getObject } from '../get-objects.ts';
import type { DesiredVolume } from './desired-state.ts';
import { desiredVolumes, attachmentKey } from './desired-state.ts';
import type { AttachedVolume } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { reportMultiAttach } from './attach-events.ts';
import { isReady } from './nodes.ts';
import { hasTaint, outOfService } from './taints.ts';
import { writerAs } from './object-writer.ts';
import { attachmentOf, dueAt, mayStart, operationOn, startOperation } from './volume-operations.ts';

const loop = 100;
const maxWaitForUnmount = 360_000;
const syncEvery = 60_000;

type Desired = ReadonlyMap<string, DesiredVolume>;

/**
 * One pass of attach-detach's reconciler (pkg/controller/volume/attachdetach/reconciler). It has the same effect as the
 * 100 ms loop: it runs after each write that it watches, and whenever one of its timers ends.
 */
export const reconcileVolumes = (world: ClusterWorld): void => {
  rememberInUse(world);
  const desired = desiredVolumes(world);
  const { memory } = world.parts.cluster;
  for (const attached of Object.values(memory.attached)) {
    if (!desired.has(attachmentKey(attached.unique, attached.node))) detachUnwanted(world, attached);
  }
  for (const wanted of desired.values()) attachWanted(world, wanted, desired);
  for (const key of Object.keys(memory.multiAttachTold)) if (!desired.has(key)) delete memory.multiAttachTold[key];
  for (const node of listObjects(world, 'nodes')) reportAttached(world, node.metadata.name);
  wakeWhenDue(world, desired);
};

/** The last known volumesInUse of a Node is kept after its deletion. Those volumes still count as mounted. */
const rememberInUse = (world: ClusterWorld): void => {
  for (const node of listObjects(world, 'nodes'))
    world.parts.cluster.memory.volumesInUse[node.metadata.name] = node.status.volumesInUse ?? [];
};

const detachUnwanted = (world: ClusterWorld, attached: AttachedVolume): void => {
  const operation = operationOn(world, attached);
  if (operation?.pending) return;
  attached.detachRequested ??= world.now();
  if (!safeToDetach(world, attached) || !mayStart(world, attached, 'detach')) return;
  attached.reported = false;
  reportAttached(world, attached.node);
  startOperation(world, attached, 'detach');
};

/**
 * A volume can be detached if it is unmounted, or if its node is given up: because of the taint's key, whatever its
 * effect or the node's readiness, or after six unhealthy minutes.
 */
const safeToDetach = (world: ClusterWorld, attached: AttachedVolume): boolean => {
  const { memory, knobs } = world.parts.cluster;
  if (!memory.volumesInUse[attached.node]?.includes(attached.unique)) return true;
  const node = getObject(world, 'nodes', attached.node);
  if (node && hasTaint(node, outOfService)) return true;
  const waited = world.now() - (attached.detachRequested ?? world.now());
  return !(node && isReady(node)) && waited >= maxWaitForUnmount && !knobs.disableForceDetachOnTimeout;
};

const attachWanted = (world: ClusterWorld, wanted: DesiredVolume, desired: Desired): void => {
  const { memory } = world.parts.cluster;
  const key = { unique: wanted.volume.unique, node: wanted.node, volume: wanted.volume.volume };
  const known = memory.attached[attachmentKey(key.unique, key.node)];
  if (operationOn(world, key)?.pending) return;
  if (known?.confirmed) return void (known.detachRequested = null);
  const holders = Object.values(memory.attached).filter(
    (other) => other.unique === key.unique && other.node !== key.node && other.confirmed,
  );
  if (holders.length > 0 && !wanted.volume.shared) return reportMultiAttach(world, wanted, holders, desired);
  if (mayStart(world, key, 'attach')) startOperation(world, key, 'attach');
};

/** The timers of pending unmounts and of the operations. */
const wakeWhenDue = (world: ClusterWorld, desired: Desired): void => {
  const { attached, operations } = world.parts.cluster.memory;
  const unwanted = Object.values(attached).filter((one) => !desired.has(attachmentKey(one.unique, one.node)));
  const unmounts = unwanted.flatMap(({ detachRequested }) =>
    detachRequested === null ? [] : [detachRequested + maxWaitForUnmount],
  );
  const timers = Object.values(operations).map((operation) => dueAt(world, operation));
  const next = Math.min(...[...unmounts, ...timers].filter((at) => at > world.now()));
  if (Number.isFinite(next)) world.schedule('attach-detach', Math.ceil(next / loop) * loop - world.now());
};

/** Every minute, attach-detach checks whether its attached volumes are still attached (`VolumesAreAttached`). */
export const syncAttachedVolumes = (world: ClusterWorld): void => {
  const { attached } = world.parts.cluster.memory;
  for (const [key, one] of Object.entries(attached)) {
    if (one.confirmed && attachmentOf(world, one)?.status.attached !== true) delete attached[key];
  }
  world.schedule('attach-detach', loop);
  world.schedule('attach-detach/sync', syncEvery);
};

/**
 * Writes a Node's `status.volumesAttached`: removes a volume before its detach begins, and adds it after it is
 * attached.
 */
const reportAttached = (world: ClusterWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (!node) return;
  const { attached } = world.parts.cluster.memory;
  const names = Object.values(attached)
    .filter((one) => one.node === name && one.reported)
    .map((one) => one.unique)
    .toSorted();
  if (names.join() === (node.status.volumesAttached ?? []).map((known) => known.name).join()) return;
  writerAs(world, 'attachdetach-controller').change('nodes', node, (draft) => {
    draft.status.volumesAttached = names.map((unique) => ({ name: unique, devicePath: '' }));
  });
};
