import { setTimeout as delay } from 'node:timers/promises';
import type { Change } from './changes.ts';
import { changeIn } from './changes.ts';
import type { Handling } from './gate.ts';

/**
 * A meeting point of several processes: none gets its first answer before all have asked for something. Each change of
 * one process waits for the same change of the others, so that all are sent at the same moment.
 */
export interface Rendezvous {
  /** For the connection of one of them. */
  readonly join: () => Handling;
  /** Changes at which all have met. */
  readonly met: ReadonlySet<Change>;
}

/**
 * The longest wait at a change, because a process that is ahead may have made this change unnecessary for the others.
 * All of them reach the first change sooner or later.
 */
const waitsAt = (change: Change): number => (change === 'mark' ? 8_000 : 1_500);

interface Gathering {
  readonly come: () => void;
  readonly complete: Promise<void>;
}

const gatheringOf = (parties: number): Gathering => {
  const { promise: complete, resolve } = Promise.withResolvers<void>();
  let missing = parties;
  return { complete, come: () => void ((missing -= 1) === 0 && resolve()) };
};

export const openRendezvous = (parties: number): Rendezvous => {
  const met = new Set<Change>();
  const start = gatheringOf(parties);
  const gatherings = new Map<Change, Gathering>();
  const meet = async (change: Change): Promise<void> => {
    const gathering = gatherings.get(change) ?? gatheringOf(parties);
    gatherings.set(change, gathering);
    gathering.come();
    await Promise.race([gathering.complete.then(() => met.add(change)), delay(waitsAt(change))]);
  };
  const join = (): Handling => {
    const known = new Set<Change>();
    let started = false;
    return async (passing, forward) => {
      if (!started) start.come();
      started = true;
      await start.complete;
      const change = changeIn(passing);
      if (change === null || known.has(change)) return forward();
      known.add(change);
      await meet(change);
      return forward();
    };
  };
  return { join, met };
};
