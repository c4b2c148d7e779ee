import { describe, expect, it } from 'vitest';
import { numbersOf } from './edges.ts';
import { newRun } from './explore.ts';
import { told } from './followed-runs.ts';
import { moveOn } from './liveness.ts';
import { scenarioNamed } from './named.ts';
import type { RunAt } from './runs.ts';
import { RUN, TIME_PASSES } from './story.ts';
import { healthy, type World } from './world.ts';

const BEGINS = `${RUN} begins`;
const READS = `${RUN} reads the machine`;

/** A run that sees a machine stopping notes that first. */
const MOST_MOVES = 10;

describe('a run in a story', () => {
  it('keeps its name when it changes its place', () => {
    const numbers = numbersOf(scenarioNamed('two-runs'));
    expect(
      told(
        [
          { says: BEGINS, by: 0, runs: [1, 0] },
          { says: BEGINS, by: 1, runs: [1, 1] },
          { says: READS, by: 1, runs: [1, 7] },
          { says: `${RUN} reads the cluster`, by: 0, runs: [8, 1] },
          { says: `${RUN} asks the disk`, by: 1, runs: [8, 9] },
        ],
        numbers,
      ),
    ).toEqual([
      'run A begins',
      'run B begins',
      'run B reads the machine',
      'run B reads the cluster',
      'run A asks the disk',
    ]);
  });

  it('has another name than a run that ended', () => {
    const numbers = numbersOf(scenarioNamed('stop'));
    expect(
      told(
        [
          { says: BEGINS, by: 0, runs: [1, 0] },
          { says: `${RUN} is killed`, by: 0, runs: [0, 0] },
          { says: BEGINS, by: 0, runs: [1, 0] },
        ],
        numbers,
      ),
    ).toEqual(['run A begins', 'run A is killed', 'run B begins']);
  });

  it('is frozen if time passes before its answer', () => {
    const numbers = numbersOf(scenarioNamed('stop'));
    const asks = numbers.runs.numberOf(newRun(numbers.scenario));
    const passes = { says: TIME_PASSES, by: null, runs: [asks, 0] } as const;
    const reads = { says: READS, by: 0, runs: [asks, 0] } as const;
    const says = told([{ says: BEGINS, by: 0, runs: [asks, 0] }, passes, passes, passes, reads, reads], numbers);
    expect(says.slice(-2)).toEqual(['run A (frozen for 3 s) reads the machine', 'run A reads the machine']);
  });

  it('is not frozen while it sleeps', () => {
    const numbers = numbersOf(scenarioNamed('stop'));
    const { scenario } = numbers;
    const { machine, ...rest } = healthy({});
    const world: World = { ...rest, machine: { ...machine, power: 'stopping' } };
    let at: { readonly world: World; readonly run: RunAt } = { world, run: newRun(scenario) };
    for (let moves = 0; moves < MOST_MOVES && at.run.at !== 'sleep'; moves += 1)
      at = moveOn(at.world, at.run, scenario);
    expect(at.run.at).toBe('sleep');
    const sleeps = numbers.runs.numberOf(at.run);
    const says = told(
      [
        { says: BEGINS, by: 0, runs: [sleeps, 0] },
        { says: TIME_PASSES, by: null, runs: [sleeps, 0] },
        { says: READS, by: 0, runs: [sleeps, 0] },
      ],
      numbers,
    );
    expect(says.at(-1)).toBe('run A reads the machine');
  });
});
