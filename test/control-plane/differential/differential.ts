import { differences, toComparable, type ComparableStory } from './compare.ts';
import { openSandboxStage } from './sandbox.ts';
import type { Incident, DifferentialCluster } from './stage.ts';

/** Enough plays for the phases of everything that repeats to be early, late, and in between. */
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
 * Plays the same incident in the sandbox and on the real control plane, and returns the differences. The sandbox comes
 * first, because it uses the processor that the real control plane needs.
 */
export const played = async (
  incident: Incident,
  openStage: () => Promise<DifferentialCluster>,
): Promise<readonly string[]> => {
  const plays = await playInSandbox(incident);
  return differences(await play(incident, await openStage()), plays);
};
