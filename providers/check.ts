import { CloudfenceError } from '../fencing/model/errors.ts';
import { counted } from '../fencing/model/reason.ts';

/**
 * `fail` means that a fence would not work. `warn` means that it may not work, or that this cannot be known from here.
 */
type Verdict = 'ok' | 'warn' | 'fail';

export interface Check {
  readonly what: string;
  readonly verdict: Verdict;
  readonly says: string;
}

export interface DoctorReport {
  /** The worst verdict of all checks. */
  readonly verdict: Verdict;
  readonly checks: readonly Check[];
}

const gravest: readonly Verdict[] = ['fail', 'warn', 'ok'];

export const doctorReport = (checks: readonly Check[]): DoctorReport => ({
  verdict: gravest.find((one) => checks.some(({ verdict }) => verdict === one)) ?? 'ok',
  checks,
});

const written: Record<Verdict, string> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' };

/** Formats a check for people. */
export const checkLine = ({ what, verdict, says }: Check): string => `${written[verdict]}  ${what}  — ${says}`;

/** Lists each check that is not ok, one per line. */
export const describeFailedChecks = ({ checks }: Pick<DoctorReport, 'checks'>): string => {
  const wrong = checks.filter(({ verdict }) => verdict !== 'ok');
  const lines = wrong.map(checkLine).join('\n');
  return `a fence would not work: ${wrong.length} of ${counted(checks.length, 'check')} failed:\n${lines}`;
};

/** Runs a check. A check that cannot run counts as failed, and its line says why. */
export const runCheck = async (what: string, ask: () => Promise<readonly Check[]>): Promise<readonly Check[]> => {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CloudfenceError) return [{ what, verdict: 'fail', says: error.message }];
    throw error;
  }
};
