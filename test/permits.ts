import { ProofExpired } from '../fencing/model/errors.ts';
import { permitUntil, type Permit } from '../fencing/model/permit.ts';

const never = new AbortController().signal;

/** A permit that does not end. */
export const granted: Permit = { check: () => undefined, ended: never };

/** A permit that has ended by the clock. Its signal has not aborted yet. */
export const expired: Permit = {
  check: () => {
    throw new ProofExpired('too late');
  },
  ended: never,
};

/** Uses a clock that the test moves and that runs no timers. */
export const grantedUntil = (expires: number, mono: () => number): Permit =>
  permitUntil(expires, { now: () => ({ mono: mono() }), timeout: () => never });

/** A proof whose end the test controls: `age` moves the clock, and `end` fires the timer. */
export const proof = (): { readonly permit: Permit; readonly age: () => void; readonly end: () => void } => {
  const ending = new AbortController();
  let aged = false;
  const check = (): void => {
    if (aged) throw new ProofExpired('the proof is too old');
  };
  const age = (): void => void (aged = true);
  const end = (): void => {
    age();
    ending.abort();
  };
  return { permit: { check, ended: ending.signal }, age, end };
};
