import { sweep as sweepAll, type SweepAnswer } from '../sweep.ts';
import { invoked } from './invoked.ts';
import type { Logging } from './log.ts';
import type { Wired } from './wiring.ts';

/** For a timer, which takes no answer; what was found is in the log, and handed back for tests and runs by hand. */
export const sweep =
  (wired: Wired) =>
  async (_timer: unknown, context: Logging): Promise<SweepAnswer> => {
    const { wiring, limit } = await invoked(wired, context);
    return sweepAll(async () => wiring)(null, limit);
  };
