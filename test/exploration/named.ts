import type { Scenario } from './explore.ts';
import { brokenAssumptions, larger, scenarios } from './scenarios.ts';
import { explore, type Explored } from './search.ts';
import { terms } from './terms.ts';
import { shortenPatience } from './time.ts';

const all = [
  ...scenarios,
  ...larger,
  ...brokenAssumptions.map(({ scenario }) => scenario),
  ...terms.flatMap(({ turns }) => turns.map(({ scenario }) => scenario)),
];

/** Returns the scenario of this name. */
export const scenarioNamed = (name: string): Scenario => {
  const found = all.find((scenario) => scenario.name === name);
  if (!found)
    throw new Error(`there is no scenario ${name}. The scenarios are ${all.map((one) => one.name).join(', ')}`);
  return found;
};

/** Explores the scenario of this name with short times, and then restores the times of the protocol. */
export const exploreNamed = (name: string, most = Infinity): Explored => {
  const restorePatience = shortenPatience();
  try {
    return explore(scenarioNamed(name), most);
  } finally {
    restorePatience();
  }
};
