import { ec2Actors } from '../../../sandbox/ec2/actors.ts';
import { emptyEc2, type Ec2World, type WithEc2 } from '../../../sandbox/ec2/state.ts';
import { createWorld } from '../../../sandbox/world.ts';

/** Serials start here, so that the IDs of one world are unknown in the other. */
const APART = 0x10_000;

/** An EC2 of another account or region. */
export const ec2WorldOf = (account: string, region: string): Ec2World => {
  const world = createWorld<WithEc2>(
    ec2Actors(),
    { ec2: emptyEc2({ account, region }) },
    { now: Date.UTC(2026, 10, 21), seed: 2 },
  );
  world.parts.ec2.serial = APART * (Number(account.at(-1)) + region.length);
  return world;
};
