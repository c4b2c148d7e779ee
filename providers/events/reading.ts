import type { z } from 'zod';
import type { Hint, Reading } from '../../fencing/hint.ts';

export const together = (readings: readonly Reading[]): Reading => ({
  hints: readings.flatMap(({ hints }) => hints),
  faults: readings.flatMap(({ faults }) => faults),
  asides: readings.flatMap(({ asides }) => asides),
});

export const hinted = (hints: readonly Hint[]): Reading => ({ hints, faults: [], asides: [] });

export const aside = (what: string, where: string): Reading => ({ hints: [], faults: [], asides: [{ what, where }] });

/** How a cloud's reader says that something cannot be read. */
export interface Faults {
  readonly fault: (what: string, where: string, mend: string, raw: unknown) => Reading;
  /** One fault for each thing that is wrong. */
  readonly unreadable: (error: z.ZodError, where: string, mend: string, raw: unknown) => Reading;
}

/** `excerptOf` picks what a fault may show of what came: it ends up in logs. */
export const faultsShowing = (excerptOf: (raw: unknown) => string): Faults => {
  const fault: Faults['fault'] = (what, where, mend, raw) => ({ hints: [], faults: [{ what, where, mend, excerpt: excerptOf(raw) }], asides: [] });
  return {
    fault,
    unreadable: (error, where, mend, raw) => together(error.issues.flatMap(leaves).map(({ message, path }) => fault(message, where + jsonPath(path), mend, raw))),
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
