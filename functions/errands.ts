import type { Known } from '../fencing/known.ts';
import type { MachineId } from '../fencing/machine.ts';
import type { Outcome } from '../fencing/outcome.ts';
import type { Policy } from '../fencing/policy.ts';
import { react } from '../fencing/react.ts';
import { longWaits } from '../fencing/reason.ts';
import { messageLine, outcomeLine } from './decision-line.ts';
import { measuresOf, unreachableMeasures } from './metrics.ts';
import { decision } from './names.ts';
import { isDry, leadingErrands, type Errand } from './errand.ts';
import { within, type Invocation, type TimeLimit } from './invocation.ts';
import type { Wiring } from './wiring.ts';
import { isNews } from './would.ts';

export interface Wish {
  readonly policy: Policy;
  /** The queue takes over long waits, for less than a process that is paid for sleeping; without one the run waits itself. */
  readonly queued: boolean;
  readonly vouched: string | null;
}

/** So many errands that are not ours are told of one by one. */
const MOST_TOLD = 20;

/** Those that are ours, and a word about the others. */
const oursAmong = (errands: readonly Errand[], { foreign, log }: Wiring): readonly Errand[] => {
  const judged = errands.map((errand) => ({ errand, why: foreign(errand) }));
  const others = judged.flatMap(({ errand, why }) => (why === null ? [] : [{ machine: errand.machine, why }]));
  for (const { machine, why } of others.slice(0, MOST_TOLD)) log(messageLine(decision.foreign, 'foreign', why, machine));
  const left = others.length - MOST_TOLD;
  if (left > 0) log(messageLine(decision.foreign, 'foreign', `${left} more are none of ours`, null));
  return judged.flatMap(({ errand, why }) => (why === null ? [errand] : []));
};

/** Looks at each machine once, however many messages name it, and says what came of it; once more where a message wants a dry run of what others want in earnest. */
export const runErrands = async (errands: readonly Errand[], wish: Wish, wiring: Wiring, limit: TimeLimit): Promise<readonly Outcome[]> => {
  const leading = [...leadingErrands(oursAmong(errands, wiring), wish.policy)];
  const errandFor = (machine: MachineId, dryRun: boolean): Errand | null => leading.find((errand) => errand.machine === machine && isDry(errand, wish.policy) === dryRun) ?? null;
  const eventOf = ({ request, policy }: Pick<Known, 'request' | 'policy'>) => errandFor(request.machine, policy.dryRun)?.event ?? null;
  const outcomes = await within(wiring, limit, eventOf, async (invocation) => {
    const [dry, inEarnest] = await Promise.all([true, false].map(async (dryRun) => lookAt(leading.filter((errand) => isDry(errand, wish.policy) === dryRun), { ...wish, policy: { ...wish.policy, dryRun } }, wiring, invocation)));
    for (const [cluster, why] of invocation.unreachable) tellUnreachable(cluster, why, wiring);
    return [...(inEarnest ?? []), ...(dry ?? [])];
  });
  for (const outcome of outcomes) tellOutcome(outcome, errandFor(outcome.machine, outcome.dryRun), wiring);
  return outcomes;
};

const lookAt = (errands: readonly Errand[], { policy, vouched, queued }: Wish, { newRunId }: Wiring, { ports, deadline }: Invocation): Promise<readonly Outcome[]> => {
  return react(errands.map(({ machine }) => machine), { policy, deadline, newRunId, vouched, ...(queued && { handsOver: longWaits }) }, ports);
};

const tellOutcome = (outcome: Outcome, errand: Errand | null, wiring: Wiring): void => {
  const measures = isNews(outcome, wiring) ? measuresOf(outcome, errand?.eventAt ?? null) : [];
  wiring.log({ ...outcomeLine(outcome, errand?.event ?? null), ...(measures.length > 0 && wiring.measured(measures)) });
};

/** For whoever is to hear of it: nobody knows what goes on in a cluster that does not answer. */
export const tellUnreachable = (cluster: string, why: string, { log, measured }: Wiring): void =>
  log({ ...messageLine('failed', 'cluster-unreachable', why, null), cluster, ...measured(unreachableMeasures) });
