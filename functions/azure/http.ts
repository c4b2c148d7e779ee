import { CloudfenceError, InvalidInput } from '../../fencing/errors.ts';
import { messageLine } from '../decision-line.ts';
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

const failure = (error: unknown): HttpAnswer => {
  if (error instanceof InvalidInput) return json(400, { error: error.message });
  return json(500, { error: error instanceof CloudfenceError ? error.message : String(error) });
};

/** A function that a person calls, with a key. Errors are answered in words. */
export const byHand =
  (wired: Wired, answer: (asked: unknown, invocation: Invoked) => Promise<object>): HttpFunction =>
  async (request, context) => {
    try {
      const text = await request.text();
      return json(200, await answer(text === '' ? {} : (jsonIn(text) ?? text), await invoked(wired, context)));
    } catch (error) {
      const said = failure(error);
      context.error(JSON.stringify(messageLine('failed', 'by-hand', said.body, null)));
      return said;
    }
  };
