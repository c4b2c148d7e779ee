import type { Measured } from './measure.ts';
import type { Question } from './scenes.ts';
import { callsIn, grouped } from './table.ts';

/** How many MB of RSS above the smallest cluster's count as bounded: V8's young generation, and one page with its models. */
const BOUNDED_MB = 64;

const verdict = (met: boolean, says: string): string => `aim ${met ? 'met' : 'missed'}: ${says}`;

const counts = (all: readonly Measured[]): string => `${all.map((one) => grouped(callsIn(one))).join(', ')} calls`;

const PAGE = /^LIST (\w+), page/;

const otherCalls = ({ calls }: Measured): string =>
  JSON.stringify(Object.entries(calls).filter(([kind]) => !PAGE.test(kind)).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** Each list that was read at all was read once, to its end. */
const readsOnce = ({ calls, pages }: Measured): boolean =>
  Object.entries(calls).every(([kind, times]) => {
    const resource = PAGE.exec(kind)?.[1];
    return resource === undefined || times <= (pages[resource] ?? 0);
  });

const allSame = (values: readonly (string | number)[]): boolean => new Set(values).size <= 1;

const sameCalls = (asks: string, all: readonly Measured[]): string => verdict(allSame(all.map(callsIn)), `${asks}: ${counts(all)}`);

const onlyPages = (asks: string, all: readonly Measured[]): string =>
  verdict(allSame(all.map(otherCalls)) && all.every(readsOnce), `${asks}: ${counts(all)}, more by pages of lists only`);

const boundedMemory = (asks: string, all: readonly Measured[]): string => {
  const megabytes = all.map(({ rss }) => rss / 1e6);
  const grown = (megabytes.at(-1) ?? 0) - (megabytes[0] ?? 0);
  return verdict(grown <= BOUNDED_MB, `${asks}: ${megabytes.map(grouped).join(', ')} MB of RSS, at most ${BOUNDED_MB} more`);
};

export const aimsOf = ({ asks, aim }: Question, all: readonly Measured[]): readonly string[] =>
  aim === 'same-calls' ? [sameCalls(asks, all)] : [onlyPages(asks, all), boundedMemory(asks, all)];
