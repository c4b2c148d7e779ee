import type { Hint, Reading } from '../../../fencing/hint.ts';
import { excerptOf } from './excerpt.ts';

export const together = (readings: readonly Reading[]): Reading => ({
  hints: readings.flatMap(({ hints }) => hints),
  faults: readings.flatMap(({ faults }) => faults),
  asides: readings.flatMap(({ asides }) => asides),
});

export const hinted = (hints: readonly Hint[]): Reading => ({ hints, faults: [], asides: [] });

export const aside = (what: string, where: string): Reading => ({ hints: [], faults: [], asides: [{ what, where }] });

export const fault = (what: string, where: string, mend: string, raw: unknown): Reading => ({
  hints: [],
  faults: [{ what, where, mend, excerpt: excerptOf(raw) }],
  asides: [],
});
