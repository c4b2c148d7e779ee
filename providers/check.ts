import { z } from 'zod';
import { CloudfenceError } from '../fencing/model/errors.ts';
import { pluralize } from '../fencing/model/reason.ts';

/**
 * `fail` means that a fence would not work. `warn` means that a fence may not work, or that this cannot be determined
 * from here.
 */
const verdicts = ['ok', 'warn', 'fail'] as const;
type Verdict = (typeof verdicts)[number];

export const checkSchema = z
  .object({
    what: z.string(),
    verdict: z.enum(verdicts),
    says: z.string(),
    /** The command that fixes the problem. Absent if a command is not sufficient, or if there is no problem. */
    next: z.string().optional(),
  })
  .readonly();

export type Check = z.infer<typeof checkSchema>;

/** The overall result of all checks, and what to do next. */
interface Conclusion {
  readonly readiness: 'ready' | 'ready-with-warnings' | 'not-ready';
  readonly says: string;
  /** For each check that is not ok, what does not work or may not work. */
  readonly missing: readonly string[];
  readonly next: string;
}

export interface DoctorReport {
  /** The worst verdict of all checks. */
  readonly verdict: Verdict;
  readonly conclusion: Conclusion;
  readonly checks: readonly Check[];
  /** What the checks could not try without side effects, or from here. */
  readonly notTried: readonly string[];
}

/** Shows what the next sweep would do. */
const WHEN_READY = 'cloudfence sweep --dry-run';
const WITHOUT_COMMAND = 'fix the problems above, and run the doctor again';

const titles: Readonly<Record<Conclusion['readiness'], string>> = {
  ready: 'READY',
  'ready-with-warnings': 'READY WITH WARNINGS',
  'not-ready': 'NOT READY',
};

const conclusionOf = (checks: readonly Check[]): Conclusion => {
  const failed = checks.filter(({ verdict }) => verdict === 'fail');
  const doubtful = checks.filter(({ verdict }) => verdict === 'warn');
  const all = pluralize(checks.length, 'check');
  const nextOf = (wrong: readonly Check[]) => wrong.find(({ next }) => next !== undefined)?.next ?? WITHOUT_COMMAND;
  const about = (wrong: readonly Check[]) => ({ missing: wrong.map(({ what }) => what), next: nextOf(wrong) });
  if (failed.length > 0)
    return {
      readiness: 'not-ready',
      says: `a fence would not work: ${failed.length} of ${all} failed`,
      ...about(failed),
    };
  if (doubtful.length > 0)
    return {
      readiness: 'ready-with-warnings',
      says: `a fence may work: ${doubtful.length} of ${all} warned, and none failed`,
      ...about(doubtful),
    };
  return { readiness: 'ready', says: `a fence would work: ${all} passed`, missing: [], next: WHEN_READY };
};

export const doctorReport = (checks: readonly Check[], notTried: readonly string[] = []): DoctorReport => ({
  verdict: verdicts.findLast((one) => checks.some(({ verdict }) => verdict === one)) ?? 'ok',
  conclusion: conclusionOf(checks),
  checks,
  notTried: [...new Set(notTried)],
});

const written: Record<Verdict, string> = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' };

const checkLine = ({ what, verdict, says }: Check): string => `${written[verdict]}  ${what}  — ${says}`;

const conclusionLines = ({ readiness, says, missing, next }: Conclusion): readonly string[] => [
  `${titles[readiness]}: ${says}`,
  ...missing.map((what) => `  missing: ${what}`),
  `  next: ${next}`,
];

/** Formats a report for people: each check, what could not be tried, and the overall result. */
export const reportLines = ({ checks, conclusion, notTried }: Omit<DoctorReport, 'verdict'>): readonly string[] => [
  ...checks.map(checkLine),
  ...notTried.map((what) => `not tried: ${what}`),
  '',
  ...conclusionLines(conclusion),
];

/** Describes the overall result, and lists each check that is not ok. One line each. */
export const describeFailedChecks = (checks: readonly Check[]): string => {
  const { says, next } = conclusionOf(checks);
  const wrong = checks.filter(({ verdict }) => verdict !== 'ok').map(checkLine);
  return [`${titles['not-ready']}: ${says}`, ...wrong, `next: ${next}`].join('\n');
};

/** Runs a check. A check that throws counts as failed, and its line shows the reason. */
export const runCheck = async (what: string, ask: () => Promise<readonly Check[]>): Promise<readonly Check[]> => {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CloudfenceError) return [{ what, verdict: 'fail', says: error.message }];
    throw error;
  }
};
