import { glob } from 'node:fs/promises';
import { matchesGlob } from 'node:path';
import { isAccepted, outdated, describeMutant } from './accepted-mutants.ts';
import { rulesWithoutTest } from './ladder.ts';
import { instrument, type Mutant } from './mutants.ts';
import { DECISIONS, type Room, rooms } from './rooms.ts';
import { type Verdicts, verdictsOf } from './trials.ts';
import { readOptions } from '../script-options.ts';

/**
 * Changes the shipped code in one place after the other, and runs the tests that reach it. Prints how many mutants each
 * file has, how many of them the tests kill, and every survivor that is not in `accepted.ts`. Ends with 1 if there is
 * one in a room that has to be killed to the last, or if a room's share is too low.
 */

const USAGE = `npm run mutate -- [options]   (half a minute for a file, an hour for all)
  --mutate FILE       take one file or glob of the shipped code
  --tests GLOB        run these tests alone
  --ladder            take each rule out of the ladder instead, one at a time`;

const values = readOptions(USAGE, {
  mutate: { type: 'string' },
  tests: { type: 'string' },
  ladder: { type: 'boolean' },
});

interface Counted {
  readonly mutants: number;
  readonly killed: number;
  readonly refused: number;
  readonly accepted: number;
  readonly left: number;
}

const count = (mutants: readonly Mutant[], { killed, alive }: Verdicts): Counted => {
  const survived = mutants.filter(({ id }) => !killed.has(id));
  const compiling = survived.filter((mutant) => alive.includes(mutant));
  const known = compiling.filter(isAccepted).length;
  return {
    mutants: mutants.length,
    killed: mutants.length - survived.length,
    refused: survived.length - compiling.length,
    accepted: known,
    left: compiling.length - known,
  };
};

/** Returns the share of killed mutants among those that compile. */
const shareOf = ({ mutants, killed, refused }: Counted): number => killed / (mutants - refused);

const row = (name: string, counted: Counted): string =>
  `| \`${name}\` | ${counted.mutants} | ${counted.killed} | ${counted.refused} | ${counted.accepted} | ${counted.left} | ${(100 * shareOf(counted)).toFixed(1)} % |`;

const judge = (room: Room, mutants: readonly Mutant[], verdicts: Verdicts): boolean => {
  const files = [...new Set(mutants.map(({ file }) => file))].toSorted();
  console.log('\n| file | mutants | killed by a test | refused by the compiler | accepted | left | score |');
  console.log('|---|---|---|---|---|---|---|');
  for (const file of files) {
    const own = mutants.filter((mutant) => mutant.file === file);
    console.log(row(file, count(own, verdicts)));
  }
  const all = count(mutants, verdicts);
  console.log(row(room.name, all));
  for (const mutant of verdicts.alive) if (!isAccepted(mutant)) console.log(describeMutant(mutant));
  const old = outdated(new Set(files), verdicts.alive);
  for (const { file, line, to } of old) console.log(`no longer survives: ${file}: ${line}  →  ${to}`);
  return room.least === 1 ? all.left === 0 && old.length === 0 : shareOf(all) >= room.least;
};

const mutateRoom = async (room: Room, only: string | undefined): Promise<void> => {
  const files = await Array.fromAsync(glob(only === undefined ? [...room.mutates] : [only]));
  const instrumented = await instrument(files.toSorted());
  const verdicts = await verdictsOf(instrumented, values.tests === undefined ? room.tests : [values.tests]);
  if (!judge(room, instrumented.mutants, verdicts)) process.exitCode = 1;
  console.log(`${verdicts.endless.size} of the killed mutants never end`);
  for (const test of verdicts.failing) console.log(`judges no mutant, because it fails without one: ${test}`);
};

const mutateRooms = async (only: string | undefined): Promise<void> => {
  const chosen = rooms.filter(
    ({ mutates }) => only === undefined || mutates.some((one) => one === only || matchesGlob(only, one)),
  );
  if (chosen.length === 0) throw new Error(`--mutate is one of ${rooms.flatMap(({ mutates }) => mutates).join(', ')}`);
  for (const room of chosen) await mutateRoom(room, only);
};

if (values.ladder) {
  if ((await rulesWithoutTest([DECISIONS])).length > 0) process.exitCode = 1;
} else await mutateRooms(values.mutate);
