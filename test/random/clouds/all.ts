import { anyCloud } from '../../../app/any-cloud.ts';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import { aws } from '../../../providers/aws/plugin/register.ts';
import { azure } from '../../../providers/azure/plugin/register.ts';
import { gcp } from '../../../providers/gcp/plugin/register.ts';
import type { CloudName } from '../machines.ts';
import { simulatedArm } from './arm.ts';
import { simulatedCompute } from './compute.ts';
import { simulatedEc2 } from './ec2.ts';
import type { CloudSide } from './side.ts';

const SIMULATED = { aws: simulatedEc2, azure: simulatedArm, gcp: simulatedCompute } as const;
const NAMES: readonly CloudName[] = ['aws', 'azure', 'gcp'];

const nothing = (): never => {
  throw new Error('a simulation opens no access to clusters');
};

/** Returns the one cloud of all machines, or three clouds as one, as in a configuration with several clouds. */
export const simulatedClouds = (side: CloudSide, clouds: readonly CloudName[]): Cloud => {
  const [only, other] = new Set(clouds);
  if (only !== undefined && other === undefined) return SIMULATED[only](side);
  const opened = new Map(NAMES.map((name) => [name, SIMULATED[name](side)]));
  const open = async (name: string) => {
    const cloud = NAMES.find((one) => one === name);
    const found = cloud && opened.get(cloud);
    if (!found) throw new Error(`there is no cloud ${name}`);
    const access = { managedCluster: nothing, secret: nothing };
    return {
      cloud: found,
      readHints: () => ({ hints: [], faults: [], ignored: [] }),
      viewDisks: async () => [],
      driverFaultOf: () => null,
      probes: [],
      access,
    };
  };
  return anyCloud([aws, azure, gcp], open, new Set(NAMES)).cloud;
};
