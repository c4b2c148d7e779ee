import { ProofExpired } from './errors.ts';

/**
 * Leave to send one destructive call. Whoever sends it calls `check` at the last moment before the request leaves,
 * so that a process which was frozen in between finds its proof expired instead of acting on it.
 */
export interface Permit {
  /** @throws ProofExpired when the read that said off is too old. */
  readonly check: () => void;
}

/** How long a read that said off may carry a destructive call, in ms of a monotonic clock. */
export const PROOF_LASTS_MS = 2_000;

export const permitUntil = (expires: number, monotonic: () => number): Permit => ({
  check: () => {
    const late = monotonic() - expires;
    if (late >= 0) throw new ProofExpired(`the proof expired ${Math.round(late)} ms ago; the call was not sent`);
  },
});
