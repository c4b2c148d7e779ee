import { cloudOfTerritories } from '../../../providers/aws/territories.ts';
import { cloudOf } from '../../sandbox/ec2/ec2-world.ts';
import { ec2WorldOf } from '../../providers/aws/another-world.ts';
import type { ProviderHarness } from './harness.ts';
import { sandboxEc2Harness } from './sandbox-ec2-harness.ts';

/** The same harness in the second territory of an install whose own territory is empty. */
export const territoriesHarness = async (): Promise<ProviderHarness> => {
  const harness = await sandboxEc2Harness();
  return {
    ...harness,
    cloud: cloudOfTerritories({ name: 'home', cloud: cloudOf(ec2WorldOf('999900001111', 'us-east-1')) }, [
      { name: 'other', cloud: harness.cloud },
    ]),
  };
};
