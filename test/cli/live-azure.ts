import { apiOf, createAzureSandbox, SANDBOX_SUBSCRIPTION, type AzureWorld } from '../../sandbox/azure-sandbox.ts';
import { openArmServer } from '../../sandbox/azure/arm-server.ts';
import { azureDatabaseOnTwoNodes, nodeNameOf } from '../../sandbox/scenes/azure-database.ts';
import { longAgo, openCluster, untilNow, type LiveCloud } from './live-cloud.ts';

export const openLiveAzure = async (
  prepare: (world: AzureWorld, holder: string) => void,
): Promise<LiveCloud<AzureWorld>> => {
  const world = createAzureSandbox(longAgo());
  const scene = azureDatabaseOnTwoNodes(world);
  untilNow(world, 120_000);
  prepare(world, scene.holder);
  untilNow(world, 0);
  const arm = await openArmServer(world);
  const { close, ...cluster } = await openCluster(world, apiOf(world));
  const environment = { AZURE_SUBSCRIPTION_ID: SANDBOX_SUBSCRIPTION, CLOUDFENCE_AZURE_ENDPOINT: arm.url };
  return {
    world,
    scene,
    node: nodeNameOf(world, scene.holder),
    ...cluster,
    environment,
    close: async () => void (await Promise.all([close(), arm.close()])),
  };
};
