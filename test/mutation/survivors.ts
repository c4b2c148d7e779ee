import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { accepted, type Accepted } from './accepted.ts';
import type { Mutant } from './stryker.ts';

/** A mutant that all tests passed. */
export interface Survivor {
  readonly file: string;
  readonly at: number;
  readonly line: string;
  /** Where the mutated code begins and ends in the file. */
  readonly begins: number;
  readonly ends: number;
  readonly from: string;
  readonly to: string;
}

const offsetIn = (lines: readonly string[], { line, column }: Mutant['location']['start']): number =>
  lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;

export const survivorOf = ({ fileName, location, replacement }: Mutant): Survivor => {
  const file = relative('.', fileName);
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  const [begins, ends] = [offsetIn(lines, location.start), offsetIn(lines, location.end)];
  const line = (lines[location.start.line - 1] ?? '').trim();
  return { file, at: location.start.line, line, begins, ends, from: text.slice(begins, ends), to: replacement };
};

const inOneLine = (code: string): string => code.replaceAll(/\s+/g, ' ').trim();

const isSame = (survivor: Survivor, one: Accepted): boolean =>
  survivor.file === one.file &&
  survivor.line === one.line &&
  inOneLine(survivor.from) === one.from &&
  inOneLine(survivor.to) === one.to;

export const isAccepted = (survivor: Survivor): boolean => accepted.some((one) => isSame(survivor, one));

/** Returns what was accepted in a mutated file and has not survived: a test kills it now, or the code has changed. */
export const outdated = (files: ReadonlySet<string>, survivors: readonly Survivor[]): readonly Accepted[] =>
  accepted.filter((one) => files.has(one.file) && !survivors.some((survivor) => isSame(survivor, one)));

export const told = ({ file, at, from, to }: Survivor): string =>
  `${file}:${at}: ${inOneLine(from)}  →  ${inOneLine(to)}`;
