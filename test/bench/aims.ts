import type { Measured } from './measure.ts';
import type { Question } from './scenes.ts';
import { callsIn, grouped } from './table.ts';

/**
 * The memory (MB of RSS) that a larger cluster may need beyond the smallest one: the young generation of V8, and one
 * page with its models.
 */
const BOUNDED_MB = 64;

const verdict = (met: boolean, says: string): string => `aim ${met ? 'met' : 'missed'}: ${says}`;

const counts = (all: readonly Measured[]): string => `${all.map((one) => grouped(callsIn(one))).join(', ')} calls`;

const PAGE = /^LIST (\w+), page/;

const allSame = (values: readonly (string | number)[]): boolean => new Set(values).size <= 1;

/** No more pages than are needed to read the list once to its end. */
const readOnce = (kind: string, { calls, pages }: Measured): boolean =>
  (calls[kind] ?? 0) <= (pages[PAGE.exec(kind)?.[1] ?? ''] ?? 0);

/** Kinds of calls that increase, or differ, for a reason other than pages. */
const amiss = (all: readonly Measured[]): readonly string[] => {
  const kinds = [...new Set(all.flatMap(({ calls }) => Object.keys(calls)))].toSorted();
  return kinds.filter(
    (kind) =>
      !(PAGE.test(kind) ? all.every((one) => readOnce(kind, one)) : allSame(all.map(({ calls }) => calls[kind] ?? 0))),
  );
};

const sameCalls = (asks: string, all: readonly Measured[]): string =>
  verdict(allSame(all.map(callsIn)), `${asks}: ${counts(all)}`);

const onlyPages = (asks: string, all: readonly Measured[]): string => {
  const wrong = amiss(all);
  return verdict(
    wrong.length === 0,
    `${asks}: ${counts(all)}, more by pages of lists only${wrong.length === 0 ? '' : `, but for: ${wrong.join('; ')}`}`,
  );
};

const boundedMemory = (asks: string, all: readonly Measured[]): string => {
  const megabytes = all.map(({ rss }) => rss / 1e6);
  const grown = (megabytes.at(-1) ?? 0) - (megabytes[0] ?? 0);
  return verdict(
    grown <= BOUNDED_MB,
    `${asks}: ${megabytes.map(grouped).join(', ')} MB of RSS, at most ${BOUNDED_MB} more`,
  );
};

export const aimsOf = ({ asks, aim }: Question, all: readonly Measured[]): readonly string[] =>
  aim === 'same-calls' ? [sameCalls(asks, all)] : [onlyPages(asks, all), boundedMemory(asks, all)];
