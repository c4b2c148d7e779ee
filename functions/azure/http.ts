import { InvalidInput } from '../../fencing/model/errors.ts';
import { jsonIn } from '../../fencing/model/json-text.ts';
import { failureLine, sentenceOf } from '../decision-log.ts';
import type { TimeLimit } from '../invocation.ts';
import { decision } from '../metrics.ts';
import type { AzureWiring, Wired } from './wire.ts';

/**
 * The part of the platform's request that Cloudfence uses.
 * https://learn.microsoft.com/azure/azure-functions/functions-reference-node
 */
interface HttpRequest {
  readonly method: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly text: () => Promise<string>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type HttpFunction = (request: HttpRequest, context: Logging) => Promise<HttpAnswer>;

export const json = (status: number, body: object): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const failure = (error: unknown): HttpAnswer =>
  json(error instanceof InvalidInput ? 400 : 500, { error: sentenceOf(error) });

/**
 * Wraps a function that a person calls with a key. The caller gets an error as one sentence; the stack of an unexpected
 * error stays in the log.
 */
export const byHand =
  <Answer extends object>(
    wired: Wired,
    answer: (asked: unknown, invocation: Invoked) => Promise<Answer>,
    statusOf: (answer: Answer) => number = () => 200,
  ): HttpFunction =>
  async (request, context) => {
    try {
      const text = await request.text();
      const said = await answer(text === '' ? {} : (jsonIn(text) ?? text), await invoked(wired, context));
      return json(statusOf(said), said);
    } catch (error) {
      context.error(JSON.stringify(failureLine('by-hand', error)));
      return failure(error);
    }
  };

export interface Invoked {
  readonly wiring: AzureWiring;
  readonly limit: TimeLimit;
}

/**
 * Returns the wiring and the time limit of one invocation. The invocation logs under its own name, and the app's
 * configuration sets its time limit.
 */
export const invoked = async (wired: Wired, context: Logging): Promise<Invoked> => {
  const began = performance.now();
  const wiring = { ...(await wired()), log: logTo(context) };
  return { wiring, limit: { getRemainingTimeInMillis: () => began + wiring.lasts - performance.now() } };
};

/** The logging methods of the context that the platform passes to each invocation. */
export interface Logging {
  readonly log: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly error: (text: string) => void;
}

type Level = keyof Logging;

const levels: Readonly<Record<string, Level>> = {
  failed: 'error',
  refused: 'warn',
  [decision.notUnderstood]: 'warn',
  [decision.foreign]: 'warn',
  [decision.handedToSweep]: 'warn',
};

/** Logs one line of JSON per entry. Application Insights stores it in the table AppTraces with its invocation. */
const logTo =
  (context: Logging) =>
  (line: object): void => {
    const { decision: what } = { decision: '', ...line };
    context[levels[what] ?? 'log'](JSON.stringify(line));
  };
