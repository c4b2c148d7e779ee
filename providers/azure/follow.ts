import { Denied, Refused } from '../../fencing/errors.ts';
import type { Following } from './client.ts';
import { inOurWords } from './errors.ts';
import type { Operation } from './vm.ts';

/**
 * Sees an operation accepted, and then to its end if that comes soon.
 *
 * Fencing needs no more than the acceptance: whether a disk is gone, the next look shows. It is followed all the same,
 * because while it runs the machine proves nothing (it is `Updating`) and takes no other order, and because its failure is
 * told to nobody else. A caller who gives up, or an operation that outlasts its following, changes nothing about it.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations
 *
 * @throws Unavailable, Denied (the order itself), Refused, ProofExpired
 */
export const follow = async (operation: Operation, call: string, following: Following, signal: AbortSignal): Promise<void> => {
  try {
    await operation.submitted();
  } catch (caught) {
    throw inOurWords(caught, call);
  }
  const enough = new AbortController();
  try {
    countTo(operation, following.times, () => enough.abort());
    await operation.pollUntilDone({ abortSignal: AbortSignal.any([signal, enough.signal]) });
  } catch (caught) {
    throwUnlessUnderWay(operation, call, caught);
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
