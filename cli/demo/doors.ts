import { apiOf, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { openHttpsDoor } from '../../sandbox/cluster/api/https-door.ts';
import type { ApiUser, Faults } from '../../sandbox/cluster/api/server.ts';
import { openHttpDoor } from '../../sandbox/ec2/http-door.ts';

/** The world behind two real sockets of this computer. */
export interface Doors {
  readonly kubernetes: { readonly url: string; readonly ca: string; readonly token: string };
  readonly ec2: { readonly url: string };
  /** Requests that came through so far. */
  readonly requests: () => { readonly kubernetes: number; readonly ec2: Readonly<Record<string, number>> };
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
export const openDoors = async (world: AwsWorld, user: ApiUser, arrived: () => void): Promise<Doors> => {
  const api = await openHttpsDoor(apiOf(world, { users: { [TOKEN]: user }, faults: heard(arrived) }));
  const ec2 = await openHttpDoor(world, 0, arrived);
  return {
    kubernetes: { url: api.url, ca: api.caData, token: TOKEN },
    ec2: { url: ec2.url },
    requests: () => ({ kubernetes: api.traffic().requests, ec2: ec2.traffic().calls }),
    close: async () => {
      await Promise.all([api.close(), ec2.close()]);
    },
  };
};
