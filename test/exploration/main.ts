import { parseArgs } from 'node:util';
import { scenarios, tooEarly } from './scenarios.ts';
import { explore } from './search.ts';
import { shortenPatience } from './time.ts';

/**
 * Explores the named scenarios and prints what it found. Ends with 1 if a schedule breaks an invariant, or if a scenario
 * was not exhausted. `--scenario NAME` explores one, and `--most N` stops at so many states.
 */

const { values } = parseArgs({ options: { scenario: { type: 'string' }, most: { type: 'string' } } });
const all = [...scenarios, tooEarly];
const chosen = values.scenario === undefined ? scenarios : all.filter(({ name }) => name === values.scenario);
if (chosen.length === 0) throw new Error(`--scenario is one of ${all.map(({ name }) => name).join(', ')}`);

shortenPatience();
for (const scenario of chosen) {
  const begun = performance.now();
  const { story, ...found } = explore(scenario, Number(values.most ?? Infinity));
  const seconds = Math.round((performance.now() - begun) / 1_000);
  console.log(`${scenario.name}: ${scenario.says}`);
  console.log(
    `  ${found.states} states, ${found.transitions} transitions, ${found.worlds} worlds, ${found.runs} runs, depth ${found.depth}, ${seconds} s, ${found.exhausted ? 'exhausted' : 'not exhausted'}`,
  );
  if (story)
    console.log([`  breaks ${story.breaks}:`, ...story.says.map((says, at) => `  ${at + 1}. ${says}`)].join('\n'));
  if (!found.exhausted) process.exitCode = 1;
}
