import { CloudfenceError, Denied } from '../../fencing/errors.ts';
import { messageLine } from '../decision-line.ts';
import type { HttpAnswer, HttpRequest } from './http.ts';
import type { GcpWiring } from './wire.ts';

const statusFor = (error: CloudfenceError, hasToken: boolean): number => {
  if (!(error instanceof Denied)) return 503;
  return hasToken ? 403 : 401;
};

/** The answer to whoever is not let in, which says no more than that; null for those who may push. */
export const turnedAway = async ({ headers }: HttpRequest, { letIn, log }: GcpWiring): Promise<HttpAnswer | null> => {
  const authorization = headers.authorization ?? null;
  try {
    await letIn(authorization);
    return null;
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    log(messageLine('not-let-in', error instanceof Denied ? 'denied' : 'unavailable', error.message, null));
    return { status: statusFor(error, authorization !== null) };
  }
};
