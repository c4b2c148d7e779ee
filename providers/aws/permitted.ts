import { CONNECTING_LASTS_MS, type Permit } from '../../fencing/permit.ts';

/** The last step before the wire: signing, and with it every wait for credentials, lies before. */
export const AFTER_SIGNING = { step: 'deserialize', priority: 'low', name: 'checkPermit' } as const;

/** Middleware for one command that checks its permit in the moment in which the request is handed to its connection. */
export const permitted =
  (permit: Permit) =>
  <Args, Result>(next: (args: Args) => Promise<Result>) =>
  (args: Args): Promise<Result> => {
    permit.check(CONNECTING_LASTS_MS);
    return next(args);
  };
