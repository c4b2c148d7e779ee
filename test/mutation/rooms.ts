/** What is mutated together, with the tests that have to notice. */
export interface Room {
  readonly name: string;
  readonly mutates: readonly string[];
  /** Only tests that need milliseconds: each mutant runs all of them that reach it. */
  readonly tests: readonly string[];
  /** The least share of mutants that has to be killed. */
  readonly least: number;
}

const PURE = 'test/fencing/!(decide-always).test.ts';

export const rooms: readonly Room[] = [{ name: 'rules', mutates: ['fencing/rules/*.ts'], tests: [PURE], least: 1 }];
