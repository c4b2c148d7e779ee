import { cloudOfTerritories } from '../../../providers/aws/territories.ts';
import { cloudOf } from '../../sandbox/ec2/ec2-world.ts';
import { ec2WorldOf } from '../../providers/aws/another-world.ts';
import type { Bench } from './bench.ts';
import { sandboxEc2Bench } from './sandbox-ec2-bench.ts';

/** The same, as the second territory of an install whose own is empty. */
export const territoriesBench = async (): Promise<Bench> => {
  const bench = await sandboxEc2Bench();
  return {
    ...bench,
    cloud: cloudOfTerritories({ name: 'home', cloud: cloudOf(ec2WorldOf('999900001111', 'us-east-1')) }, [
      { name: 'other', cloud: bench.cloud },
    ]),
  };
};
