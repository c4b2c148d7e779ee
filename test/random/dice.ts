/**
 * Random numbers from a seed. Streams with different names are independent, so that a shrunk schedule stays the same.
 */
export interface Dice {
  /** Returns a number from 0 to 1, without 1. */
  readonly roll: () => number;
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
export const diceFor = (seed: number, stream: string): Dice => {
  let state = (Math.imul(seed, 0x9e3779b1) ^ hashOf(stream)) >>> 0;
  const roll = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    roll,
    between: (least, most) => Math.floor(least + roll() * (most - least + 1)),
    chance: (probability) => roll() < probability,
    oneOf: <T>(choices: readonly T[]): T => {
      const chosen = choices[Math.floor(roll() * choices.length)];
      if (chosen === undefined) throw new Error('there is nothing to choose from');
      return chosen;
    },
  };
};
