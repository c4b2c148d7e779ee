import { ProofExpired } from './errors.ts';

/**
 * The right to send one destructive call. The sender calls `check` at the last moment before the request leaves. A
 * process that was frozen in between then finds its proof expired instead of acting on it.
 */
export interface Permit {
  /**
   * Checks that the proof is still valid.
   *
   * @throws ProofExpired if the read that said off is too old
   */
  readonly check: () => void;
  /**
   * Aborts when that read is too old. A call that left before and has no answer yet is ended, and its result is
   * unknown.
   */
  readonly ended: AbortSignal;
}

/** How long a read that said off may justify a destructive call, in ms of a monotonic clock. */
export const PROOF_LASTS_MS = 2_000;

interface PermitClock {
  readonly now: () => { readonly mono: number };
  /** Returns a signal that aborts after this many ms. */
  readonly timeout: (ms: number) => AbortSignal;
}

/**
 * Returns a permit that ends when the proof expires. A call that leaves beside others also depends on a recheck, and
 * has to leave before that is too old (`leaveBy`). Both are monotonic ms.
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
