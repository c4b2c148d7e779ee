import type { MachineId } from '../../fencing/machine.ts';
import type { Delivery, Errand } from '../errand.ts';
import type { TimeLimit } from '../invocation.ts';

export type Expand = (named: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;

const machinesOf = async (errand: Errand, expand: Expand, signal: AbortSignal): Promise<readonly Errand[]> => {
  const machines = await expand([errand.machine], signal);
  return machines.map((machine) => ({ ...errand, machine }));
};

/** Left for what is to be done with the machines (ms). */
const MARGIN_MS = 5_000;

/** An event may speak of a whole scale set: its machines take its place. @throws Unavailable, Denied, Refused */
export const expanded = async (delivery: Delivery, expand: Expand, limit: TimeLimit): Promise<Delivery> => {
  const signal = AbortSignal.timeout(Math.max(0, Math.floor(limit.getRemainingTimeInMillis() - MARGIN_MS)));
  const errands = await Promise.all(delivery.errands.map((errand) => machinesOf(errand, expand, signal)));
  return { ...delivery, errands: errands.flat() };
};
