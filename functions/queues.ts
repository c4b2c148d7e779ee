import type { LookAgain } from './look-again.ts';

/** Why a message is dead, beside the message itself: nobody has to search the logs for it. */
export interface DeadLetter {
  readonly reason: string;
  readonly body: string;
}

export interface Queues {
  readonly again: (message: LookAgain, delaySeconds: number) => Promise<void>;
  readonly dead: (letter: DeadLetter) => Promise<void>;
}

/** Queues refuse an attribute that is too long together with its message; the reason's beginning is enough. */
export const LONGEST_REASON = 1_000;
