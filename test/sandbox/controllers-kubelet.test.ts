import { describe, expect, it } from 'vitest';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { isReady } from '../../sandbox/cluster/controllers/nodes.ts';
import { addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import type { PlainWorld } from './plain-cloud.ts';
import { addDisk, boot, person, power, twoNodes } from './plain-cloud.ts';
import { secondsUntil } from './stopwatch.ts';

const unique = 'kubernetes.io/csi/disk.example.org^disk-1';
const node = (world: PlainWorld, name = 'node-1') => getObject(world, 'nodes', name);
const renewed = (world: PlainWorld): string | undefined =>
  getObject(world, 'leases', 'node-1', 'kube-node-lease')?.spec.renewTime;
const ready = (world: PlainWorld): boolean => {
  const known = node(world);
  return known !== undefined && isReady(known);
};
const db = (world: PlainWorld) => getObject(world, 'pods', 'db-0', 'default');

const deleteGracefully = (world: PlainWorld): void => {
  const pod = db(world);
  if (pod) person(world).remove('pods', pod);
};

const cordon = (world: PlainWorld): void => {
  const known = node(world);
  if (known) person(world).change('nodes', known, (draft) => void (draft.spec.unschedulable = true));
};

describe('a kubelet', () => {
  it('shows the identity of its machine in every place', () => {
    const world = twoNodes(1);
    expect(node(world)).toMatchObject({
      spec: { providerID: 'plain:///z-1a/m-1' },
      metadata: { annotations: { 'csi.volume.kubernetes.io/nodeid': '{"disk.example.org":"m-1"}' } },
    });
    expect(getObject(world, 'csinodes', 'node-1')?.spec.drivers[0]).toMatchObject({
      name: 'disk.example.org',
      nodeID: 'm-1',
    });
  });

  it('renews its Lease every ten seconds and its status every five minutes', () => {
    const world = twoNodes(1);
    const from = world.parts.cluster.audit.length;
    world.advance(600_000);
    const own = world.parts.cluster.audit.slice(from).filter(({ user }) => user === 'system:node:node-1');
    expect(own.filter(({ resource }) => resource === 'leases')).toHaveLength(60);
    expect(own.filter(({ resource }) => resource === 'nodes')).toHaveLength(2);
  });

  it('is silent once the guest is off, and reports until then while the guest shuts down', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopping');
    const before = renewed(world);
    world.advance(15_000);
    expect(renewed(world)).not.toBe(before);
    power(world, 'm-1', 'stopped');
    const last = renewed(world);
    world.advance(120_000);
    expect(renewed(world)).toBe(last);
    expect(ready(world)).toBe(false);
  });

  it('is silent from the start of a shutdown that ends it early', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.shutdownKillsKubelet = 'early';
    power(world, 'm-1', 'stopping');
    const last = renewed(world);
    world.advance(60_000);
    expect(renewed(world)).toBe(last);
    expect(world.parts.cloud.machines['m-1']?.mounts).toEqual(['disk-1']);
  });

  it('comes back with another bootID, and starts the pods that are still bound to it', () => {
    const world = twoNodes(1);
    const before = node(world)?.status.nodeInfo?.bootID;
    power(world, 'm-1', 'stopped');
    world.advance(120_000);
    boot(world, 'm-1');
    expect(secondsUntil(world, () => ready(world), 30)).not.toBeNull();
    expect(db(world)?.status.containerStatuses?.[0]?.state).toHaveProperty('waiting');
    world.advance(10_000);
    expect(node(world)?.status.nodeInfo?.bootID).not.toBe(before);
    expect(node(world)?.spec.taints).toBeUndefined();
    expect(world.parts.cloud.machines['m-1']?.mounts).toEqual(['disk-1']);
    expect(db(world)).toMatchObject({ spec: { nodeName: 'node-1' }, status: { phase: 'Running' } });
  });

  it('completes after its boot the deletion of pods that were Terminating before', () => {
    const world = twoNodes(1);
    power(world, 'm-1', 'stopped');
    deleteGracefully(world);
    const uid = db(world)?.metadata.uid;
    world.advance(60_000);
    expect(db(world)?.metadata.uid).toBe(uid);
    expect(db(world)?.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }));
    boot(world, 'm-1');
    expect(secondsUntil(world, () => db(world)?.metadata.uid !== uid, 30)).not.toBeNull();
  });

  it('keeps its bootID and its mounts when its memory is resumed', () => {
    const world = twoNodes(1);
    const guest = world.parts.cloud.machines['m-1'];
    const before = node(world)?.status.nodeInfo?.bootID;
    if (guest) guest.state = 'stopped';
    world.advance(120_000);
    if (guest) guest.state = 'running';
    expect(secondsUntil(world, () => ready(world), 30)).not.toBeNull();
    expect(node(world)?.status.nodeInfo?.bootID).toBe(before);
    expect(guest?.mounts).toEqual(['disk-1']);
  });

  it('continues to write while it is cut off, and the cluster gets no report', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.partitioned.push('node-1');
    const last = renewed(world);
    world.advance(400_000);
    expect(renewed(world)).toBe(last);
    expect(db(world)?.metadata.deletionTimestamp).toBeDefined();
    expect(world.parts.cloud.machines['m-1']?.mounts).toEqual(['disk-1']);
    world.parts.cluster.knobs.partitioned.length = 0;
    expect(secondsUntil(world, () => world.parts.cloud.machines['m-1']?.mounts.length === 0, 10)).not.toBeNull();
  });

  it('mounts nothing that its Node does not show as attached, whatever the cloud says', () => {
    const world = twoNodes(1);
    world.parts.cluster.knobs.attacherDown = true;
    const disk = addDisk(world, 'disk-2');
    Object.assign(world.parts.cloud.disks['disk-2'] ?? {}, { on: 'm-2' });
    addStatefulSet(world, {
      name: 'late',
      disks: [disk],
      spec: { nodeSelector: { 'kubernetes.io/hostname': 'node-2' } },
    });
    world.advance(60_000);
    expect(node(world, 'node-2')?.status.volumesInUse).toHaveLength(1);
    expect(world.parts.cloud.machines['m-2']?.mounts).toEqual([]);
    world.parts.cluster.knobs.attacherDown = false;
    world.advance(5_000);
    expect(world.parts.cloud.machines['m-2']?.mounts).toEqual(['disk-2']);
  });

  it('unmounts before a deleted pod and its volumesInUse entry are removed', () => {
    const world = twoNodes(1);
    expect(node(world)?.status).toMatchObject({ volumesInUse: [unique], volumesAttached: [{ name: unique }] });
    cordon(world);
    deleteGracefully(world);
    expect(secondsUntil(world, () => db(world)?.spec.nodeName === 'node-2', 10)).not.toBeNull();
    expect(node(world)?.status.volumesInUse).toEqual([]);
    world.advance(10_000);
    expect(db(world)?.status.phase).toBe('Running');
    expect(world.parts.cloud.violations).toEqual([]);
  });
});
