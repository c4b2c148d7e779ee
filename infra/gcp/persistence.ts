import { failureOf, isGood, type Answer, type Api, type Call } from './api.ts';

/** What time mends: what was made or granted a moment ago is not known everywhere at once. */

const SECOND = 1_000;
const FIRST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = 30 * SECOND;
/** https://cloud.google.com/iam/docs/service-accounts-create: "it can take 60 seconds or more" until a new account can be used */
const ACCOUNT_KNOWN_WITHIN_MS = 3 * 60 * SECOND;

export interface Persistence {
  /** Whether the answer may be another one later. */
  readonly mayPass: (answer: Answer) => boolean;
  /** How long (ms) it is asked again, at the most. */
  readonly within: number;
}

/** Asks until the answer is one that stays, with longer and longer pauses; the last answer, whatever it is. */
export const persistently = async (api: Pick<Api, 'wait'>, ask: () => Promise<Answer>, { mayPass, within }: Persistence): Promise<Answer> => {
  let waited = 0;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const answer = await ask();
    if (!mayPass(answer) || waited >= within) return answer;
    await api.wait(pause);
    waited += pause;
  }
};

/** "Policy changes take effect within 2 minutes typically, and up to 7": https://cloud.google.com/iam/docs/access-change-propagation */
export const SPREADS_WITHIN_MS = 7 * 60 * SECOND;

/** A refusal that an account, or a grant, of a moment ago is answered with until it is known. */
export const isEarly = ({ status }: Answer): boolean => status === 400 || status === 403 || status === 404;

/** @throws what the last answer says, when it is not a good one by then */
export const callSoon = async (api: Pick<Api, 'ask' | 'wait'>, call: Call, within = ACCOUNT_KNOWN_WITHIN_MS): Promise<Answer['body']> => {
  const answer = await persistently(api, () => api.ask(call), { mayPass: isEarly, within });
  if (!isGood(answer)) throw failureOf(call, answer);
  return answer.body;
};
