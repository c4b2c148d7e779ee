import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const LADDER = 'fencing/rules/decide.ts';

/** A line of the ladder that contains a rule, with or without the condition under which it applies. */
const RULE = /^ {2}([a-z]\w*(?:\(\w+\))?),.*\n/gm;

const BEGINS = 'const ladder: readonly Rule[] = [\n';

/** Returns the rules of the ladder, in order. A rule may be there twice. */
export const rulesIn = (text: string): readonly string[] => {
  const ladder = text.slice(text.indexOf(BEGINS) + BEGINS.length);
  return [...ladder.slice(0, ladder.indexOf('];')).matchAll(RULE)].map(([, rule = '']) => rule);
};

/** Returns the text of the ladder without one of its rules. */
export const withoutRule = (text: string, which: number): string => {
  const at = text.indexOf(BEGINS) + BEGINS.length;
  let rule = -1;
  const line = (whole: string): string => ((rule += 1) === which ? '' : whole);
  return text.slice(0, at) + text.slice(at).replaceAll(RULE, line);
};

const isNoticed = async (which: number, tests: readonly string[]): Promise<boolean> => {
  const env = {
    ...process.env,
    CLOUDFENCE_MUTATION_TESTS: tests.join(' '),
    CLOUDFENCE_WITHOUT_RULE: String(which),
  };
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutation/vitest.config.ts', '--bail', '1'];
  try {
    await run(process.execPath, vitest, { env, maxBuffer: 100_000_000 });
    return false;
  } catch (error) {
    // The test runner exits with 1 if a test fails.
    if (error instanceof Error && 'code' in error && error.code === 1) return true;
    throw error;
  }
};

/** Removes each rule of the ladder, one at a time, and returns those without which no test fails. */
export const rulesWithoutTest = async (tests: readonly string[]): Promise<readonly string[]> => {
  const rules = rulesIn(readFileSync(LADDER, 'utf8'));
  if (await isNoticed(rules.length, tests)) throw new Error('a test fails with all rules in place');
  const unnoticed: string[] = [];
  for (const [at, rule] of rules.entries()) {
    const noticed = await isNoticed(at, tests);
    console.log(`${noticed ? 'a test fails' : 'NO TEST FAILS'} without ${rule}`);
    if (!noticed) unnoticed.push(rule);
  }
  console.log(`${rules.length} rules taken out, one at a time: ${unnoticed.length} that no test needs`);
  return unnoticed;
};
