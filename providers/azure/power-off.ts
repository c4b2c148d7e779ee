import { Refused } from '../../fencing/errors.ts';
import type { MachineTarget } from '../../fencing/machine.ts';
import type { Permit } from '../../fencing/permit.ts';
import { statusesOf } from './classify.ts';
import type { AzureClients } from './client.ts';
import { orderUnderPermit } from './follow.ts';
import { readIncarnation } from './incarnation.ts';
import { orderPowerOff } from './vm.ts';

/** Power states that a hard power-off can end. One that starts is left alone: somebody has just asked for that. */
const ENDS: ReadonlySet<string | null> = new Set(['running', 'stopping', 'deallocating', 'unknown', null]);

/**
 * Stops this very machine whether or not its operating system goes along.
 * https://learn.microsoft.com/rest/api/compute/virtual-machines/power-off
 *
 * @throws Unavailable, Denied, Refused, ProofExpired
 */
export const powerOff = async (clients: AzureClients, target: MachineTarget, permit: Permit, signal: AbortSignal): Promise<void> => {
  const bearer = await readIncarnation(clients, target, { signal, withView: true });
  if (bearer.said === 'other') throw new Refused(`${target.machine} is not powered off: ${bearer.why}`);
  const { power } = statusesOf(bearer.vm);
  if (!ENDS.has(power)) throw new Refused(`${target.machine} is not powered off: it is ${power}`);
  await orderUnderPermit(clients, { name: 'powerOff/action', permit, signal }, (client, ordering) => orderPowerOff(client, bearer.path, ordering));
};
