import type { Outcome } from '../fencing/outcome.ts';
import type { Policy } from '../fencing/policy.ts';
import { react } from '../fencing/react.ts';
import { longWaits } from '../fencing/reason.ts';
import { messageLine, outcomeLine } from './decision-line.ts';
import { measuresOf } from './metrics.ts';
import { decision } from './names.ts';
import type { Errand } from './errand.ts';
import { within, type TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';

export interface Wish {
  readonly policy: Policy;
  /** The queue takes over long waits, for less than a process that is paid for sleeping; without one the run waits itself. */
  readonly queued: boolean;
  readonly vouched: string | null;
}

const ours = (errand: Errand, { foreign, log }: Wiring): boolean => {
  const why = foreign(errand);
  if (why !== null) log(messageLine(decision.foreign, 'foreign', why, errand.machine));
  return why === null;
};

/** Looks at each machine once, however many messages name it, and says what came of it. */
export const runErrands = async (errands: readonly Errand[], wish: Wish, wiring: Wiring, limit: TimeLimit): Promise<readonly Outcome[]> => {
  const own = errands.filter((errand) => ours(errand, wiring));
  const first = new Map(own.toReversed().map((errand) => [errand.machine, errand]));
  const records = new Map(own.flatMap(({ machine, record }) => (record ? [[machine, record] as const] : [])));
  const outcomes = await within(wiring, limit, (machine) => first.get(machine)?.event ?? null, ({ ports, deadline }) =>
    react(
      [...first.keys()],
      { policy: wish.policy, deadline, newRunId: wiring.newRunId, vouched: wish.vouched, records, ...(wish.queued && { handsOver: longWaits }) },
      ports,
    ),
  );
  for (const outcome of outcomes) tellOutcome(outcome, first.get(outcome.machine) ?? null, wiring);
  return outcomes;
};

const tellOutcome = (outcome: Outcome, errand: Errand | null, { log, measured }: Wiring): void =>
  log({ ...outcomeLine(outcome, errand?.event ?? null), ...measured(measuresOf(outcome, errand?.eventAt ?? null)) });
