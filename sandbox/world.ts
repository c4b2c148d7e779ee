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
  dice: number;
  agenda: ScheduledEvent[];
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
): World<Parts> => worldOf(actors, { now: start.now, order: 0, dice: start.seed >>> 0, agenda: [], parts });

const worldOf = <Parts>(actors: Actors<Parts>, state: WorldState<Parts>): World<Parts> => {
  const world: World<Parts> = {
    state,
    parts: state.parts,
    now: () => state.now,
    random: () => roll(state),
    schedule: (actor, delay, about = '') => keepAppointment(state, actor, state.now + Math.max(0, delay), about),
    advance: (ms) => runUntil(world, actors, state.now + ms),
    fork: () => worldOf(actors, structuredClone(state)),
  };
  return world;
};

/** mulberry32: small, seeded, good enough to vary a history. */
const roll = <Parts>(state: WorldState<Parts>): number => {
  state.dice = (state.dice + 0x6d2b79f5) >>> 0;
  let mixed = state.dice;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

const keepAppointment = <Parts>(state: WorldState<Parts>, actor: string, at: number, about: string): void => {
  const known = state.agenda.find((other) => other.actor === actor && other.about === about);
  if (known && known.at <= at) return;
  state.agenda = state.agenda.filter((other) => other !== known);
  state.agenda.push({ at, order: state.order++, actor, about });
};

const runUntil = <Parts>(world: World<Parts>, actors: Actors<Parts>, until: number): void => {
  const { state } = world;
  for (let next = earliest(state.agenda); next && next.at <= until; next = earliest(state.agenda)) {
    const due = next;
    state.agenda = state.agenda.filter((other) => other !== due);
    state.now = Math.max(state.now, due.at);
    const actor = actors[due.actor];
    if (!actor) throw new Error(`the sandbox has no actor named ${due.actor}`);
    actor(world, due.about);
  }
  state.now = until;
};

const earliest = (agenda: readonly ScheduledEvent[]): ScheduledEvent | undefined =>
  agenda.reduce<ScheduledEvent | undefined>(
    (best, other) => (!best || other.at < best.at || (other.at === best.at && other.order < best.order) ? other : best),
    undefined,
  );
