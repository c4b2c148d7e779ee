import { openHttpsDoor } from '../../sandbox/cluster/api/https-door.ts';
import { apiServerOf, type ApiUser, type Faults } from '../../sandbox/cluster/api/server.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import { reactionsOf } from '../../sandbox/cluster/reactions.ts';
import { storeOf } from '../../sandbox/cluster/store.ts';
import type { World } from '../../sandbox/world.ts';
import type { CloudStage } from './stage.ts';

/** The world behind two real sockets of this computer. */
export interface Doors {
  readonly kubernetes: { readonly url: string; readonly ca: string; readonly token: string };
  readonly cloud: { readonly url: string };
  /** Requests that came through so far. */
  readonly requests: () => { readonly kubernetes: number; readonly cloud: Readonly<Record<string, number>> };
  readonly close: () => Promise<void>;
}

const TOKEN = 'demo-token';

/** Breaks nothing, but hears of each request before it has any effect. */
const heard = (arrived: () => void): Faults => ({
  before: () => {
    arrived();
    return undefined;
  },
});

/** `arrived` is called at each request, before it has any effect. */
export const openDoors = async <P extends ClusterParts>(world: World<P>, stage: CloudStage<P>, user: ApiUser, arrived: () => void): Promise<Doors> => {
  const server = { store: storeOf(world.parts.cluster), now: world.now, onWrite: reactionsOf(world) };
  const api = await openHttpsDoor(apiServerOf({ ...server, users: { [TOKEN]: user }, faults: heard(arrived) }));
  const cloud = await stage.openDoor(world, arrived);
  return {
    kubernetes: { url: api.url, ca: api.caData, token: TOKEN },
    cloud: { url: cloud.url },
    requests: () => ({ kubernetes: api.traffic().requests, cloud: cloud.calls() }),
    close: async () => {
      await Promise.all([api.close(), cloud.close()]);
    },
  };
};
