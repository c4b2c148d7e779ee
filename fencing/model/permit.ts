import { ProofExpired } from './errors.ts';

/**
 * The permission to send one destructive call. The sender calls `check` right before the request is sent. If the
 * process was frozen in between, the proof has expired, and the call is not sent.
 */
export interface Permit {
  /**
   * Checks that the proof is still valid.
   *
   * @throws ProofExpired if the read that said off is too old
   */
  readonly check: () => void;
  /**
   * Aborts when the proof expires. A call that was already sent and has no answer yet is then aborted, and its result
   * is unknown.
   */
  readonly ended: AbortSignal;
}

/** How long a read that said off allows a destructive call, in ms of a monotonic clock. */
export const PROOF_LASTS_MS = 2_000;

interface PermitClock {
  readonly now: () => { readonly mono: number };
  /** Returns a signal that aborts after this many ms. */
  readonly timeout: (ms: number) => AbortSignal;
}

/**
 * Returns a permit that ends when the proof expires. A call that is sent concurrently with others also depends on a
 * recheck, and must be sent before the recheck is too old (`leaveBy`). Both are times of the monotonic clock (ms).
 */
export const permitUntil = (expires: number, { now, timeout }: PermitClock, leaveBy = Infinity): Permit => ({
  check: () => {
    const late = now().mono - Math.min(expires, leaveBy);
    const what = expires <= leaveBy ? 'proof' : 'recheck';
    if (late >= 0)
      throw new ProofExpired(`the ${what} is ${Math.round(late)} ms too old, so Cloudfence did not send the call`);
  },
  ended: timeout(Math.max(0, expires - now().mono)),
});
