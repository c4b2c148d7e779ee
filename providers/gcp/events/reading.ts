import type { z } from 'zod';
import type { Hint, Reading } from '../../../fencing/hint.ts';
import { outlineOf } from './outline.ts';

export const together = (readings: readonly Reading[]): Reading => ({
  hints: readings.flatMap((reading) => reading.hints),
  faults: readings.flatMap((reading) => reading.faults),
  asides: readings.flatMap((reading) => reading.asides),
});

export const hinted = (hint: Hint): Reading => ({ hints: [hint], faults: [], asides: [] });

export const aside = (what: string, where: string): Reading => ({ hints: [], faults: [], asides: [{ what, where }] });

export const fault = (what: string, where: string, mend: string, raw: unknown): Reading => ({
  hints: [],
  faults: [{ what, where, mend, excerpt: outlineOf(raw) }],
  asides: [],
});

/** One fault for each thing that is wrong. */
export const unreadable = (error: z.ZodError, where: string, mend: string, raw: unknown): Reading =>
  together(error.issues.map((issue) => fault(issue.message, where + jsonPath(issue.path), mend, raw)));

const jsonPath = (path: readonly PropertyKey[]): string =>
  path.map((step) => (typeof step === 'number' ? `[${step}]` : /^\w+$/.test(String(step)) ? `.${String(step)}` : `['${String(step)}']`)).join('');
