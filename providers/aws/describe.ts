import type { Volume } from '@aws-sdk/client-ec2';
import { Unavailable } from '../../fencing/model/errors.ts';
import { declinedWith } from './errors.ts';

/**
 * Checks that an answer comes from EC2. The SDK accepts any XML as an answer, even a proxy's page or an empty body, and
 * leaves out the fields that it does not find. Therefore the fields that EC2 always sends must be present.
 */

/** Returns the items. EC2 always sends a list, even an empty one. @throws Unavailable when there is no list */
export const requireList = <T>(items: readonly T[] | undefined, call: string): readonly T[] => {
  if (items) return items;
  throw new Unavailable(`the response to ${call} contains no list, so it is not from EC2`);
};

/**
 * Returns the volumes. EC2 always says where a volume is attached, even if it is attached nowhere.
 *
 * @throws Unavailable when a volume does not say that
 */
export const requireAttachments = (volumes: readonly Volume[] | undefined): readonly Volume[] => {
  const all = requireList(volumes, 'ec2:DescribeVolumes');
  if (all.every(({ VolumeId, Attachments }) => VolumeId !== undefined && Attachments !== undefined)) return all;
  throw new Unavailable(
    'the response to ec2:DescribeVolumes contains a volume without attachments, so it is not from EC2',
  );
};

/** How to handle an id that EC2 rejects. One bad id makes EC2 refuse the whole call. */
interface BadIds<T> {
  /** Error codes that are about an id and not about the call. */
  readonly codes: ReadonlySet<string>;
  /** Converts such a code into the result for the one remaining id. */
  readonly verdict: (id: string, code: string) => T;
}

/**
 * Asks for all ids in one call. When EC2 refuses one of them, asks again for each half, so that the other ids still get
 * their answer.
 */
export const askSkippingBadIds = async <T>(
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
    const left = await askSkippingBadIds(ids.slice(0, middle), ask, bad);
    return [...left, ...(await askSkippingBadIds(ids.slice(middle), ask, bad))];
  }
};

export const chunksOf = <T>(items: readonly T[], size: number): readonly (readonly T[])[] =>
  items.length <= size
    ? items.length === 0
      ? []
      : [items]
    : [items.slice(0, size), ...chunksOf(items.slice(size), size)];
