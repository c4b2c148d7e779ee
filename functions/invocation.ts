import type { Known } from '../fencing/known.ts';
import { ClusterUnavailable } from '../fencing/errors.ts';
import type { Answer } from '../fencing/learn.ts';
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

/** Clusters that could not be asked, and why: those that answered again meanwhile are not among them. */
export type Unreachable = ReadonlyMap<string, string>;

const noticed = (unreachable: Map<string, string>, answer: Answer, { place }: Known): void => {
  if (answer.to === 'locate') {
    for (const { cluster, error } of answer.found) if (error) unreachable.set(cluster, error.message);
  }
  if (!place) return;
  if (answer.to === 'failed' && answer.error instanceof ClusterUnavailable) unreachable.set(place.cluster, answer.error.message);
  if (answer.to === 'look' && answer.cluster) unreachable.delete(place.cluster);
};

export interface Invocation {
  readonly ports: Ports;
  /** Mono ms at which runs end, well before the platform ends the process. */
  readonly deadline: number;
  /** As far as is known by now. */
  readonly unreachable: Unreachable;
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
  isNews: (command: Command, known: Known) => boolean = () => true,
): Promise<T> => {
  const inFlight = new AbortController();
  const unreachable = new Map<string, string>();
  const observe = (command: Command, answer: Answer, known: Known) => {
    noticed(unreachable, answer, known);
    const line = isNews(command, known) ? stepLine(command, known, eventOf(known)) : null;
    if (line) log(line);
  };
  try {
    const deadline = ports.clock.now().mono + limit.getRemainingTimeInMillis() - MARGIN_MS;
    return await work({ ports: { ...ports, signal: inFlight.signal, observe }, deadline, unreachable });
  } finally {
    inFlight.abort();
  }
};
