import { declinedWith } from './errors.ts';

/** EC2 refuses a whole call for one bad id. */
export interface BadIds<T> {
  /** Error codes that speak of an id, and not of the call. */
  readonly codes: ReadonlySet<string>;
  /** What such a code says of the one id that is left. */
  readonly verdict: (id: string, code: string) => T;
}

/** Asks for all ids in one call; where one of them is refused, for each half again, so that its neighbours get their answer. */
export const askInHalves = async <T>(
  ids: readonly string[],
  ask: (ids: readonly string[]) => Promise<readonly T[]>,
  bad: BadIds<T>,
): Promise<readonly T[]> => {
  try {
    return await ask(ids);
  } catch (caught) {
    const code = declinedWith(caught);
    if (code === null || !bad.codes.has(code)) throw caught;
    const [first] = ids;
    if (first !== undefined && ids.length === 1) return [bad.verdict(first, code)];
    const middle = Math.ceil(ids.length / 2);
    const left = await askInHalves(ids.slice(0, middle), ask, bad);
    return [...left, ...(await askInHalves(ids.slice(middle), ask, bad))];
  }
};

export const chunksOf = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  items.length <= size ? (items.length === 0 ? [] : [items]) : [items.slice(0, size), ...chunksOf(items.slice(size), size)];
