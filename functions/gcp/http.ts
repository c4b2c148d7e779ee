import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { InvalidInput } from '../../fencing/errors.ts';
import { readGcpFunctionEnvironment } from '../../wiring/environment.ts';
import { failureLine, sentenceOf } from '../failure.ts';
import type { TimeLimit } from '../invocation.ts';

/** What the Functions Framework hands in: the body is parsed already when it is JSON. https://cloud.google.com/run/docs/write-functions */
export interface HttpRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body?: object;
}

export type Answering = (request: HttpRequest, limit: TimeLimit) => Promise<HttpAnswer>;

export type HttpFunction = (request: HttpRequest, response: ServerResponse) => Promise<void>;

const failure = (error: unknown): HttpAnswer => ({ status: error instanceof InvalidInput ? 400 : 500, body: { error: sentenceOf(error) } });

/** Errors are answered in a sentence: whoever may call is let in by then. How an unexpected one came about stays in the log. */
const answered = async (answer: Answering, request: HttpRequest, limit: TimeLimit): Promise<HttpAnswer> => {
  try {
    return await answer(request, limit);
  } catch (error) {
    console.log(JSON.stringify({ severity: 'ERROR', message: 'a request failed', ...failureLine('request', error) }));
    return failure(error);
  }
};

/** A function as Google Cloud calls it. */
export const httpFunction =
  (answer: Answering): HttpFunction =>
  async (request, response) => {
    const until = performance.now() + readGcpFunctionEnvironment().lasts;
    const { status, body } = await answered(answer, request, { getRemainingTimeInMillis: () => until - performance.now() });
    if (body === undefined) response.writeHead(status).end();
    else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
