import { type Happening, NOBODY } from './edges.ts';
import { changePlaces } from './state-table.ts';
import { withName } from './story.ts';

/**
 * The runs of a story. A state does not say which of its two runs began first, and a run may change its place from one
 * state to the next. A story follows each run, so that the run keeps its name.
 */

/** The names of the runs, by their places in a state. */
export interface FollowedRuns {
  readonly names: readonly [string | null, string | null];
  /** The number of runs that have begun. */
  readonly begun: number;
}

export const NO_RUN_YET: FollowedRuns = { names: [null, null], begun: 0 };

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

const nameOf = (nth: number): string => `run ${LETTERS[nth] ?? nth + 1}`;

interface Told {
  readonly says: string;
  readonly runs: FollowedRuns;
}

/** Returns the sentence about what happens, with the name of the run, and the runs after it. */
export const follow = ({ names, begun }: FollowedRuns, { says, by, runs }: Happening): Told => {
  const begins = by !== null && names[by] === null;
  const actor = by === null ? null : (names[by] ?? nameOf(begun));
  const nameAt = (place: 0 | 1): string | null => {
    if (runs[place] === NOBODY) return null;
    return place === by ? actor : names[place];
  };
  return {
    says: actor === null ? says : withName(says, actor),
    runs: {
      names: changePlaces(...runs) ? [nameAt(1), nameAt(0)] : [nameAt(0), nameAt(1)],
      begun: begins ? begun + 1 : begun,
    },
  };
};

/** Returns what happens, in sentences that name each run. */
export const told = (happenings: readonly Happening[]): readonly string[] => {
  let runs = NO_RUN_YET;
  return happenings.map((happening) => {
    const next = follow(runs, happening);
    runs = next.runs;
    return next.says;
  });
};
