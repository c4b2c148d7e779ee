import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { blocksOf, fuzz, merged, type Block, type Tally } from './fuzz.ts';
import { readers } from './readers.ts';
import { readOptions } from '../script-options.ts';

/**
 * Gives malformed input to the readers. `--inputs N` in total, `--seed N` repeats a run, and `--reader WORDS` selects
 * the readers whose names contain the words. Exits with 1 if something did not hold for an input.
 */

const USAGE = `npm run fuzz -- [options]
  --inputs N          feed so many inputs in all (1000000)
  --seed N            repeat a run
  --reader WORDS      take the readers whose names contain the words
  --processes P       read in so many processes (1)`;

const values = readOptions(USAGE, {
  inputs: { type: 'string', default: '1000000' },
  seed: { type: 'string' },
  reader: { type: 'string', default: '' },
  processes: { type: 'string', default: '1' },
});

const tell = ({ reader, inputs, counts, ms, slowestMs, findings }: Tally): void => {
  const outcomes = [...counts].toSorted(([, one], [, other]) => other - one);
  console.log(
    `| ${reader} | ${inputs} | ${outcomes.map(([what, times]) => `${times} ${what}`).join(', ')} | ${Math.round(ms / 1_000)} | ${slowestMs} |`,
  );
  for (const { says, damage, path, seed } of findings) {
    process.exitCode = 1;
    console.log(`\n${reader} got an input wrong:\n${says}\n${JSON.stringify(damage)}\nseed ${seed}, path ${path}\n`);
  }
};

/** Reads a block in a process of its own, so that what one block leaves behind does not slow down the next. */
const readApart = (block: Block): Promise<Tally> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [], { serialization: 'advanced' });
    child.once('message', (tally: Tally) => resolve(tally));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the process of ${block.reader} ended with ${code}`)));
    child.send(block);
  });

const readerNamed = (name: string) => {
  const reader = readers.find((one) => one.name === name);
  if (!reader) throw new Error(`no reader has the name ${name}`);
  return reader;
};

const readAll = async (): Promise<void> => {
  const seed = Number(values.seed ?? Date.now() % 1_000_000_007);
  const chosen = readers.filter(({ name }) => name.includes(values.reader));
  if (chosen.length === 0) throw new Error(`--reader is part of one of: ${readers.map(({ name }) => name).join(', ')}`);
  console.log(`seed ${seed}\n\n| reader | inputs | outcomes | s | slowest, ms |\n|---|---|---|---|---|`);
  const limit = pLimit(Number(values.processes));
  const began = performance.now();
  const tallies = chosen.map(async (reader): Promise<number> => {
    const blocks = blocksOf(reader, chosen, { inputs: Number(values.inputs), seed, worstAre: 'largest' });
    const parts = await Promise.all(blocks.map((block) => limit(readApart, block)));
    const tally = parts.reduce(merged);
    tell(tally);
    return tally.inputs;
  });
  const inputs = (await Promise.all(tallies)).reduce((sum, one) => sum + one, 0);
  console.log(`\n${inputs} inputs, ${Math.round((performance.now() - began) / 1_000)} s`);
};

if (process.send)
  process.once('message', (block: Block) => {
    void fuzz(readerNamed(block.reader), block).then((tally) => process.send?.(tally, () => process.disconnect()));
  });
else await readAll();
