import { CommanderError } from 'commander';
import { CloudfenceError, InvalidConfiguration, InvalidInput } from '../fencing/model/errors.ts';
import { reasonOf } from '../fencing/loop/failing.ts';
import { because, type Reason, shorten } from '../fencing/model/reason.ts';
import { printOutcome, outcomeOfReason, type Output, USAGE_ERROR } from './answer.ts';

/**
 * This module ends a command that could not be carried out: with a sentence for people, and with the JSON that `--json`
 * promises.
 */

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
    `Cloudfence failed unexpectedly (${firstLine(said)}). This is a bug in Cloudfence. Add --debug to see the stack trace`,
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
  // Commander has already said what is wrong with the arguments, and what might have been meant.
  if (!(error instanceof CommanderError)) output.complain(`cloudfence: ${reason.says}`);
  if (debug) output.complain(stackOf(error));
  if (json) printOutcome(outcomeOfReason(reason, dryRun), true, output);
  return isUsage(error) ? USAGE_ERROR : 1;
};
