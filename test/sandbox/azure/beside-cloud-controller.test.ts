import { describe, expect, it } from 'vitest';
import { deallocate, start } from '../../../sandbox/azure/machines.ts';
import type { AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { addDisk } from '../../../sandbox/azure/scenario.ts';
import { diskIn } from '../../../sandbox/azure/state.ts';
import { AZURE_DISK } from '../../../sandbox/azure-sandbox.ts';
import { addBarePod, addBoundClaim } from '../../../sandbox/cluster/fixtures.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { change, react, scene } from './azure-runs.ts';

/**
 * The cloud controller of Azure itself sets and removes the out-of-service taint with NoExecute. Ours has NoSchedule.
 */

const besideController = () => {
  const incident = scene();
  incident.world.parts.cluster.knobs.cloudController = true;
  incident.world.parts.azure.knobs.outOfServiceAfter = 60_000;
  return incident;
};

const KEY = 'node.kubernetes.io/out-of-service';

const outOfService = (world: AzureWorld, machine: string): readonly string[] =>
  (getObject(world, 'nodes', nodeNameOf(world, machine))?.spec.taints ?? [])
    .filter(({ key }) => key === KEY)
    .map(({ effect }) => effect)
    .toSorted();

const strippers = (world: AzureWorld): readonly string[] =>
  world.parts.cluster.audit.filter(({ user }) => user === 'azure-cloud-controller-manager').map(({ verb }) => verb);

const podUid = (world: AzureWorld): string | undefined => getObject(world, 'pods', 'db-0', 'default')?.metadata.uid;

describe('a fence next to the cloud controller of Azure', () => {
  it('ends long before the controller acts, and the pod that moved stays where it is', async () => {
    const { world, holder } = besideController();
    change(world, holder, deallocate, 30_000);
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
    expect(outOfService(world, holder)).toEqual([]);
    world.advance(30_000);
    const moved = podUid(world);
    world.advance(600_000);
    expect(outOfService(world, holder)).toEqual(['NoExecute']);
    expect(podUid(world)).toBe(moved);
    expect(world.parts.azure.violations).toEqual([]);
  });

  it('outlasts the return of the Node until the boot is proven fresh, although the controller is done', async () => {
    const { world, holder } = besideController();
    change(world, holder, deallocate);
    await react(world, holder);
    world.advance(600_000);
    change(world, holder, start, 120_000);
    expect(outOfService(world, holder)).toEqual([]);
    expect(strippers(world).length).toBeGreaterThan(1);
    expect(await react(world, holder)).toMatchObject({ outcome: 'released' });
    expect(getObject(world, 'nodes', nodeNameOf(world, holder))?.spec.taints ?? []).toEqual([]);
  });

  it('continues while the taint of the controller is set when work comes back to a parked Node', async () => {
    const { world, holder } = besideController();
    change(world, holder, deallocate, 30_000);
    await react(world, holder);
    world.advance(600_000);
    expect(outOfService(world, holder)).toEqual(['NoExecute']);
    const disk = addDisk(world);
    const armId = diskIn(world, disk)?.armId ?? '';
    addBoundClaim(world, 'late-data', { driver: AZURE_DISK, handle: armId, zone: `${world.parts.azure.location}-1` });
    addBarePod(world, {
      name: 'late',
      spec: {
        nodeName: nodeNameOf(world, holder),
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'late-data' } }],
      },
    });
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced', steps: [{ step: 'mark' }, {}, {}] });
    expect(getObject(world, 'pods', 'late', 'default')).toBeUndefined();
    expect(outOfService(world, holder)).toEqual(['NoExecute']);
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced', steps: [] });
    change(world, holder, start, 120_000);
    expect(await react(world, holder)).toMatchObject({ outcome: 'released' });
    expect(getObject(world, 'nodes', nodeNameOf(world, holder))?.spec.taints ?? []).toEqual([]);
    expect(world.parts.azure.violations).toEqual([]);
  });

  it('does not remove the taints that the controller added later', async () => {
    const { world, disk, holder, spare } = besideController();
    change(world, holder, deallocate);
    for (let waited = 0; outOfService(world, holder).length === 0 && waited < 600; waited += 1) world.advance(1_000);
    expect(outOfService(world, holder)).toEqual(['NoExecute']);
    expect(await react(world, holder)).toMatchObject({ outcome: 'fenced' });
    expect(outOfService(world, holder)).toEqual(['NoExecute']);
    const record: unknown = JSON.parse(
      getObject(world, 'nodes', nodeNameOf(world, holder))?.metadata.annotations?.['cloudfence.dev/fence'] ?? '{}',
    );
    expect(record).toMatchObject({ outOfService: 'foreign' });
    world.advance(60_000);
    expect(world.parts.azure.disks[disk.toLowerCase()]?.present?.attachments[0]?.machine).toBe(spare);
  });
});
