import { scenarios } from './scenarios.ts';
import { explore, type Explored } from './search.ts';
import type { Scenario } from './explore.ts';
import { shortenPatience } from './time.ts';

/** Explores with short times, and restores the times of the protocol afterwards. */
export const exploreShortened = (scenario: Scenario, most = Infinity): Explored => {
  const restorePatience = shortenPatience();
  try {
    return explore(scenario, { most });
  } finally {
    restorePatience();
  }
};

/** Explores the scenario of this name to its end. */
export const explored = (name: string): Explored => {
  const scenario = scenarios.find((one) => one.name === name);
  if (!scenario) throw new Error(`there is no scenario ${name}`);
  return exploreShortened(scenario);
};
