import { parseArgs } from 'node:util';
import { brokenAssumptions, scenarios } from './scenarios.ts';
import { explore } from './search.ts';
import { shortenPatience } from './time.ts';

/**
 * Explores the named scenarios and prints what it found. Ends with 1 if a schedule breaks an invariant, or if a scenario
 * was not exhausted. `--scenario NAME` explores one, and `--most N` stops at so many states.
 */

const { values } = parseArgs({ options: { scenario: { type: 'string' }, most: { type: 'string' } } });
shortenPatience();
const all = [...scenarios, ...brokenAssumptions.map(({ scenario }) => scenario)];
const chosen = values.scenario === undefined ? scenarios : all.filter(({ name }) => name === values.scenario);
if (chosen.length === 0) throw new Error(`--scenario is one of ${all.map(({ name }) => name).join(', ')}`);

const tellOnTerminal = (depth: number, states: number): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r  depth ${depth}, ${states} states`);
};

for (const scenario of chosen) {
  const begun = performance.now();
  const { story, ...found } = explore(scenario, { most: Number(values.most ?? Infinity), onLevel: tellOnTerminal });
  const seconds = Math.round((performance.now() - begun) / 1_000);
  console.log(`${scenario.name}: ${scenario.says}`);
  console.log(
    `  ${found.states} states, ${found.transitions} transitions, ${found.worlds} worlds, ${found.runs} runs, depth ${found.depth}, ${seconds} s, ${found.exhausted ? 'exhausted' : 'not exhausted'}`,
  );
  if (story)
    console.log([`  breaks ${story.breaks}:`, ...story.says.map((says, at) => `  ${at + 1}. ${says}`)].join('\n'));
  if (story || !found.exhausted) process.exitCode = 1;
}
