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
  /** At most one for each block. */
  readonly findings: readonly Found[];
}

/** An input for which something did not hold, in its shortest form. */
export interface Found {
  readonly damage: Damage;
  readonly says: string;
  readonly seed: number;
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
  /** Null leaves out the worst inputs. */
  readonly worstAre: keyof typeof worstSizes | null;
}

/** Some of the inputs of one reader. */
export interface Block extends Extent {
  readonly reader: string;
}

const LARGEST_BLOCK = 20_000;

/** Divides the share of a reader into blocks, each with its own seed. The first block contains the worst inputs. */
export const blocksOf = (reader: Reader, among: readonly Reader[], { inputs, seed, worstAre }: Extent): Block[] => {
  const share = sharesOf(among, inputs).get(reader) ?? 0;
  return Array.from({ length: Math.ceil(share / LARGEST_BLOCK) }, (_, at) => ({
    reader: reader.name,
    inputs: Math.min(LARGEST_BLOCK, share - at * LARGEST_BLOCK),
    seed: seed + at,
    worstAre: at === 0 ? worstAre : null,
  }));
};

const counted = (one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
  new Map([...one.keys(), ...other.keys()].map((what) => [what, (one.get(what) ?? 0) + (other.get(what) ?? 0)]));

/** Adds the tallies of two blocks of one reader. */
export const merged = (one: Tally, other: Tally): Tally => ({
  reader: one.reader,
  inputs: one.inputs + other.inputs,
  counts: counted(one.counts, other.counts),
  ms: one.ms + other.ms,
  slowestMs: Math.max(one.slowestMs, other.slowestMs),
  findings: [...one.findings, ...other.findings],
});

export const fuzz = async (reader: Reader, { inputs, seed, worstAre }: Extent): Promise<Tally> => {
  const first = worstAre === null ? [] : worst(reader, worstAre);
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
    findings: damage
      ? [
          {
            damage,
            seed,
            path: details.counterexamplePath,
            says: String(
              details.errorInstance instanceof Error ? details.errorInstance.message : details.errorInstance,
            ),
          },
        ]
      : [],
  };
};
