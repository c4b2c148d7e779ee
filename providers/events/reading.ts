import type { z } from 'zod';
import type { Aside, Fault, Hint, Reading } from '../../fencing/model/hint.ts';

const wishOf = (readings: readonly Reading[]): Pick<Reading, 'dryRun'> => {
  const wishes = readings.map(({ dryRun }) => dryRun);
  const wish = wishes.find((one) => one === 'unclear') ?? wishes.find((one) => one === 'wanted');
  return wish ? { dryRun: wish } : {};
};

export const together = (readings: readonly Reading[]): Reading => ({
  ...wishOf(readings),
  hints: readings.flatMap(({ hints }) => hints),
  faults: readings.flatMap(({ faults }) => faults),
  asides: readings.flatMap(({ asides }) => asides),
});

export const hinted = (hints: readonly Hint[]): Reading => ({ hints, faults: [], asides: [] });

export const aside = (what: string, where: string): Reading => ({ hints: [], faults: [], asides: [{ what: short(what), where: short(where) }] });

/** How a cloud's reader says that something cannot be read. */
export interface Faults {
  readonly fault: (what: string, where: string, mend: string, raw: unknown) => Reading;
  /** One fault for each thing that is wrong. */
  readonly unreadable: (error: z.ZodError, where: string, mend: string, raw: unknown) => Reading;
}

/** Who writes an event decides about its words, not about the length of our logs. */
const LONGEST = 300;
const short = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** `excerptOf` picks what a fault may show of what came: it ends up in logs. */
export const faultsShowing = (excerptOf: (raw: unknown) => string): Faults => {
  const fault: Faults['fault'] = (what, where, mend, raw) => ({
    hints: [],
    faults: [{ what: short(what), where: short(where), mend: short(mend), excerpt: short(excerptOf(raw)) }],
    asides: [],
  });
  return {
    fault,
    unreadable: (error, where, mend, raw) => together(error.issues.flatMap(leaves).slice(0, MOST_TOLD).map(({ message, path }) => fault(message, where + jsonPath(path), mend, raw))),
  };
};

/** Of alternatives the last speaks. */
const leaves = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  const alternatives = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined;
  if (!alternatives || alternatives.length === 0) return [issue];
  return alternatives.flatMap((inner) => leaves({ ...inner, path: [...issue.path, ...inner.path] }));
};

const jsonPath = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? `[${step}]` : /^\w+$/.test(String(step)) ? `.${String(step)}` : `['${String(step)}']`)).join('');

/** So many faults and asides of one event are told one by one: nothing is lost, for a dead letter holds the event itself. */
const MOST_TOLD = 20;
/** As many machines as one call to a cloud may name at the most. */
const MOST_MACHINES = 1_000;

const fewFaults = (faults: readonly Fault[]): readonly Fault[] => {
  const [first, ...others] = faults.slice(MOST_TOLD);
  return first ? [...faults.slice(0, MOST_TOLD), { ...first, what: `${others.length + 1} more like this cannot be read`, mend: 'see the event itself' }] : faults;
};

const fewAsides = (asides: readonly Aside[]): readonly Aside[] => {
  const [first, ...others] = asides.slice(MOST_TOLD);
  return first ? [...asides.slice(0, MOST_TOLD), { ...first, what: `${others.length + 1} more of which none names a machine` }] : asides;
};

const shortHint = (hint: Hint): Hint => ({ ...hint, because: short(hint.because), eventId: hint.eventId === null ? null : short(hint.eventId) });

/** The same, as far as it can be told and dealt with. What goes too far is a fault. */
export const bounded = ({ hints, faults, asides, ...wish }: Reading): Reading => {
  const machines = new Set(hints.map(({ machine }) => machine));
  const kept = new Set([...machines].slice(0, MOST_MACHINES));
  const tooMany = { what: `the event names ${machines.size} machines, and ${MOST_MACHINES} are looked at`, where: '$', mend: 'send the others apart; the sweep finds them as well', excerpt: '' };
  return {
    ...wish,
    hints: hints.filter(({ machine }) => kept.has(machine)).map(shortHint),
    faults: [...(machines.size > kept.size ? [tooMany] : []), ...fewFaults(faults)],
    asides: fewAsides(asides),
  };
};

/** What all texts of one event may come to (characters), those that are packed in others counted as well. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** Entries of lists, and lines, in one event. */
const MOST_ENTRIES = 20_000;

/** How much of one event is read: who writes it decides neither how long that takes nor how much memory it needs. */
export interface Allowance {
  readonly left: () => number;
  /** False when that is more than is left. */
  readonly spend: (characters: number) => boolean;
  /** The same for entries and lines. */
  readonly count: (entries: number) => boolean;
}

export const allowance = (): Allowance => {
  let characters = MOST_CHARACTERS;
  let entries = MOST_ENTRIES;
  return {
    left: () => characters,
    spend: (wanted) => {
      characters -= wanted;
      return characters >= 0;
    },
    count: (wanted) => {
      entries -= wanted;
      return entries >= 0;
    },
  };
};
