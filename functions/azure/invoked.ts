import type { TimeLimit } from '../invocation.ts';
import { logTo, type Logging } from './log.ts';
import type { AzureWiring, Wired } from './wiring.ts';

export interface Invoked {
  readonly wiring: AzureWiring;
  readonly limit: TimeLimit;
}

/** An invocation logs under its own name, and has as long as the app's configuration says. */
export const invoked = async (wired: Wired, context: Logging): Promise<Invoked> => {
  const began = performance.now();
  const wiring = { ...(await wired()), log: logTo(context) };
  return { wiring, limit: { getRemainingTimeInMillis: () => began + wiring.lasts - performance.now() } };
};
