import type { Answer, Api } from './api.ts';

/** What time mends: what was made or granted a moment ago is not known everywhere at once. */

const SECOND = 1_000;
const FIRST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = 30 * SECOND;

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
