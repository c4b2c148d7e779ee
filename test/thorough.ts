import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is the project `thorough`, which runs every case of a search instead of some. */
    readonly thorough: boolean;
  }
}

const SHARE = 5;

/**
 * How often a property is tried: all times in the project `thorough`, a fifth of them in `npm test`. The seed is the
 * same.
 */
export const runsOf = (full: number): number => (inject('thorough') ? full : Math.ceil(full / SHARE));

/** All of them in the project `thorough`. In `npm test`, every fifth, starting with the first. */
export const someOf = <T>(all: readonly T[]): readonly T[] =>
  inject('thorough') ? all : all.filter((_, at) => at % SHARE === 0);
