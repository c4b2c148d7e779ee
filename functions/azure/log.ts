import { decision } from '../names.ts';

/** As far as a log goes, what the platform hands to each invocation. */
export interface Logging {
  readonly log: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly error: (text: string) => void;
}

type Level = keyof Logging;

const levels: Readonly<Record<string, Level>> = {
  failed: 'error',
  refused: 'warn',
  [decision.notUnderstood]: 'warn',
  [decision.foreign]: 'warn',
  [decision.handedToSweep]: 'warn',
};

/** One line of JSON each, in the table AppTraces of Application Insights, with the invocation that it is of. */
export const logTo =
  (context: Logging) =>
  (line: object): void => {
    const { decision: what } = { decision: '', ...line };
    context[levels[what] ?? 'log'](JSON.stringify(line));
  };
