import { InvalidInput } from '../../fencing/model/errors.ts';
import { parseJsonOrNull } from '../../fencing/model/json-text.ts';
import { failureLine, publicMessage } from '../decision-log.ts';
import type { TimeLimit } from '../invocation.ts';
import { logDecision } from '../metrics.ts';
import type { AzureDependencies, GetDependencies } from './dependencies.ts';

/**
 * The part of the platform's request that Cloudfence uses.
 * https://learn.microsoft.com/azure/azure-functions/functions-reference-node
 */
interface HttpRequest {
  readonly method: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly text: () => Promise<string>;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type HttpFunction = (request: HttpRequest, context: PlatformLogger) => Promise<HttpResponse>;

export const jsonResponse = (status: number, body: object): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const failure = (error: unknown): HttpResponse =>
  jsonResponse(error instanceof InvalidInput ? 400 : 500, { error: publicMessage(error) });

/**
 * Wraps a function that a person calls with a key. The caller gets an error as one sentence; the stack of an unexpected
 * error stays in the log.
 */
export const manualHandler =
  <Answer extends object>(
    getDependencies: GetDependencies,
    answer: (asked: unknown, invocation: InvocationContext) => Promise<Answer>,
    statusOf: (answer: Answer) => number = () => 200,
  ): HttpFunction =>
  async (request, context) => {
    try {
      const text = await request.text();
      const reply = await answer(
        text === '' ? {} : (parseJsonOrNull(text) ?? text),
        await invocationContext(getDependencies, context),
      );
      return jsonResponse(statusOf(reply), reply);
    } catch (error) {
      context.error(JSON.stringify(failureLine('by-hand', error)));
      return failure(error);
    }
  };

export interface InvocationContext {
  readonly dependencies: AzureDependencies;
  readonly limit: TimeLimit;
}

/**
 * Returns the dependencies and the time limit of one invocation. The invocation logs under its own name, and the app's
 * configuration sets its time limit.
 */
export const invocationContext = async (
  getDependencies: GetDependencies,
  context: PlatformLogger,
): Promise<InvocationContext> => {
  const began = performance.now();
  const dependencies = { ...(await getDependencies()), log: logTo(context) };
  return { dependencies, limit: { getRemainingTimeInMillis: () => began + dependencies.lasts - performance.now() } };
};

/** The logging methods of the context that the platform passes to each invocation. */
export interface PlatformLogger {
  readonly log: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly error: (text: string) => void;
}

type Level = keyof PlatformLogger;

const levels: Readonly<Record<string, Level>> = {
  failed: 'error',
  refused: 'warn',
  [logDecision.notUnderstood]: 'warn',
  [logDecision.foreign]: 'warn',
  [logDecision.handedToSweep]: 'warn',
};

/** Logs one line of JSON per entry. Application Insights stores it in the table AppTraces with its invocation. */
const logTo =
  (context: PlatformLogger) =>
  (line: object): void => {
    const { decision: what } = { decision: '', ...line };
    context[levels[what] ?? 'log'](JSON.stringify(line));
  };
