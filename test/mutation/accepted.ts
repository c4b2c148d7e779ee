/** A mutant that no test can kill, because it changes nothing that anybody could see. */
export interface Accepted {
  readonly file: string;
  /** The line on which the mutated code begins. */
  readonly line: string;
  readonly from: string;
  readonly to: string;
  readonly because: string;
}

export const accepted: readonly Accepted[] = [
  {
    file: 'fencing/rules/guards.ts',
    line: 'if (decision) return decision;',
    from: 'decision',
    to: 'true',
    because: 'The list of guards has one element, and the loop returns its answer, null or not.',
  },
];
