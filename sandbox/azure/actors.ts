import type { Actors } from '../world.ts';
import { SETTLE_DISK, settleAppointed } from './attachments.ts';
import { LET_DISKS_GO, SETTLE_MACHINE, SHOW_STARTING, letDiskGo, settleMachine, showStarting } from './machines.ts';
import type { WithAzure } from './state.ts';

/** The actors that complete Azure's transitions when their time is over. */
export const azureActors = (): Actors<WithAzure> => ({
  [SETTLE_MACHINE]: settleMachine,
  [SHOW_STARTING]: showStarting,
  [SETTLE_DISK]: settleAppointed,
  [LET_DISKS_GO]: letDiskGo,
});
