import { Denied } from '../../fencing/errors.ts';
import type { AzureClients } from './client.ts';
import { codeOf } from './errors.ts';
import { look } from './look.ts';

/** A group that nobody has: asking in it shows whether we may ask. */
const NOBODYS_GROUP = 'cloudfence-asks-for-nobody';

/**
 * Whether we may read machines anywhere in the subscription, or where a narrower role reaches at most. Azure has no dry
 * run: whether orders are allowed shows with the first one.
 *
 * @throws Denied (no token, or no such subscription), Unavailable
 */
export const probe = async (clients: AzureClients, signal: AbortSignal): Promise<'everywhere' | 'somewhere-at-most'> => {
  const nobody = `/subscriptions/${clients.subscription.toLowerCase()}/resourcegroups/${NOBODYS_GROUP}/providers/microsoft.compute/virtualmachines/nobody`;
  try {
    const [facts] = await look(clients, [nobody], { disks: false }, signal);
    if (facts?.evidence['state'] === 'SubscriptionNotFound') throw new Denied(`there is no subscription ${clients.subscription}, or none that we may know of`);
    return 'everywhere';
  } catch (error) {
    if (error instanceof Denied && codeOf(error.cause) === 'AuthorizationFailed') return 'somewhere-at-most';
    throw error;
  }
};
