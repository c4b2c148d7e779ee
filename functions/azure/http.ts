import { InvalidInput } from '../../fencing/errors.ts';
import { failureLine, sentenceOf } from '../failure.ts';
import { jsonIn } from '../../fencing/json-text.ts';
import { invoked, type Invoked } from './invoked.ts';
import type { Logging } from './log.ts';
import type { Wired } from './wiring.ts';

/** What is used of the platform's request. https://learn.microsoft.com/azure/azure-functions/functions-reference-node */
export interface HttpRequest {
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

export const json = (status: number, body: object): HttpAnswer => ({ status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

const failure = (error: unknown): HttpAnswer => json(error instanceof InvalidInput ? 400 : 500, { error: sentenceOf(error) });

/** A function that a person calls, with a key. Errors are answered in a sentence; how an unexpected one came about stays in the log. */
export const byHand =
  <Answer extends object>(wired: Wired, answer: (asked: unknown, invocation: Invoked) => Promise<Answer>, statusOf: (answer: Answer) => number = () => 200): HttpFunction =>
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
