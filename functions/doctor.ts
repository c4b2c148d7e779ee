import { z } from 'zod';
import { InvalidInput } from '../fencing/errors.ts';
import { STALE_LEASE_MS } from '../fencing/ports.ts';
import { checksOf, type Check } from '../wiring/checks.ts';
import type { DoctorWiring } from './wiring.ts';

const question = z.looseObject({ question: z.enum(['checks', 'fences']).default('checks') });

export interface StandingFence {
  readonly cluster: string;
  readonly node: string;
  readonly instance: string | null;
}

export type Diagnosis = { readonly checks: readonly Check[] } | { readonly fences: readonly StandingFence[] };

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

/**
 * Checks from inside the function, whose network and identity are not a laptop's; `{"question": "fences"}` lists the fences
 * that stand, which a removal asks for first.
 */
export const doctor =
  (wired: () => Promise<DoctorWiring>) =>
  async (event: unknown): Promise<Diagnosis> => {
    const asked = question.safeParse(event ?? {});
    if (!asked.success) throw new InvalidInput(`the question is not understood: ${z.prettifyError(asked.error)}`);
    const wiring = await wired();
    const { signal } = new AbortController();
    if (asked.data.question === 'fences') return { fences: await fencesIn(wiring, signal) };
    return { checks: await checksOf(wiring.kit, wiring.opened, signal) };
  };
