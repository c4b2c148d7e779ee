/**
 * Random numbers from a seed. Streams with different names are independent, so that a shrunk schedule stays the same.
 */
export interface SeededRandom {
  /** Returns a number from 0 to 1, without 1. */
  readonly next: () => number;
  readonly between: (least: number, most: number) => number;
  readonly chance: (probability: number) => boolean;
  /** @throws if there is nothing to choose from */
  readonly oneOf: <T>(choices: readonly T[]) => T;
}

const hashOf = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
};

/** mulberry32: small, and good enough to vary a schedule. */
export const seededRandom = (seed: number, stream: string): SeededRandom => {
  let state = (Math.imul(seed, 0x9e3779b1) ^ hashOf(stream)) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (least, most) => Math.floor(least + next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    oneOf: <T>(choices: readonly T[]): T => {
      const chosen = choices[Math.floor(next() * choices.length)];
      if (chosen === undefined) throw new Error('there is nothing to choose from');
      return chosen;
    },
  };
};
