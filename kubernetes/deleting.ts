import type { V1ObjectMeta } from '@kubernetes/client-node/dist/gen/index.js';
import type { Applied } from '../fencing/cluster.ts';
import { Refused } from '../fencing/errors.ts';
import { saysAbsent, saysChanged } from './errors.ts';

/**
 * A DELETE under the object's uid. Gone, or followed by another object of the same name, is success: what was meant is no more.
 * @throws Refused when the object still stands and another precondition did not hold.
 */
export const deleting = async (
  uid: string,
  send: () => Promise<unknown>,
  readAgain: () => Promise<{ readonly metadata?: V1ObjectMeta } | null>,
): Promise<Applied> => {
  try {
    await send();
    return 'done';
  } catch (error) {
    if (saysAbsent(error)) return 'already';
    if (!saysChanged(error)) throw error;
    if ((await readAgain())?.metadata?.uid !== uid) return 'already';
    throw new Refused(`the object of uid ${uid} has changed since it was read, and was not deleted`, { cause: error });
  }
};
