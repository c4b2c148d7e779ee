import { apiOf, createGceSandbox, type WholeGceWorld } from '../../sandbox/gce-sandbox.ts';
import { openGceServer } from '../../sandbox/gce/gce-server.ts';
import { gceDatabaseOnTwoNodes, nodeNameOf } from '../../sandbox/scenes/gce-database.ts';
import { longAgo, openCluster, untilNow, type LiveCloud } from './live-cloud.ts';

export const openLiveGce = async (
  prepare: (world: WholeGceWorld, holder: string) => void,
): Promise<LiveCloud<WholeGceWorld>> => {
  const world = createGceSandbox(longAgo());
  const scene = gceDatabaseOnTwoNodes(world);
  untilNow(world, 120_000);
  prepare(world, scene.holder);
  untilNow(world, 0);
  const gce = await openGceServer(world);
  const { close, ...cluster } = await openCluster(world, apiOf(world));
  return {
    world,
    scene,
    node: nodeNameOf(scene.holder),
    ...cluster,
    environment: { CLOUDFENCE_GCP_ENDPOINT: gce.url },
    close: async () => void (await Promise.all([close(), gce.close()])),
  };
};
