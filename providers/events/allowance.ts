/** What all texts of one event may come to (characters), those that are packed in others counted as well. */
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** Entries of lists, and lines, in one event. */
const MOST_ENTRIES = 20_000;

/** How much of one event is read: who writes it decides neither how long that takes nor how much memory it needs. */
export interface Allowance {
  readonly left: () => number;
  /** False when that is more than is left. */
  readonly spend: (characters: number) => boolean;
  /** The same for entries and lines. */
  readonly count: (entries: number) => boolean;
}

export const allowance = (): Allowance => {
  let characters = MOST_CHARACTERS;
  let entries = MOST_ENTRIES;
  return {
    left: () => characters,
    spend: (wanted) => {
      characters -= wanted;
      return characters >= 0;
    },
    count: (wanted) => {
      entries -= wanted;
      return entries >= 0;
    },
  };
};
