import { CloudfenceError } from '../fencing/model/errors.ts';

/** `fail`: a fence would not work. `warn`: it may not, or nobody can tell from here. */
type Verdict = 'ok' | 'warn' | 'fail';

export interface Check {
  readonly what: string;
  readonly verdict: Verdict;
  readonly says: string;
}

export interface Diagnosis {
  /** The gravest of all. */
  readonly verdict: Verdict;
  readonly checks: readonly Check[];
}

const gravest: readonly Verdict[] = ['fail', 'warn', 'ok'];

export const diagnosisOf = (checks: readonly Check[]): Diagnosis => ({
  verdict: gravest.find((one) => checks.some(({ verdict }) => verdict === one)) ?? 'ok',
  checks,
});

const written: Record<Verdict, string> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' };

/** For people. */
export const checkLine = ({ what, verdict, says }: Check): string => `${written[verdict]}  ${what}  — ${says}`;

/** A check that could not be made has failed, and says why. */
export const checked = async (what: string, ask: () => Promise<readonly Check[]>): Promise<readonly Check[]> => {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CloudfenceError) return [{ what, verdict: 'fail', says: error.message }];
    throw error;
  }
};
