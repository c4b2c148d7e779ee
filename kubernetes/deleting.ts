import type { V1ObjectMeta } from '@kubernetes/client-node/dist/gen/index.js';
import type { Applied } from '../fencing/cluster.ts';
import { saysAbsent, saysChanged } from './errors.ts';

/**
 * A DELETE under the object's uid. Gone, or followed by another object of the same name, is success: what was meant is no more.
 * @throws Refused in the server's words when the object still stands: another precondition did not hold, or the cluster's
 * own rules forbid it (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
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
    if (saysChanged(error) && (await readAgain())?.metadata?.uid !== uid) return 'already';
    throw error;
  }
};
