import { type Happening, type Numbers, NOBODY } from './edges.ts';
import { changePlaces } from './state-table.ts';
import { TIME_PASSES, withName } from './story.ts';
import { TICK_MS } from './time.ts';

/**
 * The runs of a story. A state does not say which of its two runs began first, and a run may change its place from one
 * state to the next. A story follows each run, so that the run keeps its name.
 */

interface FollowedRun {
  readonly name: string;
  /** The number of the run in its present state. */
  readonly number: number;
  /** How long (ticks) it has done nothing, although it does not sleep. */
  readonly idle: number;
}

/** The runs by their places in a state. */
export interface FollowedRuns {
  readonly inPlaces: readonly [FollowedRun | null, FollowedRun | null];
  /** The number of runs that have begun. */
  readonly begun: number;
}

export const NO_RUN_YET: FollowedRuns = { inPlaces: [null, null], begun: 0 };

interface Told {
  readonly says: string;
  readonly runs: FollowedRuns;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

const newRun = ({ begun }: FollowedRuns): FollowedRun => ({
  name: `run ${LETTERS[begun] ?? begun + 1}`,
  number: NOBODY,
  idle: 0,
});

/**
 * Returns the name of a run, and for how long it has done nothing. Meanwhile, a call or an answer may have been on its
 * way. Otherwise, the run was frozen.
 */
const nameOf = ({ name, number, idle }: FollowedRun, { runs, scenario }: Known): string => {
  if (idle === 0) return name;
  const waits = scenario.slow.size > 0 || runs.valueOf(number)?.at === 'act';
  const seconds = `${(idle * TICK_MS) / 1_000} s`;
  return waits ? `${name} (${seconds} later)` : `${name} (frozen for ${seconds})`;
};

type Known = Pick<Numbers, 'runs' | 'scenario'>;

const afterTick = (run: FollowedRun, { runs }: Known): FollowedRun => ({
  ...run,
  idle: runs.valueOf(run.number)?.at === 'sleep' ? 0 : run.idle + 1,
});

/** Returns the sentence about what happens, with the name of the run, and the runs after it. */
export const follow = (before: FollowedRuns, { says, by, runs }: Happening, known: Known): Told => {
  const actor = by === null ? null : (before.inPlaces[by] ?? newRun(before));
  const runAfter = (place: 0 | 1): FollowedRun | null => {
    const number = runs[place];
    if (number === NOBODY) return null;
    if (place === by) return actor && { ...actor, number, idle: 0 };
    const run = before.inPlaces[place];
    return run && { ...(says === TIME_PASSES ? afterTick(run, known) : run), number };
  };
  return {
    says: actor === null ? says : withName(says, nameOf(actor, known)),
    runs: {
      inPlaces: changePlaces(...runs) ? [runAfter(1), runAfter(0)] : [runAfter(0), runAfter(1)],
      begun: before.begun + (by !== null && before.inPlaces[by] === null ? 1 : 0),
    },
  };
};

/** Returns what happens, in sentences that name each run. */
export const told = (happenings: readonly Happening[], known: Known): readonly string[] => {
  let runs = NO_RUN_YET;
  return happenings.map((happening) => {
    const next = follow(runs, happening, known);
    runs = next.runs;
    return next.says;
  });
};
