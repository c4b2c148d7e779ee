import { z } from 'zod';
import { CloudfenceError, Refused } from '../fencing/errors.ts';
import type { MachineId } from '../fencing/machine.ts';
import { examineAccess } from '../wiring/checks.ts';
import type { Check } from '../wiring/check.ts';
import type { DoctorWiring } from './wiring.ts';

/** The functions that fence, asked by the doctor: their role may do what its own may not, and the other way round. */

export interface Fencer {
  readonly name: string;
  /** What it answers to a question. @throws Refused where it fails as a whole; Denied, Unavailable where it cannot be asked */
  readonly ask: (question: object, signal: AbortSignal) => Promise<unknown>;
}

/** Machines named in a question: enough to try orders on, and few enough for any message. */
const MOST_NAMED = 20;

const accessQuestion = z.strictObject({ question: z.literal('access'), machines: z.array(z.string().max(300)).max(MOST_NAMED) });
const accessAnswer = z.object({ checks: z.array(z.object({ what: z.string(), verdict: z.enum(['ok', 'warn', 'fail']), says: z.string() })) });

export type AccessAnswer = z.infer<typeof accessAnswer>;

/** What a function that fences says of its own access when the doctor asks; null for everything that is no such question. */
export const accessOf = async (event: unknown, wired: () => Promise<DoctorWiring>): Promise<AccessAnswer | null> => {
  const asked = accessQuestion.safeParse(event);
  if (!asked.success) return null;
  const { kit, opened, policy } = await wired();
  const { machines } = asked.data;
  return { checks: [...(await examineAccess(kit, opened, { policy, machines }, new AbortController().signal))] };
};

const told = async ({ ask }: Fencer, machines: readonly MachineId[], signal: AbortSignal): Promise<readonly Check[]> => {
  const said = accessAnswer.safeParse(await ask({ question: 'access', machines: machines.slice(0, MOST_NAMED) }, signal));
  if (said.success) return said.data.checks;
  throw new Refused('it answered what a function of this version never answers: deploy all functions', { cause: said.error });
};

/** A line for all that is well, and one for each thing that is not. */
export const checksBy = async (fencer: Fencer, machines: readonly MachineId[], signal: AbortSignal): Promise<readonly Check[]> => {
  const what = `${fencer.name}: access by its own role`;
  try {
    const checks = await told(fencer, machines, signal);
    const wrong = checks.filter(({ verdict }) => verdict !== 'ok').map((check) => ({ ...check, what: `${fencer.name}: ${check.what}` }));
    return wrong.length > 0 ? wrong : [{ what, verdict: 'ok', says: `all ${checks.length} checks are well` }];
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    if (error instanceof Refused) return [{ what, verdict: 'fail', says: error.message }];
    return [{ what, verdict: 'warn', says: `nobody can tell, for it cannot be asked: ${error.message}` }];
  }
};
