/** Sentences that repeat themselves. A story tells each only once. */

/** Returns the sentences until the last of them only repeat the ones before. */
export const untilRepeated = (says: readonly string[]): readonly string[] => {
  const ends = says.flatMap((_, at) => {
    const length = at + 1;
    let from = says.length - length;
    while (from > 0 && says[from - 1] === says[from - 1 + length]) from -= 1;
    return from + 2 * length <= says.length ? [from + length] : [];
  });
  return says.slice(0, Math.min(says.length, ...ends));
};

/** Returns the sentences without those that are equal to the sentence before. */
export const withoutDoubles = (says: readonly string[]): readonly string[] =>
  says.filter((sentence, at) => sentence !== says[at - 1]);
