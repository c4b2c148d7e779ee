import type { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { CloudfenceError, InvalidConfiguration, InvalidInput } from '../fencing/model/errors.ts';
import type { Clock } from '../fencing/loop/ports.ts';
import { reasonOf } from '../fencing/loop/ending.ts';
import { isSimulated, type Outcome, outcomeJson, type OutcomeKind } from '../fencing/model/outcome.ts';
import { onOneLine, type Reason, because, shorten } from '../fencing/model/reason.ts';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellQuote } from '../providers/stage.ts';

/** The output of a command. */
export interface Output {
  readonly line: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** A terminal whose last line can be rewritten. */
export interface Screen {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  /** Calls `work` every `ms` ms until the returned function is called. */
  readonly every: (ms: number, work: () => void) => () => void;
}

/** The parts of the process that a command uses. Tests provide their own. */
export interface Terminal extends Output {
  /** Standard output and standard error, or null for one that is no terminal. */
  readonly screens: { readonly output: Screen | null; readonly errors: Screen | null };
  /** Standard input. */
  readonly input: () => Readable;
  readonly clock: Clock;
}

const withoutControls = (text: string): string => text.split('\n').map(onOneLine).join('\n');

/** Returns the terminal with control characters removed from its lines, because they may contain foreign text. */
export const withSafeLines = (terminal: Terminal): Terminal => ({
  ...terminal,
  line: (text) => terminal.line(withoutControls(text)),
  complain: (text) => terminal.complain(withoutControls(text)),
});

/** Returns the outcome of a run that could not begin. Such an outcome contains only the reason. */
export const outcomeOfError = (error: CloudfenceError, dryRun: boolean): Outcome =>
  outcomeOfReason(reasonOf(error), dryRun, error.retry);

const outcomeOfReason = (reason: Reason, dryRun: boolean, retry = false): Outcome => ({
  outcome: 'failed',
  reason,
  machine: '',
  cluster: null,
  node: null,
  nodeUid: null,
  mode: 'taint',
  dryRun,
  shadow: false,
  evidence: {},
  generation: null,
  provenAt: null,
  steps: [],
  left: [],
  lookAgainIn: null,
  retry,
  record: null,
});

const prefixOf = (ended: Outcome): string => {
  if (!isSimulated(ended)) return '';
  return ended.dryRun ? 'dry run: ' : 'shadow mode: ';
};

/** Describes the end of a run: the outcome, the reason, and what was not touched. */
const outcomeLines = (ended: Outcome): readonly string[] => {
  const { outcome, machine, node, cluster, reason, left } = ended;
  return [
    `${prefixOf(ended)}${outcome}  ${machine}${node === null ? '' : `  node ${node}`}` +
      (cluster === null ? '' : `  cluster ${cluster}`),
    `  ${reason.says} (${reason.code})`,
    ...left.map(({ what, why }) => `  left alone: ${what}: ${why}`),
  ];
};

/** Prints one outcome, as text for people or as exactly one JSON object. Returns the exit code. */
export const printOutcome = (outcome: Outcome, json: boolean, { line }: Output): number => {
  if (json) line(JSON.stringify(outcomeJson(outcome)));
  else for (const text of outcomeLines(outcome)) line(text);
  return exitCodeOf([outcome.outcome]);
};

/** Prints several outcomes, as text or as one JSON object with `results`. Returns the exit code. */
export const printOutcomes = (outcomes: readonly Outcome[], json: boolean, { line }: Output): number => {
  if (json) line(JSON.stringify({ results: outcomes.map(outcomeJson) }));
  else for (const text of outcomes.flatMap(outcomeLines)) line(text);
  if (!json && outcomes.length === 0) line('nothing to do');
  return exitCodeOf(outcomes.map(({ outcome }) => outcome));
};

/**
 * Exit codes: 0 fenced, released, a dry run that would do so, or correctly ignored · 1 failed · 2 usage or
 * configuration · 3 still waiting at the timeout · 4 refused · 130 interrupted by Ctrl-C. `diagnose`: 0 no pod waits ·
 * 3 the wait ends by itself or with a fence · 4 a person has to act. `status`: 0 no Node is fenced · 1 a cluster did
 * not answer · 3 Nodes are fenced · 4 a fence needs a person. `doctor`: 0 ready, also with warnings · 1 not ready.
 * `drill`: 1 also if the recovery is too slow, or if something could not be removed.
 */
const USAGE_ERROR = 2;
export const STILL_WAITING = 3;
export const NEEDS_PERSON = 4;
export const INTERRUPTED = 130;

const codes: Record<OutcomeKind, number> = {
  fenced: 0,
  released: 0,
  'would-fence': 0,
  'would-release': 0,
  ignored: 0,
  failed: 1,
  waiting: STILL_WAITING,
  refused: NEEDS_PERSON,
};

/**
 * With several outcomes, the one that most needs a person determines the exit code: a failure, then a refusal, then a
 * wait.
 */
const mostSevereFirst: readonly OutcomeKind[] = ['failed', 'refused', 'waiting'];

const exitCodeOf = (outcomes: readonly OutcomeKind[]): number => {
  const worst = mostSevereFirst.find((kind) => outcomes.includes(kind));
  return worst ? codes[worst] : 0;
};

export interface OutputOptions {
  readonly json: boolean;
  readonly dryRun: boolean;
  /** Prints the stack of an error. Only people who debug Cloudfence want to see this. */
  readonly debug: boolean;
}

/** Reads these options from the arguments, even when the arguments cannot be parsed. */
export const readOutputOptions = (argv: readonly string[]): OutputOptions => {
  const said = (option: string): boolean => argv.includes(option);
  return { json: said('--json'), dryRun: said('--dry-run'), debug: said('--debug') };
};

/** The maximum length of a shown message, because a line of a bundle or a page of a library's text does not help. */
const LONGEST = 300;

const firstLine = (text: string): string => {
  const [line = ''] = text.split('\n');
  return shorten(line, LONGEST);
};

const reasonFor = (error: unknown): Reason => {
  if (error instanceof CloudfenceError) return reasonOf(error);
  if (error instanceof CommanderError) return because('invalid', firstLine(error.message.replace(/^error: /, '')));
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return because(
    'unexpected',
    `Cloudfence failed unexpectedly (${firstLine(said)}). This is a bug in Cloudfence. Add --debug to see the ` +
      'stack trace',
  );
};

const isUsage = (error: unknown): boolean =>
  error instanceof CommanderError || error instanceof InvalidInput || error instanceof InvalidConfiguration;

const stackOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
};

