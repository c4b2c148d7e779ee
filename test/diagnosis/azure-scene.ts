import { viewDisks as viewAzureDisks } from '../../providers/azure/disks.ts';
import { apiOf as azureApi, AZURE_DISK, SANDBOX_SUBSCRIPTION, type AzureParts } from '../../sandbox/azure-sandbox.ts';
import { addDisk as addAzureDisk } from '../../sandbox/azure/scenario.ts';
import { diskIn as azureDiskIn } from '../../sandbox/azure/state.ts';
import { addBoundClaim } from '../../sandbox/cluster/fixtures.ts';
import { nodeNameOf as azureNodeNameOf } from '../../sandbox/scenes/azure-database.ts';
import { clientsOf as azureClientsOf } from '../sandbox/azure/azure-world.ts';
import { portsOver as azurePortsOver, scene as azureScene } from '../sandbox/azure/azure-runs.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { type CloudScene, diagnoseWhere, START } from './cloud-scenes.ts';

export const onAzure = (): CloudScene<AzureParts> => {
  const { world, holder, spare } = azureScene();
  const disk = addAzureDisk(world);
  const handle = azureDiskIn(world, disk)?.armId ?? '';
  addBoundClaim(world, 'app-data', { driver: AZURE_DISK, handle, zone: `${world.parts.azure.location}-1` });
  const clients = azureClientsOf(world, { subscription: SANDBOX_SUBSCRIPTION });
  world.advance(START);
  return {
    world,
    driver: AZURE_DISK,
    disk,
    handle,
    node: azureNodeNameOf(world, spare),
    other: azureNodeNameOf(world, holder),
    machine: spare,
    otherMachine: holder,
    diagnose: diagnoseWhere(
      clusterIn(world, azureApi(world)),
      () => azurePortsOver(world, 100),
      (volumes, signal) => viewAzureDisks(clients, volumes, signal),
    ),
  };
};
