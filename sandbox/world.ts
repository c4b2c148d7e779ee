/**
 * The embedded world: plain data, a virtual clock, and a queue of scheduled calls. It uses neither real time nor real
 * randomness, so the same seed always gives the same history. Because it is plain data, a test can fork it anywhere and
 * try both continuations.
 */

/** A scheduled call. `actor` is looked up by name, so that the queue of calls can be copied. */
export interface ScheduledEvent {
  readonly at: number;
  readonly order: number;
  readonly actor: string;
  readonly about: string;
}

export interface WorldState<Parts> {
  now: number;
  order: number;
  randomState: number;
  scheduled: ScheduledEvent[];
  readonly parts: Parts;
}

export type Actor<Parts> = (world: World<Parts>, about: string) => void;
export type Actors<Parts> = Readonly<Record<string, Actor<Parts>>>;

export interface World<Parts> {
  readonly state: WorldState<Parts>;
  readonly parts: Parts;
  readonly now: () => number;
  /** Returns the next number of the seeded sequence, 0 ≤ n < 1. */
  readonly random: () => number;
  /**
   * Calls the actor after `delay` ms of virtual time. An actor has only one scheduled call for each `about`, and keeps
   * the earlier one.
   */
  readonly schedule: (actor: string, delay: number, about?: string) => void;
  /** Advances virtual time and runs everything that is due, in order. */
  readonly advance: (ms: number) => void;
  /** Returns a copy of the world that continues independently. */
  readonly fork: () => World<Parts>;
}

export const createWorld = <Parts>(
  actors: Actors<Parts>,
  parts: Parts,
  start: { now: number; seed: number },
): World<Parts> => worldOf(actors, { now: start.now, order: 0, randomState: start.seed >>> 0, scheduled: [], parts });

const worldOf = <Parts>(actors: Actors<Parts>, state: WorldState<Parts>): World<Parts> => {
  const world: World<Parts> = {
    state,
    parts: state.parts,
    now: () => state.now,
    random: () => nextRandom(state),
    schedule: (actor, delay, about = '') => addScheduled(state, actor, state.now + Math.max(0, delay), about),
    advance: (ms) => runUntil(world, actors, state.now + ms),
    fork: () => worldOf(actors, structuredClone(state)),
  };
  return world;
};

/** mulberry32: small, seeded, good enough to vary a history. */
const nextRandom = <Parts>(state: WorldState<Parts>): number => {
  state.randomState = (state.randomState + 0x6d2b79f5) >>> 0;
  let mixed = state.randomState;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

const addScheduled = <Parts>(state: WorldState<Parts>, actor: string, at: number, about: string): void => {
  const known = state.scheduled.find((other) => other.actor === actor && other.about === about);
  if (known && known.at <= at) return;
  state.scheduled = state.scheduled.filter((other) => other !== known);
  state.scheduled.push({ at, order: state.order++, actor, about });
};

const runUntil = <Parts>(world: World<Parts>, actors: Actors<Parts>, until: number): void => {
  const { state } = world;
  for (let next = earliest(state.scheduled); next && next.at <= until; next = earliest(state.scheduled)) {
    const due = next;
    state.scheduled = state.scheduled.filter((other) => other !== due);
    state.now = Math.max(state.now, due.at);
    const actor = actors[due.actor];
    if (!actor) throw new Error(`the sandbox has no actor named ${due.actor}`);
    actor(world, due.about);
  }
  state.now = until;
};

const earliest = (scheduled: readonly ScheduledEvent[]): ScheduledEvent | undefined =>
  scheduled.reduce<ScheduledEvent | undefined>(
    (best, other) => (!best || other.at < best.at || (other.at === best.at && other.order < best.order) ? other : best),
    undefined,
  );
