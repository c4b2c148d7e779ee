import { z } from 'zod';
import { InvalidConfiguration, Unavailable } from '../../fencing/errors.ts';
import type { GcpFunctionEnvironment } from '../../wiring/environment.ts';
import type { Answering } from './http.ts';

/** The doctor's questions, put to a function that runs as the account which fences: only there is its access the one that counts. */

const question = z.looseObject({ question: z.string() });

export const isQuestion = (body: unknown): boolean => question.safeParse(body).success;

const answer = z.looseObject({});
/** Left of the time that the platform gives, to say that nobody answered (ms). */
const MARGIN_MS = 3_000;

/** Whoever asks nothing wants to know everything. */
const asked = (body: unknown): object => question.safeParse(body).data ?? { ...z.looseObject({}).safeParse(body).data, question: 'checks' };

/** Hands the question on, and what is answered back as it is. @throws InvalidConfiguration, Denied, Unavailable */
export const asking =
  (environment: () => Pick<GcpFunctionEnvironment, 'askedAt'>): Answering =>
  async ({ body }, limit) => {
    const { askedAt: url } = environment();
    if (url === null) throw new InvalidConfiguration(['the function doctor is not told whom to ask: it has no CLOUDFENCE_ASKED_AT']);
    const { callFunction } = await import('../../providers/gcp/call-function.ts');
    const { status, body: said } = await callFunction(url, asked(body), Math.max(1, limit.getRemainingTimeInMillis() - MARGIN_MS));
    const read = answer.safeParse(said);
    if (!read.success) throw new Unavailable(`the function sweep answered the doctor ${status}, and nothing that could be read`);
    return { status, body: read.data };
  };
