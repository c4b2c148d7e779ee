import { counted } from '../../fencing/model/reason.ts';
import type { z } from 'zod';
import type { IgnoredEvent, Fault, Hint, ParsedEvent } from '../../fencing/model/hint.ts';

const dryRunOf = (readings: readonly ParsedEvent[]): Pick<ParsedEvent, 'dryRun'> => {
  const wishes = readings.map(({ dryRun }) => dryRun);
  const wish = wishes.find((one) => one === 'unclear') ?? wishes.find((one) => one === 'wanted');
  return wish ? { dryRun: wish } : {};
};

export const mergeParsed = (readings: readonly ParsedEvent[]): ParsedEvent => ({
  ...dryRunOf(readings),
  hints: readings.flatMap(({ hints }) => hints),
  faults: readings.flatMap(({ faults }) => faults),
  ignored: readings.flatMap(({ ignored }) => ignored),
});

export const parsedHints = (hints: readonly Hint[]): ParsedEvent => ({ hints, faults: [], ignored: [] });

export const ignoredEvent = (what: string, where: string): ParsedEvent => ({
  hints: [],
  faults: [],
  ignored: [{ what: short(what), where: short(where) }],
});

/** How a cloud's reader reports that it cannot read something. */
export interface FaultReporter {
  readonly fault: (what: string, where: string, remedy: string, raw: unknown) => ParsedEvent;
  /** Reports one fault for each problem. */
  readonly unreadable: (error: z.ZodError, where: string, remedy: string, raw: unknown) => ParsedEvent;
}

/** The sender of an event decides on its words, but not on the length of our log lines. */
const LONGEST = 300;
const short = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/**
 * Makes the functions that report faults. `excerptOf` picks what a fault may show of the event, because faults appear
 * in logs.
 */
export const createFaultReporter = (excerptOf: (raw: unknown) => string): FaultReporter => {
  const fault: FaultReporter['fault'] = (what, where, remedy, raw) => ({
    hints: [],
    faults: [{ what: short(what), where: short(where), remedy: short(remedy), excerpt: short(excerptOf(raw)) }],
    ignored: [],
  });
  return {
    fault,
    unreadable: (error, where, remedy, raw) =>
      mergeParsed(
        error.issues
          .flatMap(leaves)
          .slice(0, MOST_TOLD)
          .map(({ message, path }) => fault(message, where + jsonPath(path), remedy, raw)),
      ),
  };
};

/** Returns the issues to report. Of a union's alternatives, the last one counts. */
const leaves = (issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] => {
  const alternatives = issue.code === 'invalid_union' ? issue.errors.at(-1) : undefined;
  if (!alternatives || alternatives.length === 0) return [issue];
  return alternatives.flatMap((inner) => leaves({ ...inner, path: [...issue.path, ...inner.path] }));
};

const jsonPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) =>
      typeof step === 'number' ? `[${step}]` : /^\w+$/.test(String(step)) ? `.${String(step)}` : `['${String(step)}']`,
    )
    .join('');

/**
 * The number of faults, and of ignored events, that one event reports one by one. Nothing is lost, because a dead
 * letter contains the event itself.
 */
const MOST_TOLD = 20;
/** The most machines that one call to a cloud may name. */
const MOST_MACHINES = 1_000;

const fewFaults = (faults: readonly Fault[]): readonly Fault[] => {
  const [first, ...others] = faults.slice(MOST_TOLD);
  return first
    ? [
        ...faults.slice(0, MOST_TOLD),
        {
          ...first,
          what: `${counted(others.length + 1, 'more part')} of the event cannot be read`,
          remedy: 'check the event itself',
        },
      ]
    : faults;
};

const fewIgnored = (ignored: readonly IgnoredEvent[]): readonly IgnoredEvent[] => {
  const [first, ...others] = ignored.slice(MOST_TOLD);
  return first
    ? [
        ...ignored.slice(0, MOST_TOLD),
        { ...first, what: `${counted(others.length + 1, 'more part')} of the event, without a machine` },
      ]
    : ignored;
};

const shortHint = (hint: Hint): Hint => ({
  ...hint,
  because: short(hint.because),
  eventId: hint.eventId === null ? null : short(hint.eventId),
});

/** Limits the result to what Cloudfence can report and process. Machines beyond the limit are reported as a fault. */
export const limitParsed = ({ hints, faults, ignored, ...wish }: ParsedEvent): ParsedEvent => {
  const machines = new Set(hints.map(({ machine }) => machine));
  const kept = new Set([...machines].slice(0, MOST_MACHINES));
  const tooMany = {
    what: `the event names ${machines.size} machines, but Cloudfence looks at no more than ${MOST_MACHINES}`,
    where: '$',
    remedy: 'send the other machines in separate events; the sweep also finds them',
    excerpt: '',
  };
  return {
    ...wish,
    hints: hints.filter(({ machine }) => kept.has(machine)).map(shortHint),
    faults: [...(machines.size > kept.size ? [tooMany] : []), ...fewFaults(faults)],
    ignored: fewIgnored(ignored),
  };
};

/** The most characters in all texts of one event, including texts packed in other texts. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** The most list entries and lines in one event. */
const MOST_ENTRIES = 20_000;

/**
 * How much of one event is read. The sender of an event must not decide how long that takes or how much memory it
 * needs.
 */
export interface ReadAllowance {
  readonly left: () => number;
  /** Spends characters. Returns false when that is more than is left. */
  readonly spend: (characters: number) => boolean;
  /** Spends entries or lines in the same way. */
  readonly count: (entries: number) => boolean;
}

export const createAllowance = (): ReadAllowance => {
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
