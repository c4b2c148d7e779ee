import { fuzz, sharesOf, type Tally } from './fuzz.ts';
import { readers } from './readers.ts';
import { readOptions } from '../script-options.ts';

/**
 * Gives malformed input to the readers. `--inputs N` in total, `--seed N` repeats a run, and `--reader WORDS` selects
 * the readers whose names contain the words. Exits with 1 if something did not hold for an input.
 */

const USAGE = `npm run fuzz -- [options]
  --inputs N          feed so many inputs in all (1000000)
  --seed N            repeat a run
  --reader WORDS      take the readers whose names contain the words`;

const values = readOptions(USAGE, { inputs: { type: 'string' }, seed: { type: 'string' }, reader: { type: 'string' } });
const seed = Number(values.seed ?? Date.now() % 1_000_000_007);
const chosen = readers.filter(({ name }) => name.includes(values.reader ?? ''));
if (chosen.length === 0) throw new Error(`--reader is part of one of: ${readers.map(({ name }) => name).join(', ')}`);

const tell = ({ reader, inputs, counts, ms, slowestMs, finding }: Tally): void => {
  const outcomes = [...counts].toSorted(([, one], [, other]) => other - one);
  console.log(
    `| ${reader} | ${inputs} | ${outcomes.map(([what, times]) => `${times} ${what}`).join(', ')} | ${Math.round(ms / 1_000)} | ${slowestMs} |`,
  );
  if (!finding) return;
  process.exitCode = 1;
  console.log(
    `\n${reader} got an input wrong:\n${finding.says}\n${JSON.stringify(finding.damage)}\npath ${finding.path}\n`,
  );
};

console.log(`seed ${seed}\n\n| reader | inputs | outcomes | s | slowest, ms |\n|---|---|---|---|---|`);
const began = performance.now();
let inputs = 0;
for (const [reader, share] of sharesOf(chosen, Number(values.inputs ?? 1_000_000))) {
  const tally = await fuzz(reader, { inputs: share, seed, worstAre: 'largest' });
  inputs += tally.inputs;
  tell(tally);
}
console.log(`\n${inputs} inputs, ${Math.round((performance.now() - began) / 1_000)} s`);
