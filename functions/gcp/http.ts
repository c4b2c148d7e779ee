import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { z } from 'zod';
import {
  CloudfenceError,
  PermissionDenied,
  InvalidConfiguration,
  InvalidInput,
  Unavailable,
} from '../../fencing/model/errors.ts';
import { failureLine, messageLine, publicMessage } from '../decision-log.ts';
import type { TimeLimit } from '../invocation.ts';
import { type GcpDependencies, type GcpFunctionEnvironment, readGcpFunctionEnvironment } from './dependencies.ts';

/**
 * The request as the Functions Framework passes it. The framework has already parsed a JSON body.
 * https://cloud.google.com/run/docs/write-functions
 */
export interface HttpRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

interface HttpResponse {
  readonly status: number;
  readonly body?: object;
}

export type HttpHandler = (request: HttpRequest, limit: TimeLimit) => Promise<HttpResponse>;

type HttpFunction = (request: HttpRequest, response: ServerResponse) => Promise<void>;

const failure = (error: unknown): HttpResponse => ({
  status: error instanceof InvalidInput ? 400 : 500,
  body: { error: publicMessage(error) },
});

/**
 * Answers errors with one sentence, because the platform has already authorized the caller. The stack of an unexpected
 * error stays in the log.
 */
const answerOrError = async (answer: HttpHandler, request: HttpRequest, began: number): Promise<HttpResponse> => {
  try {
    const until = began + readGcpFunctionEnvironment().lasts;
    return await answer(request, { getRemainingTimeInMillis: () => until - performance.now() });
  } catch (error) {
    console.log(JSON.stringify({ severity: 'ERROR', message: 'a request failed', ...failureLine('request', error) }));
    return failure(error);
  }
};

/** Wraps a function in the form that Google Cloud calls. */
export const httpFunction =
  (answer: HttpHandler): HttpFunction =>
  async (request, response) => {
    const { status, body } = await answerOrError(answer, request, performance.now());
    if (body === undefined) response.writeHead(status).end();
    else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

const statusFor = (error: CloudfenceError, hasToken: boolean): number => {
  if (!(error instanceof PermissionDenied)) return 503;
  return hasToken ? 403 : 401;
};

/** Returns the answer to a caller that is not authorized, without any details. Returns null if the caller may push. */
export const rejectUnauthorized = async (
  { headers }: HttpRequest,
  { letIn, log }: GcpDependencies,
): Promise<HttpResponse | null> => {
  const authorization = headers.authorization ?? null;
  try {
    await letIn(authorization);
    return null;
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    log(messageLine('not-let-in', error instanceof PermissionDenied ? 'denied' : 'unavailable', error.message, null));
    return { status: statusFor(error, authorization !== null) };
  }
};

/**
 * The doctor forwards its questions to a function that runs as the account that fences, because only that account's
 * access matters.
 */

const question = z.looseObject({ question: z.string() });

export const isDoctorQuestion = (body: unknown): boolean => question.safeParse(body).success;

const answer = z.looseObject({});
/** Time reserved to report that the function did not answer (ms). */
const MARGIN_MS = 3_000;

/** A request without a question asks for all checks. */
const questionIn = (body: unknown): object =>
  question.safeParse(body).data ?? { ...z.looseObject({}).safeParse(body).data, question: 'checks' };

/**
 * Forwards the question, and returns the answer unchanged.
 * @throws InvalidConfiguration, PermissionDenied, Unavailable
 */
export const forwardQuestion =
  (environment: () => Pick<GcpFunctionEnvironment, 'askedAt'>): HttpHandler =>
  async ({ body }, limit) => {
    const { askedAt: url } = environment();
    if (url === null)
      throw new InvalidConfiguration([
        'the environment variable CLOUDFENCE_ASKED_AT of the function doctor is not set: deploy the function ' +
          'with serverless.gcp.yml',
      ]);
    const { callFunction } = await import('../../providers/gcp/credentials.ts');
    const { status, body: reply } = await callFunction(
      url,
      questionIn(body),
      Math.max(1, limit.getRemainingTimeInMillis() - MARGIN_MS),
    );
    const read = answer.safeParse(reply);
    if (!read.success)
      throw new Unavailable(`the function sweep returned status ${status} with a body that is not a JSON object`);
    return { status, body: read.data };
  };

/**
 * Wraps a function that a person calls with JSON and that answers with JSON. Cloud Run admits only callers that may
 * invoke the function, and no push subscription calls it.
 */
export const manualHandler =
  <Answer extends object>(
    getDependencies: () => Promise<GcpDependencies>,
    answer: (asked: unknown, dependencies: GcpDependencies, limit: TimeLimit) => Promise<Answer>,
    statusOf: (answer: Answer) => number = () => 200,
  ): HttpHandler =>
  async ({ body }, limit) => {
    const reply = await answer(body, await getDependencies(), limit);
    return { status: statusOf(reply), body: reply };
  };
