import fc from 'fast-check';
import { type Damage, damages, worst, type worstSizes } from './damage.ts';
import { judge, type Reader } from './judge.ts';

/**
 * Gives damaged inputs to readers, counts the outcomes, and shrinks the first input for which something did not hold.
 */

export interface Tally {
  readonly reader: string;
  readonly inputs: number;
  /** By outcome. */
  readonly counts: ReadonlyMap<string, number>;
  readonly ms: number;
  readonly slowestMs: number;
  readonly finding: Found | null;
}

/** An input for which something did not hold, in its shortest form. */
export interface Found {
  readonly damage: Damage;
  readonly says: string;
  /** Plays this input again, with the seed, in fast-check. */
  readonly path: string | null;
}

/** Distributes the inputs among the readers. Each reader gets some. */
export const sharesOf = (readers: readonly Reader[], inputs: number): ReadonlyMap<Reader, number> => {
  const whole = readers.reduce((sum, { share }) => sum + share, 0);
  return new Map(readers.map((reader) => [reader, Math.max(1, Math.round((inputs * reader.share) / whole))]));
};

interface Extent {
  readonly inputs: number;
  readonly seed: number;
  readonly worstAre: keyof typeof worstSizes;
}

export const fuzz = async (reader: Reader, { inputs, seed, worstAre }: Extent): Promise<Tally> => {
  const first = worst(reader, worstAre);
  const counts = new Map<string, number>();
  let slowestMs = 0;
  const holds = async (damage: Damage): Promise<void> => {
    const began = performance.now();
    const outcome = await judge(reader, damage);
    slowestMs = Math.max(slowestMs, performance.now() - began);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  };
  const began = performance.now();
  const details = await fc.check(fc.asyncProperty(damages[reader.takes], holds), {
    seed,
    numRuns: Math.max(inputs, first.length),
    examples: first.map((one): [Damage] => [one]),
  });
  const [damage] = details.counterexample ?? [];
  return {
    reader: reader.name,
    inputs: details.numRuns,
    counts,
    ms: Math.round(performance.now() - began),
    slowestMs: Math.round(slowestMs),
    finding: damage
      ? {
          damage,
          path: details.counterexamplePath,
          says: String(details.errorInstance instanceof Error ? details.errorInstance.message : details.errorInstance),
        }
      : null,
  };
};
