import type { MachineTarget } from '../../fencing/machine.ts';
import type { AzureClients } from './client.ts';
import { findVm } from './gone.ts';
import { machinePath, type MachinePath } from './ids.ts';
import type { Vm } from './vm.ts';

/** Who bears the name of a machine now: the one that is meant, or somebody else, or nobody. */
export type Bearer =
  | { readonly said: 'meant'; readonly path: MachinePath; readonly vm: Vm }
  | { readonly said: 'other'; readonly why: string };

const other = (why: string): Bearer => ({ said: 'other', why });

interface Reading {
  readonly signal: AbortSignal;
  /** Whether its power state is needed, too: a quicker answer leaves the proof younger. */
  readonly withView: boolean;
}

/** @throws Unavailable, Denied, Refused */
export const readIncarnation = async (clients: AzureClients, { machine, incarnation }: MachineTarget, reading: Reading): Promise<Bearer> => {
  const path = machinePath(machine);
  if (!path || path.subscription !== clients.subscription.toLowerCase()) return other(`${machine} is no machine of the subscription ${clients.subscription}`);
  if (incarnation === null) return other('nobody of that name was left when it was looked at');
  const found = await findVm(clients, path, reading);
  if (found.is !== 'seen') return other(found.is === 'gone' ? 'nobody of that name is left' : `whether that name is borne cannot be told (${found.code})`);
  const { vm } = found;
  const now = vm.vmId?.toLowerCase() ?? 'a machine without an id';
  return now === incarnation ? { said: 'meant', path, vm } : other(`the name is borne by ${now} and not by ${incarnation} any more`);
};
