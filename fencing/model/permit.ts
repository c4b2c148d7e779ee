import { ProofExpired } from './errors.ts';

/**
 * Leave to send one destructive call. Whoever sends it calls `check` at the last moment before the request leaves,
 * so that a process which was frozen in between finds its proof expired instead of acting on it.
 */
export interface Permit {
  /** @throws ProofExpired when the read that said off is too old. */
  readonly check: () => void;
  /** Aborts when it is too old: what left before and has no answer yet is ended, and its result is unknown. */
  readonly ended: AbortSignal;
}

/** How long a read that said off may carry a destructive call, in ms of a monotonic clock. */
export const PROOF_LASTS_MS = 2_000;

interface PermitClock {
  readonly now: () => { readonly mono: number };
  /** A signal that aborts after so many ms. */
  readonly timeout: (ms: number) => AbortSignal;
}

export const permitUntil = (expires: number, { now, timeout }: PermitClock): Permit => ({
  check: () => {
    const late = now().mono - expires;
    if (late >= 0) throw new ProofExpired(`the proof is ${Math.round(late)} ms too old; the call was not sent`);
  },
  ended: timeout(Math.max(0, expires - now().mono)),
});
