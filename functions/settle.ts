import { CloudfenceError } from '../fencing/errors.ts';
import type { Outcome } from '../fencing/outcome.ts';
import { faultLine, messageLine } from './decision-line.ts';
import { inWords, isDry, type Delivery, type Errand } from './errand.ts';
import { delayFor, MOST_HOPS, nextLook } from './look-again.ts';
import { decision, metric } from './names.ts';
import { LONGEST_REASON } from './queues.ts';
import type { Wiring } from './wiring.ts';

/** Ends one delivery; false when it has to come again. A queue that cannot be reached is a reason to come again. */
export const settle = async (delivery: Delivery, outcomes: readonly Outcome[], leading: ReadonlySet<Errand>, wiring: Wiring): Promise<boolean> => {
  try {
    await buryFaults(delivery, wiring);
    const ends = await Promise.all(delivery.errands.map((errand) => settleErrand(delivery, errand, outcomes, leading, wiring)));
    return ends.every(Boolean);
  } catch (error) {
    const why = error instanceof CloudfenceError ? error.message : String(error);
    wiring.log(messageLine('failed', 'queue', why, null));
    return false;
  }
};

const buryFaults = async ({ faults, asides, body }: Delivery, { queues, log, measured }: Wiring): Promise<void> => {
  for (const { what, where } of asides) log(messageLine(decision.aside, where, what, null));
  if (faults.length === 0) return;
  for (const fault of faults) log({ ...faultLine(fault), ...measured([{ name: metric.notUnderstood, value: 1, unit: 'Count' }]) });
  await queues.dead({ body, reason: faults.map(inWords).join('; ').slice(0, LONGEST_REASON) });
};

const settleErrand = async (delivery: Delivery, errand: Errand, outcomes: readonly Outcome[], leading: ReadonlySet<Errand>, wiring: Wiring): Promise<boolean> => {
  const outcome = outcomes.find(({ machine, dryRun }) => machine === errand.machine && dryRun === isDry(errand, wiring.policy));
  if (!outcome) return true;
  if (outcome.outcome === 'failed' && outcome.retry) return false;
  // Another message of this batch speaks for the same machine.
  if (!leading.has(errand)) return true;
  if (outcome.outcome === 'failed') await wiring.queues.dead({ body: delivery.body, reason: `${outcome.reason.code}: ${outcome.reason.says}` });
  if (wantsAnotherLook(outcome)) await lookAgainLater(outcome, errand, wiring);
  return true;
};

/** A machine that is only over the cap is next when another fence is finished: the queue is sooner there than the sweep. */
const wantsAnotherLook = ({ outcome, reason }: Outcome): boolean => outcome === 'waiting' || reason.code === 'cap-reached';

const lookAgainLater = async (outcome: Outcome, errand: Delivery['errands'][number], { queues, log }: Wiring): Promise<void> => {
  if (errand.hops >= MOST_HOPS) {
    log({ ...messageLine(decision.handedToSweep, outcome.reason.code, `looked at ${errand.hops} times; the sweep goes on`, outcome.machine), dryRun: outcome.dryRun });
    return;
  }
  const seconds = delayFor(outcome, errand.hops);
  await queues.again(nextLook(outcome, errand), seconds);
  log({ ...messageLine(decision.lookAgain, outcome.reason.code, `in ${seconds} s`, outcome.machine), dryRun: outcome.dryRun });
};
