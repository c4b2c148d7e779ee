import type { Actors } from '../world.ts';
import { SETTLE_ATTACHMENT, settleAppointed } from './attachments.ts';
import { FORGET_INSTANCE, SETTLE_INSTANCE, forgetInstance, settleInstance } from './instances.ts';
import type { WithEc2 } from './state.ts';

/** The actors that complete EC2's transitions when their time is over. */
export const ec2Actors = (): Actors<WithEc2> => ({
  [SETTLE_INSTANCE]: settleInstance,
  [SETTLE_ATTACHMENT]: settleAppointed,
  [FORGET_INSTANCE]: forgetInstance,
});
