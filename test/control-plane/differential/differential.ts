import { differences, toComparable, type ComparableStory } from './compare.ts';
import { openSandboxStage } from './sandbox.ts';
import type { Incident, DifferentialCluster } from './stage.ts';

/** Enough for the phases of everything that repeats to be early, late and in between. */
const SEEDS = Array.from({ length: 24 }, (_, seed) => seed + 1);

const play = async (incident: Incident, stage: DifferentialCluster): Promise<ComparableStory> => {
  try {
    await incident(stage);
    return toComparable(await stage.story());
  } finally {
    await stage.close();
  }
};

const playInSandbox = async (incident: Incident): Promise<readonly ComparableStory[]> => {
  const plays: ComparableStory[] = [];
  for (const seed of SEEDS) plays.push(await play(incident, openSandboxStage(seed)));
  return plays;
};

/**
 * The same incident in the sandbox and on the real stage: where the two differ. The sandbox first, which takes the
 * processor from what is real.
 */
export const played = async (
  incident: Incident,
  openStage: () => Promise<DifferentialCluster>,
): Promise<readonly string[]> => {
  const plays = await playInSandbox(incident);
  return differences(await play(incident, await openStage()), plays);
};
