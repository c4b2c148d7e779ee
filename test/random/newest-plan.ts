import type { Tolerated } from './kubernetes.ts';
import { attacherPlanFor, type Plan } from './plan.ts';
import { seededRandom } from './seeded-random.ts';

/** The plan of a seed. Whoever adds to it keeps the one before, so that older seeds give the same plan again. */

/**
 * One database in three keeps its write-ahead log on a second disk. In every third plan, a pod with two disks
 * tolerates our taint.
 */
export const planFor = (seed: number): Plan => {
  const plan = attacherPlanFor(seed);
  const random = seededRandom(seed, 'disks');
  const twoDisks = Array.from({ length: plan.databases }, (_, at) => at).filter(() => random.chance(1 / 3));
  const tolerating = random.chance(1 / 3) ? [random.oneOf<Tolerated>(['out-of-service', 'everything'])] : [];
  return { ...plan, twoDisks, tolerating };
};
