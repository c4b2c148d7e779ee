import { timing } from '../../fencing/model/policy.ts';
import type { Moment } from '../../fencing/rules/view.ts';

/**
 * Time in an exploration. Every state describes the same moment, `NOW`. When time passes, `NOW` stays, and everything
 * that happened moves into the past. A time older than `OLDEST_MS` stays there, because no rule distinguishes it from
 * an older one. So the number of states is finite.
 */

/** The shortest time that an exploration distinguishes (ms). */
export const TICK_MS = 1_000;

export const NOW: Moment = { wall: Date.parse('2026-01-01T12:00:00.000Z'), mono: 1_000_000_000 };

const ticks = (count: number): number => count * TICK_MS;

/** Longer than every time in `shortPatience` but two, and longer than the life of a proof. */
export const OLDEST_TICKS = 3;
const OLDEST_MS = ticks(OLDEST_TICKS);

/** The oldest moment that an exploration knows. Everything that no rule looks at any more is moved there. */
export const LONG_AGO: Moment = { wall: NOW.wall - OLDEST_MS, mono: NOW.mono - OLDEST_MS };

/**
 * The times of the protocol, with as few ticks as their order allows. An exploration needs the order of the times, not
 * their length. The life of a proof is not among them: it keeps its real length.
 */
const shortPatience: Readonly<Record<keyof typeof timing, number>> = {
  secondRead: ticks(2),
  lateLease: ticks(2),
  silent: ticks(2),
  disksLetGo: ticks(1),
  attachmentLingers: ticks(1),
  detachStuck: ticks(2),
  detachFailed: ticks(1),
  plainDetach: ticks(2),
  nudge: ticks(1),
  fenceShows: ticks(2),
  capWindow: ticks(2),
  longestCapOverride: ticks(2),
  clocksDiffer: ticks(1),
  personsClock: ticks(1),
  stopping: ticks(2),
  // Longer than every age, so that a run that has noted a stop waits for its end.
  stoppingNoted: OLDEST_MS + TICK_MS,
  unreachable: ticks(2),
  silence: ticks(2),
  leaseFresh: ticks(2),
  statement: ticks(2),
  settle: ticks(2),
  clusterFacts: ticks(2),
  // Longer than each read of these worlds. So each read is used, as one that takes some seconds is.
  clusterRead: OLDEST_MS,
  survey: ticks(2),
  lookAgain: ticks(2),
  lookLongest: ticks(2),
  askMachine: ticks(1),
  pollShortest: ticks(1),
  pollLongest: ticks(1),
};

/** Shortens the times of the protocol for all rules in this process. Returns a function that restores them. */
export const shortenPatience = (): (() => void) => {
  const shipped = { ...timing };
  Object.assign(timing, shortPatience);
  return () => {
    Object.assign(timing, shipped);
  };
};

/** The only numbers of an exploration that are this large are times. */
const FAR_FROM_TIMES_MS = 100_000_000;

const isAbout = (number: number, moment: number): boolean => Math.abs(number - moment) < FAR_FROM_TIMES_MS;

const numberAfter = (number: number, ms: number): number => {
  if (isAbout(number, NOW.mono)) return Math.max(number - ms, NOW.mono - OLDEST_MS);
  return isAbout(number, NOW.wall) ? Math.max(number - ms, NOW.wall - OLDEST_MS) : number;
};

const RFC_3339 = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}/g;

/** The digits after the milliseconds stay. In a Lease, they distinguish the renewals. */
const textAfter = (text: string, ms: number): string =>
  text.replaceAll(RFC_3339, (at) => new Date(numberAfter(Date.parse(`${at}Z`), ms)).toISOString().slice(0, -1));

const objectAfter = (value: object, ms: number): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown) => afterTime(item, ms));
  if (value instanceof Set) return new Set([...value].map((item: unknown) => afterTime(item, ms)));
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, afterTime(item, ms)]));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, afterTime(item, ms)]));
};

/**
 * Returns the value after this time (ms). All times in it move into the past: numbers near `NOW`, and times in texts.
 */
export function afterTime<T>(value: T, ms: number): T;
export function afterTime(value: unknown, ms: number): unknown {
  if (typeof value === 'number') return numberAfter(value, ms);
  if (typeof value === 'string') return textAfter(value, ms);
  return typeof value === 'object' && value !== null ? objectAfter(value, ms) : value;
}

const afterOneTick = new WeakMap<object, unknown>();

/** Returns the value one tick later. Many runs share facts, so each fact is aged once. */
export function aTickLater<T extends object | null>(facts: T): T;
export function aTickLater(facts: object | null): unknown {
  if (facts === null) return null;
  const known = afterOneTick.get(facts);
  if (known !== undefined) return known;
  const later = objectAfter(facts, TICK_MS);
  afterOneTick.set(facts, later);
  return later;
}
