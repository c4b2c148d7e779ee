import type { Cloud } from '../../../fencing/model/cloud.ts';
import { openTerritories, type RoleToAssume } from '../../../providers/aws/plugin/open-territories.ts';
import { cloudOfTerritories } from '../../../providers/aws/territories.ts';
import type { TerritoryEntry } from '../../../providers/plugin.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { addFault } from '../../../sandbox/ec2/faults.ts';
import type { CloudServer } from '../../../sandbox/cloud-server.ts';
import { openEc2Server } from '../../../sandbox/ec2/ec2-server.ts';
import type { Ec2World } from '../../../sandbox/ec2/state.ts';
import { credentials } from '../../sandbox/ec2/ec2-world.ts';
import { openSts, type StsStandIn } from './sts-stand-in.ts';

export const HOUR = 3_600_000;

/** Two EC2s of different accounts on sockets. The other one answers only with an assumed role. */
export interface TwoTerritories {
  readonly cloud: Cloud;
  readonly home: CloudServer;
  readonly other: CloudServer;
  readonly sts: StsStandIn;
  readonly entry: TerritoryEntry;
  readonly role: RoleToAssume;
  readonly close: () => Promise<void>;
}

/** The tests of refusals pass other values than the role requires. */
export const twoTerritories = async (
  worlds: { readonly home: Ec2World; readonly other: Ec2World },
  lasts = HOUR,
  given: Partial<TerritoryEntry> = {},
): Promise<TwoTerritories> => {
  const { account, region } = worlds.other.parts.ec2;
  const own = worlds.home.parts.ec2;
  const role: RoleToAssume = { arn: `arn:aws:iam::${account}:role/cloudfence-other`, externalId: 'from-home' };
  const sts = await openSts([role], lasts);
  const home = await openEc2Server(worlds.home);
  const other = await openEc2Server(worlds.other, 0, ({ authorization }) => {
    if (!sts.vouchesFor(authorization, role.arn, region))
      addFault(worlds.other.parts.ec2, { mishap: { kind: 'error', code: 'AuthFailure', status: 401 } });
  });
  const entry: TerritoryEntry = {
    account,
    region,
    role: role.arn,
    externalId: 'from-home',
    endpoint: other.url,
    ...given,
  };
  const others = openTerritories([entry], own, { region: own.region, endpoint: sts.url, credentials });
  const clients = ec2Clients({ region: own.region, credentials, endpoint: home.url });
  return {
    cloud: cloudOfTerritories(
      { name: `${own.account} ${own.region}`, cloud: awsCloud({ clients, region: own.region }) },
      others,
    ),
    home,
    other,
    sts,
    entry,
    role,
    close: async () => void (await Promise.all([home.close(), other.close(), sts.close()])),
  };
};
