import { readFileSync } from 'node:fs';
import { stepProperties } from '../../fencing/model/steps.ts';
import type { Played } from './simulation.ts';

/** Counts what many schedules reached, and names what none of them reached. */
export interface Tally {
  readonly schedules: number;
  readonly unsafe: number;
  readonly stuck: number;
  /** Hours of virtual time. */
  readonly hours: number;
  readonly counts: Readonly<Record<string, number>>;
  /** How often two faults occurred in the same schedule, by both names. */
  readonly pairs: Readonly<Record<string, number>>;
}

export const emptyTally: Tally = { schedules: 0, unsafe: 0, stuck: 0, hours: 0, counts: {}, pairs: {} };

const HOUR = 3_600_000;

const added = (
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> => {
  const sum = { ...one };
  for (const [what, times] of Object.entries(other)) sum[what] = (sum[what] ?? 0) + times;
  return sum;
};

export const merged = (one: Tally, other: Tally): Tally => ({
  schedules: one.schedules + other.schedules,
  unsafe: one.unsafe + other.unsafe,
  stuck: one.stuck + other.stuck,
  hours: one.hours + other.hours,
  counts: added(one.counts, other.counts),
  pairs: added(one.pairs, other.pairs),
});

const FAULT = 'fault ';

const pairsOf = (faults: readonly string[]): readonly string[] =>
  faults.flatMap((one, at) => faults.slice(at + 1).map((other) => `${one} + ${other}`));

/** Returns a counter. It counts in place, because a tally may have hundreds of pairs. */
export const counter = () => {
  const counts: Record<string, number> = {};
  const pairs: Record<string, number> = {};
  const total = { schedules: 0, unsafe: 0, stuck: 0, hours: 0 };
  return {
    add: (played: Played): void => {
      total.schedules += 1;
      if (played.violations.length > 0) total.unsafe += 1;
      if (played.stuck.length > 0) total.stuck += 1;
      total.hours += played.lasted / HOUR;
      for (const [what, times] of played.counts) counts[what] = (counts[what] ?? 0) + times;
      const faults = [...played.counts.keys()].filter((what) => what.startsWith(FAULT)).toSorted();
      for (const pair of pairsOf(faults.map((fault) => fault.slice(FAULT.length))))
        pairs[pair] = (pairs[pair] ?? 0) + 1;
    },
    tally: (): Tally => ({ ...total, counts, pairs }),
  };
};

/** Every code of a reason in the model. */
const reasonCodes = (): readonly string[] => {
  const text = readFileSync(new URL('../../fencing/model/reason.ts', import.meta.url), 'utf8');
  const [, listed = ''] = /export type ReasonCode =([^;]*);/.exec(text) ?? [];
  return [...listed.matchAll(/'([a-z-]+)'/g)].flatMap(([, code]) => code ?? []);
};

const missing = (all: readonly string[], isReached: (one: string) => boolean): string =>
  all.filter((one) => !isReached(one)).join(', ') || 'none';

/** Returns the tally as lines for people. */
export const describeTally = ({ counts, pairs }: Tally): readonly string[] => {
  const names = Object.keys(counts);
  const faults = names.filter((what) => what.startsWith(FAULT)).map((what) => what.slice(FAULT.length));
  const sorted = Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b));
  return [
    ...sorted.map(([what, times]) => `  ${what}: ${times}`),
    `steps never taken: ${missing(Object.keys(stepProperties), (step) => (counts[`step ${step}`] ?? 0) > 0)}`,
    `reasons never given: ${missing(reasonCodes(), (code) => names.some((name) => name.endsWith(` ${code}`)))}`,
    `pairs of faults never in one schedule: ${missing(pairsOf(faults.toSorted()), (pair) => (pairs[pair] ?? 0) > 0)}`,
  ];
};
