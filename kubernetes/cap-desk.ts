import { capUse, tidied, type CapUse, type LedgerEntry } from '../fencing/ledger.ts';
import type { Policy } from '../fencing/policy.ts';
import type { Connection } from './connection.ts';
import { readEntries } from './ledger.ts';
import { capLiftIn, endLift, liftCap, readSettings, type CapLift } from './settings-map.ts';
import { countNodes } from './surroundings.ts';

/** How the cap of one cluster stands. */
export interface CapStanding extends CapUse {
  readonly lifted: CapLift | null;
  /** The fences that count, the oldest first. */
  readonly fences: readonly Pick<LedgerEntry, 'begun' | 'finished'>[];
}

/** What people do about the cap. All methods throw `Unavailable` or `Denied`. */
export interface CapDesk {
  /** Null when there is no ledger in which fences could be counted. */
  readonly standing: (cap: Policy['cap'], signal: AbortSignal) => Promise<CapStanding | null>;
  readonly lift: (lift: CapLift, signal: AbortSignal) => Promise<void>;
  readonly endLift: (signal: AbortSignal) => Promise<void>;
}

export const capDeskOf = ({ reader, writer, clock }: Connection): CapDesk => ({
  standing: async (cap, signal) => {
    const asking = reader(signal);
    const [read, nodes, settings] = await Promise.all([readEntries(asking), countNodes(asking), readSettings(asking)]);
    if (read === null) return null;
    const now = clock.now();
    const { entries } = tidied(read, now);
    const fences = entries.toSorted((a, b) => a.begun - b.begun).map(({ begun, finished }) => ({ begun, finished }));
    return { ...capUse(entries, cap, nodes), lifted: capLiftIn(settings, now), fences };
  },
  lift: (lift, signal) => liftCap(writer(null, signal), lift),
  endLift: (signal) => endLift(writer(null, signal)),
});
