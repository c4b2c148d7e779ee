import { Denied, Refused } from '../../fencing/errors.ts';
import { underPermit, type PermittedCall } from '../../transport/under-permit.ts';
import type { AzureClients, Following } from './client.ts';
import { inOurWords } from './errors.ts';
import type { Operation, Ordering } from './vm.ts';

/** Sends the order; the request has left, or is held, by the time that it returns. */
type Order = (client: ReturnType<AzureClients['writes']>, ordering: Ordering) => Operation;

/**
 * Sends an order, sees it accepted, and then to its end if that comes soon.
 *
 * Fencing needs no more than the acceptance: whether a disk is gone, the next look shows. It is followed all the same,
 * because while it runs the machine proves nothing (it is `Updating`) and takes no other order, and because its failure is
 * told to nobody else. A caller who gives up, or an operation that outlasts its following, changes nothing about it.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
 *
 * @throws Unavailable, Denied (the order itself), Refused, ProofExpired
 */
export const orderUnderPermit = async ({ writes, following }: AzureClients, call: PermittedCall, order: Order): Promise<void> => {
  try {
    // Kept in an object: an operation by itself is a promise of its end.
    const { operation } = await underPermit(call, async (passage) => {
      const operation = order(writes(passage), { signal: passage.signal, everyMs: following.everyMs });
      await operation.submitted();
      return { operation };
    });
    return await follow(operation, call, following);
  } catch (caught) {
    throw inOurWords(caught, call.name);
  }
};

const follow = async (operation: Operation, { name, signal }: PermittedCall, following: Following): Promise<void> => {
  const enough = new AbortController();
  try {
    countTo(operation, following.times, () => enough.abort());
    await operation.pollUntilDone({ abortSignal: AbortSignal.any([...(signal ? [signal] : []), enough.signal]) });
  } catch (caught) {
    throwUnlessUnderWay(operation, name, caught);
  }
};

const countTo = (operation: Operation, times: number, then: () => void): void => {
  let asked = 0;
  operation.onProgress(() => {
    asked += 1;
    if (asked >= times) then();
  });
};

/**
 * An operation that failed is thrown without a code; what the SDK holds of its state tells it from one that goes on. Who
 * may give an order may still be denied to ask about it (`Microsoft.Compute/locations/operations/read`): it goes on, too.
 */
const throwUnlessUnderWay = ({ operationState }: Operation, call: string, caught: unknown): void => {
  const status = operationState?.status;
  if (status !== 'failed' && status !== 'canceled') return;
  const answered = caught instanceof Error && caught.name === 'RestError';
  const error = answered ? inOurWords(caught, call) : new Refused(`${call} was accepted, and then ${status}`, { cause: caught });
  if (!(error instanceof Denied)) throw error;
};
