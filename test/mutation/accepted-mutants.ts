import { accepted, type Accepted } from './accepted.ts';
import type { Mutant } from './mutants.ts';

const inOneLine = (code: string): string => code.replaceAll(/\s+/g, ' ').trim();

const isSame = (mutant: Mutant, one: Accepted): boolean =>
  mutant.file === one.file &&
  mutant.line === one.line &&
  inOneLine(mutant.from) === one.from &&
  inOneLine(mutant.to) === one.to;

export const isAccepted = (mutant: Mutant): boolean => accepted.some((one) => isSame(mutant, one));

/** Returns what was accepted in a mutated file and has not survived: a test kills it now, or the code has changed. */
export const outdated = (files: ReadonlySet<string>, survivors: readonly Mutant[]): readonly Accepted[] =>
  accepted.filter((one) => files.has(one.file) && !survivors.some((survivor) => isSame(survivor, one)));

export const describeMutant = ({ file, at, from, to }: Mutant): string =>
  `${file}:${at}: ${inOneLine(from)}  →  ${inOneLine(to)}`;
