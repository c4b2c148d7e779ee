import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether the project `thorough` runs, which takes every case of a search in the place of some. */
    readonly thorough: boolean;
  }
}

const SHARE = 5;

/** How often a property is tried: all of it in the project `thorough`, a fifth in `npm test`. The seed is the same. */
export const runsOf = (full: number): number => (inject('thorough') ? full : Math.ceil(full / SHARE));

/** All of them in the project `thorough`; in `npm test` every fifth, the first among them. */
export const someOf = <T>(all: readonly T[]): readonly T[] =>
  inject('thorough') ? all : all.filter((_, at) => at % SHARE === 0);
