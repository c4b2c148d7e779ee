import { inspect } from 'node:util';
import type { Hint, Reading } from '../../../fencing/hint.ts';

export const together = (readings: readonly Reading[]): Reading => ({
  hints: readings.flatMap((reading) => reading.hints),
  faults: readings.flatMap((reading) => reading.faults),
  asides: readings.flatMap((reading) => reading.asides),
});

export const hinted = (hints: readonly Hint[]): Reading => ({ hints, faults: [], asides: [] });

export const aside = (what: string, where: string): Reading => ({ hints: [], faults: [], asides: [{ what, where }] });

export const fault = (what: string, where: string, mend: string, raw: unknown): Reading => ({
  hints: [],
  faults: [{ what, where, mend, excerpt: inspect(raw, { depth: 3, breakLength: Infinity }).slice(0, 300) }],
  asides: [],
});
