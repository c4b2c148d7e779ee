import { viewDisks as viewGceDisks } from '../../providers/gcp/disks.ts';
import { addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { apiOf as gceApi, PERSISTENT_DISK, type GceParts } from '../../sandbox/gce-sandbox.ts';
import { addDisk as addGceDisk, zonesOf } from '../../sandbox/gce/scenario.ts';
import { nodeNameOf as gceNodeNameOf } from '../../sandbox/scenes/gce-database.ts';
import { portsOver as gcePortsOver, scene as gceScene } from '../sandbox/gce/gce-runs.ts';
import { clientsOf as gceClientsOf } from '../sandbox/gce/gce-world.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { type CloudScene, diagnoseWhere, START } from './cloud-scenes.ts';

export const onGoogleCloud = (): CloudScene<GceParts> => {
  const { world, holder, spare } = gceScene();
  const disk = addGceDisk(world);
  addBoundClaim(world, 'app-data', { driver: PERSISTENT_DISK, handle: disk, zone: zonesOf(world)[0] ?? '' });
  world.advance(START);
  return {
    world,
    driver: PERSISTENT_DISK,
    disk,
    handle: disk,
    node: gceNodeNameOf(spare),
    other: gceNodeNameOf(holder),
    machine: spare,
    otherMachine: holder,
    diagnose: diagnoseWhere(
      clusterIn(world, gceApi(world)),
      () => gcePortsOver(world),
      (volumes, signal) => viewGceDisks(gceClientsOf(world), volumes, signal),
    ),
  };
};