/** Reports an error, and returns the exit code of the command that it ended. */
export const reportFailure = (error: unknown, { json, dryRun, debug }: OutputOptions, output: Output): number => {
  if (error instanceof CommanderError && error.exitCode === 0) return 0;
  const reason = reasonFor(error);
  // Commander has already printed the problem with the arguments, with suggestions.
  if (!(error instanceof CommanderError)) output.complain(`cloudfence: ${reason.says}`);
  if (debug) output.complain(stackOf(error));
  if (json) printOutcome(outcomeOfReason(reason, dryRun), true, output);
  return isUsage(error) ? USAGE_ERROR : 1;
};

/**
 * The files that belong to the CLI. In a checkout, the paths in messages are relative to it. A package is installed in
 * another folder.
 */

/** The path of a file that every package contains, as it appears in messages. */
const PACKAGED = /(?<![\w./-])(?:infra\/kubernetes\/[\w-]+\.yaml|docs\/install\.md)\b/g;

/** This file exists only in a checkout. */
const OF_CHECKOUT = 'serverless.yml';

/** In a JSON line, quotes in the path would have to be escaped. */
const isPlain = (folder: string): boolean => !/["'\\]/.test(folder);

const packageIn = (folder: string): string | null =>
  existsSync(path.join(folder, 'infra/kubernetes')) && !existsSync(path.join(folder, OF_CHECKOUT)) ? folder : null;

/** The folder of the package that contains this CLI: the built CLI is in `dist/cli/`. Null in a checkout. */
export const packageFolder: string | null = packageIn(fileURLToPath(new URL('../..', import.meta.url)));

/** Outside a checkout, npx would load the package that has this name on npm. The project does not own that name. */
const BY_NPX = /\bnpx (?=cloudfence\b)/g;

/** Returns the text with paths and commands that exist on the reader's computer. */
export const withOwnPaths = (text: string, folder: string | null): string => {
  if (folder === null) return text;
  const own = folder.replaceAll(path.win32.sep, path.posix.sep);
  const runnable = text.replaceAll(BY_NPX, '');
  return isPlain(own) ? runnable.replaceAll(PACKAGED, (file) => shellQuote(path.posix.join(own, file))) : runnable;
};
