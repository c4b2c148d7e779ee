import type { Cloud } from '../../../fencing/model/cloud.ts';
import type { CloudName } from '../machines.ts';
import { simulatedEc2 } from './ec2.ts';
import type { CloudSide } from './side.ts';

export const simulatedClouds = (side: CloudSide, _clouds: readonly CloudName[]): Cloud => simulatedEc2(side);
