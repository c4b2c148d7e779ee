import { readFile } from 'node:fs/promises';
import type { Logger } from '@stryker-mutator/api/logging';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { messageTexts } from './message-texts.ts';

/** One place of a shipped file, and the code that replaces it. */
export interface Mutant {
  readonly id: string;
  readonly file: string;
  /** The line on which the mutated code begins: its number, and its text. */
  readonly at: number;
  readonly line: string;
  /** Where the mutated code begins and ends in the file. */
  readonly begins: number;
  readonly ends: number;
  readonly from: string;
  readonly to: string;
}

/** Shipped files with all their mutants in them. Each mutant is a branch, which is taken while its ID is active. */
export interface Instrumented {
  readonly mutants: readonly Mutant[];
  /** The code by the path of its file. */
  readonly code: Readonly<Record<string, string>>;
}

const nothing = (): void => undefined;
const no = (): boolean => false;
const silent: Logger = {
  isTraceEnabled: no,
  isDebugEnabled: no,
  isInfoEnabled: no,
  isWarnEnabled: no,
  isErrorEnabled: no,
  isFatalEnabled: no,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
};

interface Position {
  readonly line: number;
  readonly column: number;
}

/** Stryker counts the lines and columns of a mutant from 0. */
const offsetIn = (lines: readonly string[], { line, column }: Position): number =>
  lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0) + column;

/** Makes the mutants of [Stryker](https://stryker-mutator.io/docs/mutation-testing-elements/supported-mutators/). */
export const instrument = async (files: readonly string[]): Promise<Instrumented> => {
  const texts = new Map<string, string>();
  for (const file of files) texts.set(file, await readFile(file, 'utf8'));
  const found = await new Instrumenter(silent).instrument(
    [...texts].map(([name, content]) => ({ name, content, mutate: true })),
    { plugins: null, excludedMutations: [], ignorers: [messageTexts] },
  );
  const wanted = found.mutants.filter(({ status }) => status !== 'Ignored');
  const mutants = wanted.map(({ id, fileName: file, location: { start, end }, replacement }) => {
    const text = texts.get(file) ?? '';
    const lines = text.split('\n');
    const [begins, ends] = [offsetIn(lines, start), offsetIn(lines, end)];
    const line = (lines[start.line] ?? '').trim();
    return { id, file, at: start.line + 1, line, begins, ends, from: text.slice(begins, ends), to: replacement };
  });
  return { mutants, code: Object.fromEntries(found.files.map(({ name, content }) => [name, content])) };
};
