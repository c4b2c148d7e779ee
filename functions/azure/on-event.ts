import { inHierarchy } from '../../fencing/errors.ts';
import type { Outcome } from '../../fencing/outcome.ts';
import { leadingErrands } from '../errand.ts';
import { runErrands } from '../errands.ts';
import { settle } from '../settle.ts';
import { receivedIn, type Received } from './batch.ts';
import { expanded } from './expand.ts';
import { invoked, type Invoked } from './invoked.ts';
import type { Logging } from './log.ts';
import { tryAgain } from './try-again.ts';
import type { Wired } from './wiring.ts';

interface Failure {
  readonly received: Received;
  readonly why: string;
}

interface Opened {
  readonly ready: readonly Received[];
  readonly failures: readonly Failure[];
}

/** What Azure does not answer about now is tried again; the rest of the batch goes on. */
const opened = async (batch: readonly Received[], { wiring, limit }: Invoked): Promise<Opened> => {
  const ready: Received[] = [];
  const failures: Failure[] = [];
  for (const received of batch) {
    try {
      ready.push({ ...received, delivery: await expanded(received.delivery, wiring.expand, limit) });
    } catch (error) {
      failures.push({ received, why: inHierarchy(error).message });
    }
  }
  return { ready, failures };
};

const whyOf = ({ delivery }: Received, outcomes: readonly Outcome[]): string => {
  const failed = outcomes.find(({ machine, outcome }) => outcome === 'failed' && delivery.errands.some((errand) => errand.machine === machine));
  return failed ? `${failed.reason.code}: ${failed.reason.says}` : 'a queue could not be reached';
};

const settleAll = async ({ ready, failures }: Opened, outcomes: readonly Outcome[], { wiring }: Invoked): Promise<void> => {
  const leading = leadingErrands(ready.flatMap(({ delivery }) => delivery.errands), wiring.policy);
  const unsettled: Failure[] = [...failures];
  for (const received of ready) {
    if (!(await settle(received.delivery, outcomes, leading, wiring))) unsettled.push({ received, why: whyOf(received, outcomes) });
  }
  for (const { received, why } of unsettled) await tryAgain(received, why, wiring);
};

/**
 * Takes a batch of Service Bus messages. Each ends with a stated outcome, is sent again with a delay, or is sent to the
 * queue of dead letters with its reason; one message never decides over another. Only when not even that can be sent does
 * this throw, and Service Bus delivers the batch again, which is harmless: each look sees what is there.
 */
export const onEvent =
  (wired: Wired) =>
  async (messages: unknown, context: Logging): Promise<void> => {
    const invocation = await invoked(wired, context);
    const { wiring, limit } = invocation;
    const batch = await opened(receivedIn(messages), invocation);
    const errands = batch.ready.flatMap(({ delivery }) => delivery.errands);
    const outcomes = await runErrands(errands, { policy: wiring.policy, queued: true, vouched: null }, wiring, limit);
    await settleAll(batch, outcomes, invocation);
  };
