import type { Known } from '../fencing/known.ts';
import type { Command } from '../fencing/next.ts';
import type { Ports } from '../fencing/ports.ts';
import { stepLine } from './decision-line.ts';
import type { Wiring } from './wiring.ts';

/** How long the platform lets an invocation go on; what Lambda hands in says it: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
export interface TimeLimit {
  readonly getRemainingTimeInMillis: () => number;
}

/** Left at the end of an invocation to answer in good order (ms). */
const MARGIN_MS = 3_000;

export interface Invocation {
  readonly ports: Ports;
  /** Mono ms at which runs end, well before the platform ends the process. */
  readonly deadline: number;
}

/**
 * Work under one invocation: logs each step, and aborts whatever is in flight before the handler returns, because a frozen
 * process must not finish a call when it thaws.
 */
export const within = async <T>(
  { ports, log }: Wiring,
  limit: TimeLimit,
  eventOf: (known: Known) => string | null,
  work: (invocation: Invocation) => Promise<T>,
): Promise<T> => {
  const inFlight = new AbortController();
  const observe = (command: Command, _: unknown, known: Known) => {
    const line = stepLine(command, known, eventOf(known));
    if (line) log(line);
  };
  try {
    const deadline = ports.clock.now().mono + limit.getRemainingTimeInMillis() - MARGIN_MS;
    return await work({ ports: { ...ports, signal: inFlight.signal, observe }, deadline });
  } finally {
    inFlight.abort();
  }
};
