import { z } from 'zod';
import { InvalidInput } from '../fencing/errors.ts';
import { STALE_LEASE_MS } from '../fencing/ports.ts';
import { diagnosisOf, type Diagnosis } from '../wiring/check.ts';
import { examine } from '../wiring/checks.ts';
import { checksBy } from './fencers.ts';
import type { DoctorWiring } from './wiring.ts';

const question = z.looseObject({ question: z.enum(['checks', 'fences']).default('checks') });

export interface StandingFence {
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
const diagnosed = async ({ kit, opened, policy, fencers = [] }: DoctorWiring, signal: AbortSignal): Promise<Diagnosis> => {
  const { checks, machines } = await examine(kit, opened, { policy, gives: fencers.length > 0 ? 'no-orders' : 'orders' }, signal);
  const theirs = await Promise.all(fencers.map((fencer) => checksBy(fencer, machines, signal)));
  return diagnosisOf([...checks, ...theirs.flat()]);
};

/**
 * Checks from inside the function, whose network and identity are not a laptop's; `{"question": "fences"}` lists the fences
 * that stand, which a removal asks for first.
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
export const isFailing = (answer: DoctorAnswer): answer is Diagnosis => 'verdict' in answer && answer.verdict === 'fail';
