import type { Aside } from '../../fencing/hint.ts';
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

const goneSet = ({ machine }: Errand): Aside => ({ what: `news of a scale set that has no machines any more (${machine}); the sweep finds what it left behind`, where: '$' });

/** An event may speak of a whole scale set: its machines take its place. @throws Unavailable, Denied, Refused */
export const expanded = async (delivery: Delivery, expand: Expand, limit: TimeLimit): Promise<Delivery> => {
  const signal = AbortSignal.timeout(Math.max(0, Math.floor(limit.getRemainingTimeInMillis() - MARGIN_MS)));
  const errands = await Promise.all(delivery.errands.map((errand) => machinesOf(errand, expand, signal)));
  const gone = delivery.errands.filter((_, at) => errands[at]?.length === 0);
  return { ...delivery, errands: errands.flat(), asides: [...delivery.asides, ...gone.map(goneSet)] };
};
