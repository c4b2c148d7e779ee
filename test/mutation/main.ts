import { matchesGlob, relative } from 'node:path';
import { thoseThatCompile } from './compiler.ts';
import { rulesWithoutTest } from './ladder.ts';
import { DECISIONS, type Room, rooms } from './rooms.ts';
import { type Mutant, mutate } from './stryker.ts';
import { isAccepted, outdated, type Survivor, survivorOf, told } from './survivors.ts';
import { readOptions } from '../script-options.ts';

/**
 * Changes the shipped code in one place after the other, and runs the tests that reach it. Prints how many mutants each
 * file has, how many of them the tests kill, and every survivor that is not in `accepted.ts`. Ends with 1 if there is
 * one in a room that has to be killed to the last, or if a room's share is too low.
 * - `--mutate FILE` takes one file or glob
 * - `--tests GLOB` runs these tests alone: what they kill stays killed, and the next run without it takes the survivors
 * - `--timeout MS` gives a mutant less time, for files in which many never end
 * - `--force` forgets earlier results, which is needed if only a helper of the tests has changed
 * - `--ladder` takes each rule out of the ladder instead, one at a time
 */

const USAGE = `npm run mutate -- [options]   (from a minute for a file to hours)
  --mutate FILE       take one file or glob of the shipped code
  --tests GLOB        run these tests alone
  --timeout MS        give a mutant less time
  --concurrency N     run so many processes
  --force             forget earlier results
  --ladder            take each rule out of the ladder instead, one at a time`;

const values = readOptions(USAGE, {
  mutate: { type: 'string' },
  force: { type: 'boolean' },
  tests: { type: 'string' },
  ladder: { type: 'boolean' },
  concurrency: { type: 'string' },
  timeout: { type: 'string' },
});

const countOf = (results: readonly Mutant[], ...states: readonly Mutant['status'][]): number =>
  results.filter(({ status }) => states.includes(status)).length;

interface Counted {
  readonly mutants: number;
  readonly killed: number;
  readonly refused: number;
  readonly accepted: number;
  readonly left: number;
}

const count = (results: readonly Mutant[], alive: readonly Survivor[]): Counted => {
  const killed = countOf(results, 'Killed', 'Timeout', 'RuntimeError');
  const survived = countOf(results, 'Survived', 'NoCoverage');
  const known = alive.filter(isAccepted).length;
  return {
    mutants: killed + survived,
    killed,
    refused: survived - alive.length,
    accepted: known,
    left: alive.length - known,
  };
};

/** Returns the share of killed mutants among those that compile. */
const shareOf = ({ mutants, killed, refused }: Counted): number => killed / (mutants - refused);

const row = (name: string, counted: Counted): string =>
  `| \`${name}\` | ${counted.mutants} | ${counted.killed} | ${counted.refused} | ${counted.accepted} | ${counted.left} | ${(100 * shareOf(counted)).toFixed(1)} % |`;

const judge = async (room: Room, results: readonly Mutant[]): Promise<boolean> => {
  const survived = results.filter(({ status }) => status === 'Survived' || status === 'NoCoverage').map(survivorOf);
  const alive = await thoseThatCompile(survived);
  const files = [...new Set(results.map(({ fileName }) => relative('.', fileName)))].toSorted();
  for (const file of files) {
    const own = results.filter(({ fileName }) => relative('.', fileName) === file);
    console.log(
      row(
        file,
        count(
          own,
          alive.filter((survivor) => survivor.file === file),
        ),
      ),
    );
  }
  const all = count(results, alive);
  console.log(row(room.name, all));
  console.log(
    alive
      .filter((survivor) => !isAccepted(survivor))
      .map(told)
      .join('\n'),
  );
  const old = outdated(new Set(files), alive);
  for (const { file, line, to } of old) console.log(`no longer survives: ${file}: ${line}  →  ${to}`);
  return room.least === 1 ? all.left === 0 && old.length === 0 : shareOf(all) >= room.least;
};

const mutateRooms = async (only: string | undefined): Promise<void> => {
  const chosen = rooms.filter(
    ({ mutates }) => only === undefined || mutates.some((glob) => glob === only || matchesGlob(only, glob)),
  );
  if (chosen.length === 0) throw new Error(`--mutate is one of ${rooms.flatMap(({ mutates }) => mutates).join(', ')}`);
  for (const room of chosen) {
    const files = only === undefined ? room.mutates : [only];
    const all = await mutate({
      files,
      tests: values.tests === undefined ? room.tests : [values.tests],
      force: values.force ?? false,
      concurrency: Number(values.concurrency ?? 1),
      timeoutMS: Number(values.timeout ?? 20_000),
    });
    // Stryker also returns what it remembers of other files.
    const results = all.filter(({ fileName }) => files.some((glob) => matchesGlob(relative('.', fileName), glob)));
    console.log('\n| file | mutants | killed by a test | refused by the compiler | accepted | left | score |');
    console.log('|---|---|---|---|---|---|---|');
    if (!(await judge(room, results))) process.exitCode = 1;
  }
};

if (values.ladder) {
  if ((await rulesWithoutTest([DECISIONS])).length > 0) process.exitCode = 1;
} else await mutateRooms(values.mutate);
