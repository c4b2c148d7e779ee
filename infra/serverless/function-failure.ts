import { z } from 'zod';
import { describeFailedChecks } from '../../providers/check.ts';

const failedDiagnosis = z.object({
  verdict: z.literal('fail'),
  checks: z.array(z.object({ what: z.string(), verdict: z.enum(['ok', 'warn', 'fail']), says: z.string() })),
});

/**
 * Returns what a function answered with a status of failure, for people: the checks of the doctor that are not ok, one
 * per line, and any other answer as JSON.
 */
export const describeFunctionFailure = (body: unknown): string => {
  const diagnosis = failedDiagnosis.safeParse(body).data;
  return diagnosis ? describeFailedChecks(diagnosis) : JSON.stringify(body);
};
