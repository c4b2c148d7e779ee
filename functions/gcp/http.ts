import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type GcpFunctionEnvironment, readGcpFunctionEnvironment } from '../../config/environment.ts';
import {
  CloudfenceError,
  Denied,
  InvalidConfiguration,
  InvalidInput,
  Unavailable,
} from '../../fencing/model/errors.ts';
import { failureLine, messageLine, sentenceOf } from '../decision-log.ts';
import type { TimeLimit } from '../invocation.ts';
import type { GcpWiring } from './wire.ts';

/**
 * What the Functions Framework hands in: the body is parsed already when it is JSON.
 * https://cloud.google.com/run/docs/write-functions
 */
export interface HttpRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

interface HttpAnswer {
  readonly status: number;
  readonly body?: object;
}

export type Answering = (request: HttpRequest, limit: TimeLimit) => Promise<HttpAnswer>;

type HttpFunction = (request: HttpRequest, response: ServerResponse) => Promise<void>;

const failure = (error: unknown): HttpAnswer => ({
  status: error instanceof InvalidInput ? 400 : 500,
  body: { error: sentenceOf(error) },
});

/**
 * Errors are answered in a sentence: whoever may call is let in by then. How an unexpected one came about stays in the
 * log.
 */
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
    const { status, body } = await answered(answer, request, {
      getRemainingTimeInMillis: () => until - performance.now(),
    });
    if (body === undefined) response.writeHead(status).end();
    else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

const statusFor = (error: CloudfenceError, hasToken: boolean): number => {
  if (!(error instanceof Denied)) return 503;
  return hasToken ? 403 : 401;
};

/** The answer to whoever is not let in, which says no more than that; null for those who may push. */
export const turnedAway = async ({ headers }: HttpRequest, { letIn, log }: GcpWiring): Promise<HttpAnswer | null> => {
  const authorization = headers.authorization ?? null;
  try {
    await letIn(authorization);
    return null;
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    log(messageLine('not-let-in', error instanceof Denied ? 'denied' : 'unavailable', error.message, null));
    return { status: statusFor(error, authorization !== null) };
  }
};

/**
 * The doctor's questions, put to a function that runs as the account which fences: only there is its access the one
 * that counts.
 */

const question = z.looseObject({ question: z.string() });

export const isQuestion = (body: unknown): boolean => question.safeParse(body).success;

const answer = z.looseObject({});
/** Left of the time that the platform gives, to say that nobody answered (ms). */
const MARGIN_MS = 3_000;

/** Whoever asks nothing wants to know everything. */
const asked = (body: unknown): object =>
  question.safeParse(body).data ?? { ...z.looseObject({}).safeParse(body).data, question: 'checks' };

/** Hands the question on, and what is answered back as it is. @throws InvalidConfiguration, Denied, Unavailable */
export const asking =
  (environment: () => Pick<GcpFunctionEnvironment, 'askedAt'>): Answering =>
  async ({ body }, limit) => {
    const { askedAt: url } = environment();
    if (url === null)
      throw new InvalidConfiguration(['the function doctor is not told whom to ask: it has no CLOUDFENCE_ASKED_AT']);
    const { callFunction } = await import('../../providers/gcp/call-function.ts');
    const { status, body: said } = await callFunction(
      url,
      asked(body),
      Math.max(1, limit.getRemainingTimeInMillis() - MARGIN_MS),
    );
    const read = answer.safeParse(said);
    if (!read.success)
      throw new Unavailable(`the function sweep answered the doctor ${status}, and nothing that could be read`);
    return { status, body: read.data };
  };

/**
 * What a person sends is JSON, and so is the answer. Cloud Run lets in those only who may invoke; nobody pushes here.
 */
export const answering =
  <Answer extends object>(
    wired: () => Promise<GcpWiring>,
    answer: (asked: unknown, wiring: GcpWiring, limit: TimeLimit) => Promise<Answer>,
    statusOf: (answer: Answer) => number = () => 200,
  ): Answering =>
  async ({ body }, limit) => {
    const said = await answer(body, await wired(), limit);
    return { status: statusOf(said), body: said };
  };
