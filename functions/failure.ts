import { CloudfenceError } from '../fencing/errors.ts';
import { messageLine } from './decision-line.ts';

/** What is told of an error: to whoever called, one sentence; to the log, all of it. */

/** An error of ours says what, where and how to mend it. Of any other a stranger is told that it was one. */
export const sentenceOf = (error: unknown): string => {
  if (error instanceof CloudfenceError) return error.message;
  const [said = ''] = (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).split('\n');
  return `something unexpected went wrong (${said}): the log of the function says where`;
};

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** For the log alone. */
export const failureLine = (because: string, error: unknown): object => ({
  ...messageLine('failed', because, sentenceOf(error), null),
  ...(error instanceof CloudfenceError ? {} : { stack: stackOf(error) }),
});
