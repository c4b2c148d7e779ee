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

/** Nobody has understood more of it than another: then it is of none of them, and each says what it would take. */
const ofNone = (attempts: readonly Attempt[]): readonly Fault[] => {
  const [first, ...others] = attempts.flatMap(({ faults }) => faults.slice(0, 1));
  if (!first) return [];
  const mends = [first, ...others].map(({ mend }) => mend.replace(/^send /, ''));
  return [{ ...first, mend: `send ${[...new Set(mends)].join('; or ')}` }];
};

/** An event as the cloud reads it that understands the most of it. */
export const readByAny = (raw: unknown, clouds: readonly Pick<RegisteredCloud, 'name' | 'readHints'>[]): Reading => {
  const attempts = clouds.map(({ name, readHints }): Attempt => ({ name, ...readHints(raw) })).toSorted(byUnderstanding);
  const [best] = attempts;
  if (!best) return { hints: [], faults: [], asides: [] };
  const equals = attempts.filter((one) => byUnderstanding(best, one) === 0);
  if (equals.length > 1 && best.hints.length === 0 && best.asides.length === 0) return { hints: [], faults: ofNone(equals), asides: [] };
  const { name, hints, faults, asides } = best;
  return { hints, faults: faults.map((fault) => ({ ...fault, what: `${fault.what} (read as an event of ${name})` })), asides };
};
