import type { Outcome, StepReport } from '../fencing/model/outcome.ts';

/** Every name under which logs and metrics speak: dashboards and alarms are written against these. */

export const metric = {
  /** One for each end of a run, by outcome. */
  outcomes: 'Outcomes',
  /** One for each refusal, by the code of its reason. */
  refusals: 'Refusals',
  /** One for each refusal by the cap: many machines vanished at once. A dry run does not count. */
  capReached: 'CapReached',
  /**
   * One for each boot of a machine that a dry run, or shadow mode, would have fenced; the same for what it would have
   * released.
   */
  wouldFence: 'WouldFence',
  wouldRelease: 'WouldRelease',
  /** One for each time that a cluster could not be asked, by a sweep or about an event. */
  clusterUnreachable: 'ClusterUnreachable',
  /** Machines that are proven off and whose fence is not finished, as a sweep found them. */
  deadNodeUnfenced: 'DeadNodeUnfenced',
  /** Messages that nobody could read. */
  notUnderstood: 'NotUnderstood',
  /** ms from the event to the first read that said off, and then from step to step. */
  eventToProof: 'EventToProof',
  proofToMark: 'ProofToMark',
  markToPodsGone: 'MarkToPodsGone',
  podsGoneToFenced: 'PodsGoneToFenced',
} as const;

export const dimension = { outcome: 'Outcome', reason: 'Reason' } as const;

/** Decisions of a log line that are no outcome of a run. */
export const decision = {
  step: 'step',
  notUnderstood: 'not-understood',
  aside: 'aside',
  lookAgain: 'look-again',
  handedToSweep: 'handed-to-sweep',
  foreign: 'foreign',
} as const;

/** Logged as fields of a line, which each platform makes a metric of in its own way. */
export interface Measured {
  readonly name: string;
  readonly value: number;
  readonly unit: 'Count' | 'Milliseconds';
  readonly by?: Readonly<Record<string, string>>;
}

/** The measures and what they are measured by, as fields under their own names. */
export const metricFields = (measured: readonly Measured[]): Readonly<Record<string, string | number>> => ({
  ...Object.assign({}, ...measured.map(({ by }) => by ?? {})),
  ...Object.fromEntries(measured.map(({ name, value }) => [name, value])),
});

const done = (steps: readonly StepReport[], ...kinds: readonly StepReport['step'][]): readonly StepReport[] =>
  steps.filter(({ step, result }) => kinds.includes(step) && (result === 'done' || result === 'already'));

const endOf = (step: StepReport | undefined): number | null => (step ? step.at + step.ms : null);

const span = (name: string, from: number | null, to: number | null): readonly Measured[] =>
  from === null || to === null || to < from ? [] : [{ name, value: to - from, unit: 'Milliseconds' }];

/** How long each phase of a finished fence took. `eventAt` is when the event says that it happened, to the second. */
const phases = ({ outcome, dryRun, provenAt, steps }: Outcome, eventAt: number | null): readonly Measured[] => {
  if (outcome !== 'fenced' || dryRun) return [];
  const marked = endOf(done(steps, 'mark')[0]);
  const podsGone = endOf(done(steps, 'delete-pod').at(-1));
  const finished = endOf(done(steps, 'park', 'delete-node').at(-1));
  return [
    ...span(metric.eventToProof, eventAt, provenAt),
    ...span(metric.proofToMark, provenAt, marked),
    ...span(metric.markToPodsGone, marked, podsGone),
    ...span(metric.podsGoneToFenced, podsGone, finished),
  ];
};

const one = (name: string): Measured => ({ name, value: 1, unit: 'Count' });

/**
 * A dry run is counted apart: it never counts as a fence or a release, not even of a machine that is fenced already.
 */
const endsOf = ({ outcome, dryRun }: Outcome): readonly Measured[] => {
  if (dryRun && (outcome === 'fenced' || outcome === 'released')) return [];
  const end: Measured = { ...one(metric.outcomes), by: { [dimension.outcome]: outcome } };
  if (outcome === 'would-fence') return [end, one(metric.wouldFence)];
  return outcome === 'would-release' ? [end, one(metric.wouldRelease)] : [end];
};

export const unreachableMeasures: readonly Measured[] = [one(metric.clusterUnreachable)];

export const measuresOf = (outcome: Outcome, eventAt: number | null): readonly Measured[] => [
  ...endsOf(outcome),
  ...(outcome.outcome === 'refused'
    ? [{ name: metric.refusals, value: 1, unit: 'Count' as const, by: { [dimension.reason]: outcome.reason.code } }]
    : []),
  ...(outcome.reason.code === 'cap-reached' && !outcome.dryRun
    ? [{ name: metric.capReached, value: 1, unit: 'Count' as const }]
    : []),
  ...phases(outcome, eventAt),
];

/** A machine is off, and its fence is not at an end: what an alarm waits for. */
export const isDeadAndUnfenced = ({ outcome, provenAt }: Outcome): boolean =>
  provenAt !== null && (outcome === 'refused' || outcome === 'waiting' || outcome === 'failed');
