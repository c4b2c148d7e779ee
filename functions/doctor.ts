import { z } from 'zod';
import { examine, examineAccess } from '../config/doctor.ts';
import { CloudfenceError, InvalidInput, Refused } from '../fencing/model/errors.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { STALE_LEASE_MS } from '../fencing/loop/ports.ts';
import { type Check, type Diagnosis, diagnosisOf } from '../providers/check.ts';
import type { DoctorWiring, Fencer } from './wiring.ts';

const question = z.looseObject({ question: z.enum(['checks', 'fences']).default('checks') });

interface StandingFence {
  readonly cluster: string;
  readonly node: string;
  readonly instance: string | null;
}

export type DoctorAnswer = Diagnosis | { readonly fences: readonly StandingFence[] };

const fencesIn = async ({ ports }: DoctorWiring, signal: AbortSignal): Promise<readonly StandingFence[]> => {
  const perCluster = await Promise.all(
    ports.clusters.map(async (cluster) => {
      const suspects = await cluster.suspects(STALE_LEASE_MS, signal);
      const fenced = suspects.filter(({ because }) => because === 'fenced');
      return fenced.map(({ node, record }) => ({ cluster: cluster.name, node, instance: record?.machine ?? null }));
    }),
  );
  return perCluster.flat();
};

/** Where others fence under roles of their own, theirs are judged, and not the doctor's, which may only look. */
const diagnosed = async (
  { kit, opened, policy, fencers = [] }: DoctorWiring,
  signal: AbortSignal,
): Promise<Diagnosis> => {
  const { checks, machines } = await examine(
    kit,
    opened,
    { policy, gives: fencers.length > 0 ? 'no-orders' : 'orders' },
    signal,
  );
  const theirs = await Promise.all(fencers.map((fencer) => checksBy(fencer, machines, signal)));
  return diagnosisOf([...checks, ...theirs.flat()]);
};

/**
 * Checks from inside the function, whose network and identity are not a laptop's; `{"question": "fences"}` lists the
 * fences that stand, which a removal asks for first.
 */
export const doctor =
  (wired: () => Promise<DoctorWiring>) =>
  async (event: unknown): Promise<DoctorAnswer> => {
    const asked = question.safeParse(event ?? {});
    if (!asked.success) throw new InvalidInput(`the question is not understood: ${z.prettifyError(asked.error)}`);
    const wiring = await wired();
    const { signal } = new AbortController();
    return asked.data.question === 'fences' ? { fences: await fencesIn(wiring, signal) } : diagnosed(wiring, signal);
  };

/** Whether whoever asked is to be told by more than words that a fence would not work. */
export const isFailing = (answer: DoctorAnswer): answer is Diagnosis =>
  'verdict' in answer && answer.verdict === 'fail';

/** The functions that fence, asked by the doctor: their role may do what its own may not, and the other way round. */

/** Machines named in a question: enough to try orders on, and few enough for any message. */
const MOST_NAMED = 20;

const accessQuestion = z.strictObject({
  question: z.literal('access'),
  machines: z.array(z.string().max(300)).max(MOST_NAMED),
});
const accessAnswer = z.object({
  checks: z.array(z.object({ what: z.string(), verdict: z.enum(['ok', 'warn', 'fail']), says: z.string() })),
});

export type AccessAnswer = z.infer<typeof accessAnswer>;

/**
 * What a function that fences says of its own access when the doctor asks; null for everything that is no such
 * question.
 */
export const accessOf = async (event: unknown, wired: () => Promise<DoctorWiring>): Promise<AccessAnswer | null> => {
  const asked = accessQuestion.safeParse(event);
  if (!asked.success) return null;
  const { kit, opened, policy } = await wired();
  const { machines } = asked.data;
  return { checks: [...(await examineAccess(kit, opened, { policy, machines }, new AbortController().signal))] };
};

const told = async (
  { ask }: Fencer,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const said = accessAnswer.safeParse(
    await ask({ question: 'access', machines: machines.slice(0, MOST_NAMED) }, signal),
  );
  if (said.success) return said.data.checks;
  throw new Refused('it answered what a function of this version never answers: deploy all functions', {
    cause: said.error,
  });
};

/** A line for all that is well, and one for each thing that is not. */
const checksBy = async (
  fencer: Fencer,
  machines: readonly MachineId[],
  signal: AbortSignal,
): Promise<readonly Check[]> => {
  const what = `${fencer.name}: access by its own role`;
  try {
    const checks = await told(fencer, machines, signal);
    const wrong = checks
      .filter(({ verdict }) => verdict !== 'ok')
      .map((check) => ({ ...check, what: `${fencer.name}: ${check.what}` }));
    return wrong.length > 0 ? wrong : [{ what, verdict: 'ok', says: `all ${checks.length} checks are well` }];
  } catch (error) {
    if (!(error instanceof CloudfenceError)) throw error;
    if (error instanceof Refused) return [{ what, verdict: 'fail', says: error.message }];
    return [{ what, verdict: 'warn', says: `nobody can tell, for it cannot be asked: ${error.message}` }];
  }
};
