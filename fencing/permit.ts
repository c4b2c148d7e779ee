import { ProofExpired } from './errors.ts';

/**
 * Leave to send one destructive call. Whoever sends it calls `check` at the last moment before the request leaves,
 * so that a process which was frozen in between finds its proof expired instead of acting on it.
 */
export interface Permit {
  /**
   * `needs`: ms that may still pass before the first byte really leaves.
   * @throws ProofExpired when the read that said off is, or will then be, too old.
   */
  readonly check: (needs?: number) => void;
}

/** A cloud's SDK is checked before it connects, and may take this long to. Its clients' connection time-out is no longer. */
export const CONNECTING_LASTS_MS = 1_000;

/** How long a read that said off may carry a destructive call, in ms of a monotonic clock. */
export const PROOF_LASTS_MS = 2_000;

export const permitUntil = (expires: number, monotonic: () => number): Permit => ({
  check: (needs = 0) => {
    const late = monotonic() + needs - expires;
    if (late >= 0) throw new ProofExpired(`the proof is ${Math.round(late)} ms too old; the call was not sent`);
  },
});
