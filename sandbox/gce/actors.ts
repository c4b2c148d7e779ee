import type { Actors } from '../world.ts';
import { SETTLE_DISK_OPERATION, settleDiskOperation } from './attachments.ts';
import { SETTLE_INSTANCE, settleInstance } from './instances.ts';
import type { WithGce } from './state.ts';

/** The actors that complete Compute Engine's transitions and operations when their time is over. */
export const gceActors = (): Actors<WithGce> => ({
  [SETTLE_INSTANCE]: settleInstance,
  [SETTLE_DISK_OPERATION]: settleDiskOperation,
});
