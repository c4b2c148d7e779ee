import { InvalidInput } from '../../fencing/errors.ts';
import type { Fault } from '../../fencing/hint.ts';
import type { Outcome } from '../../fencing/outcome.ts';
import { outcomeJson, type OutcomeJson } from '../../fencing/outcome-json.ts';
import { react } from '../../fencing/react.ts';
import type { Ports } from '../../fencing/run.ts';
import { outcomeLine, stepLine } from '../decision-line.ts';
import { deliveriesIn, hintsOf, type Delivery } from './batch.ts';
import { wireOnce, type Wiring } from './wire.ts';

/** What Lambda tells about the invocation; https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
export interface LambdaContext {
  readonly getRemainingTimeInMillis: () => number;
}

/** To a queue: the messages to deliver again. To a person: one answer for each machine. */
export type Answered = { readonly batchItemFailures: readonly { readonly itemIdentifier: string }[] } | { readonly results: readonly OutcomeJson[] };

/** Left at the end of an invocation to answer in good order (ms). */
const MARGIN_MS = 2_000;

export const onEvent =
  (wired: () => Promise<Wiring>) =>
  async (event: unknown, context: LambdaContext): Promise<Answered> => {
    const wiring = await wired();
    const deliveries = deliveriesIn(event);
    for (const { reading } of deliveries) for (const fault of reading.faults) wiring.log({ decision: 'not-understood', ...fault });
    const outcomes = await reactTo(deliveries, wiring, context);
    for (const outcome of outcomes) wiring.log(outcomeLine(outcome));
    return answerFor(deliveries, outcomes);
  };

const reactTo = async (deliveries: readonly Delivery[], wiring: Wiring, context: LambdaContext): Promise<readonly Outcome[]> => {
  const { ports, policy, newRunId, log } = wiring;
  const deadline = ports.clock.now().mono + context.getRemainingTimeInMillis() - MARGIN_MS;
  const inFlight = new AbortController();
  try {
    const machines = hintsOf(deliveries).map(({ machine }) => machine);
    const observe: Ports['observe'] = (command, answer, known) => {
      const line = stepLine(command, answer, known);
      if (line) log(line);
    };
    return await react(machines, { policy, deadline, newRunId }, { ...ports, signal: inFlight.signal, observe });
  } finally {
    inFlight.abort();
  }
};

/** The queue delivers again what is not at an end, and what nobody could read, until it lands in the dead-letter queue. */
const wantsRedelivery = ({ reading }: Delivery, outcomes: readonly Outcome[]): boolean => {
  const machines = new Set(reading.hints.map(({ machine }) => machine));
  const unfinished = outcomes.some(({ machine, outcome }) => machines.has(machine) && (outcome === 'failed' || outcome === 'waiting'));
  return unfinished || reading.faults.length > 0;
};

const answerFor = (deliveries: readonly Delivery[], outcomes: readonly Outcome[]): Answered => {
  const [first] = deliveries;
  if (first?.messageId !== null) {
    const again = deliveries.filter((delivery) => wantsRedelivery(delivery, outcomes));
    return { batchItemFailures: again.flatMap(({ messageId }) => (messageId === null ? [] : [{ itemIdentifier: messageId }])) };
  }
  if (first.reading.faults.length > 0) throw new InvalidInput(first.reading.faults.map(inWords).join('; '));
  return { results: outcomes.map(outcomeJson) };
};

const inWords = ({ what, where, mend }: Fault): string => `${what} (at ${where}): ${mend}`;

export const handler = onEvent(wireOnce());
