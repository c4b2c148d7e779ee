import { ProofExpired } from '../fencing/model/errors.ts';
import { permitUntil, type Permit } from '../fencing/model/permit.ts';

const never = new AbortController().signal;

/** A permit that does not end. */
export const granted: Permit = { check: () => undefined, ended: never };

/** One that has ended, as the clock says; its signal is still to come. */
export const expired: Permit = {
  check: () => {
    throw new ProofExpired('too late');
  },
  ended: never,
};

/** By a clock that the test moves, and that runs no timers. */
export const grantedUntil = (expires: number, mono: () => number): Permit =>
  permitUntil(expires, { now: () => ({ mono: mono() }), timeout: () => never });

/**
 * A proof whose end the test tells: `age` as a clock that nobody has looked at yet, `end` with the timer that runs on
 * it.
 */
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
