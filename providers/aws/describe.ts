import type { Volume } from '@aws-sdk/client-ec2';
import { Unavailable } from '../../fencing/model/errors.ts';
import { declinedWith } from './errors.ts';

/**
 * What makes an answer EC2's own. The SDK takes any XML for an answer, a proxy's page and an empty body included, and
 * leaves out what it does not find there: so what EC2 always says has to be there.
 */

/** EC2 lists what it found, and be it nothing. @throws Unavailable */
export const listed = <T>(items: readonly T[] | undefined, call: string): readonly T[] => {
  if (items) return items;
  throw new Unavailable(`${call} was answered without a list: this is no answer of EC2`);
};

/** A volume says where it is attached, and be it nowhere. @throws Unavailable */
export const wholeVolumes = (volumes: readonly Volume[] | undefined): readonly Volume[] => {
  const all = listed(volumes, 'ec2:DescribeVolumes');
  if (all.every(({ VolumeId, Attachments }) => VolumeId !== undefined && Attachments !== undefined)) return all;
  throw new Unavailable(
    'ec2:DescribeVolumes was answered with a volume that does not say where it is attached: this is no answer of EC2',
  );
};

/** EC2 refuses a whole call for one bad id. */
interface BadIds<T> {
  /** Error codes that speak of an id, and not of the call. */
  readonly codes: ReadonlySet<string>;
  /** What such a code says of the one id that is left. */
  readonly verdict: (id: string, code: string) => T;
}

/**
 * Asks for all ids in one call; where one of them is refused, for each half again, so that its neighbours get their
 * answer.
 */
export const askInHalves = async <T>(
  ids: readonly string[],
  ask: (ids: readonly string[]) => Promise<readonly T[]>,
  bad: BadIds<T>,
): Promise<readonly T[]> => {
  try {
    return await ask(ids);
  } catch (caught) {
    const code = declinedWith(caught);
    if (code === null || !bad.codes.has(code)) throw caught;
    const [first] = ids;
    if (first !== undefined && ids.length === 1) return [bad.verdict(first, code)];
    const middle = Math.ceil(ids.length / 2);
    const left = await askInHalves(ids.slice(0, middle), ask, bad);
    return [...left, ...(await askInHalves(ids.slice(middle), ask, bad))];
  }
};

export const chunksOf = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  items.length <= size
    ? items.length === 0
      ? []
      : [items]
    : [items.slice(0, size), ...chunksOf(items.slice(size), size)];
