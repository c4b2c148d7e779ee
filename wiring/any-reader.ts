import type { Fault, Reading } from '../fencing/hint.ts';
import type { RegisteredCloud } from './cloud-kit.ts';

interface Attempt extends Reading {
  readonly name: string;
}

/** How far into an event a reader came before something was wrong: one that knows the wrapping comes further than one that does not. */
const depthOf = ({ where }: Fault): number => where.split(/[.[(]/).length;

const deepest = ({ faults }: Reading): number => Math.max(0, ...faults.map(depthOf));

/** Negative when `one` has understood more. */
const byUnderstanding = (one: Attempt, other: Attempt): number =>
  other.hints.length - one.hints.length || other.asides.length - one.asides.length || deepest(other) - deepest(one);

/** An event as the cloud reads it that understands the most of it; of equals, the earlier in the list. */
export const readByAny = (raw: unknown, clouds: readonly Pick<RegisteredCloud, 'name' | 'readHints'>[]): Reading => {
  const [best] = clouds.map(({ name, readHints }): Attempt => ({ name, ...readHints(raw) })).toSorted(byUnderstanding);
  if (!best) return { hints: [], faults: [], asides: [] };
  const { name, hints, faults, asides } = best;
  return { hints, faults: faults.map((fault) => ({ ...fault, what: `${fault.what} (read as an event of ${name})` })), asides };
};
