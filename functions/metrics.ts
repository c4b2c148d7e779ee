import { isSimulated, type Outcome, type StepReport } from '../fencing/model/outcome.ts';
import type { OverdueFences } from '../fencing/sweep/sweep.ts';

/** All names in logs and metrics. Dashboards and alarms depend on them. */

export const metricNames = {
  /** Counts the outcomes of runs, by kind. */
  outcomes: 'Outcomes',
  /** Counts refusals, by the code of their reason. */
  refusals: 'Refusals',
  /** Counts refusals by the cap, which mean that many machines failed at the same time. Dry runs are not counted. */
  capReached: 'CapReached',
  /**
   * Counts the boots of machines that a dry run or shadow mode would have fenced. `wouldRelease` counts releases in the
   * same way.
   */
  wouldFence: 'WouldFence',
  wouldRelease: 'WouldRelease',
  /** Counts how often a cluster did not answer a sweep or a run for an event. */
  clusterUnreachable: 'ClusterUnreachable',
  /** The number of machines that are proven off and whose fence is not finished, according to a sweep. */
  deadNodeUnfenced: 'DeadNodeUnfenced',
  /** The number of Nodes that have been fenced for more than a day, according to a sweep. Not logged if it is zero. */
  fencedForADay: 'FencedForADay',
  /**
   * The number of Nodes that are still fenced although their machine came back more than ten minutes ago, according to
   * a sweep. Not logged if it is zero.
   */
  releaseOverdue: 'ReleaseOverdue',
  /**
   * The number of machines that have not finished their stop within ten minutes, according to a sweep. Not logged if it
   * is zero.
   */
  stoppingTooLong: 'StoppingTooLong',
  /** Messages that could not be read. */
  notUnderstood: 'NotUnderstood',
  /** Duration from the event to the first read that said the machine is off, and then from step to step (ms). */
  eventToProof: 'EventToProof',
  proofToMark: 'ProofToMark',
  markToPodsGone: 'MarkToPodsGone',
  podsGoneToFenced: 'PodsGoneToFenced',
} as const;

export const dimensionNames = { outcome: 'Outcome', reason: 'Reason' } as const;

/** Values of `decision` in a log line that are not outcomes of a run. */
export const logDecision = {
  step: 'step',
  notUnderstood: 'not-understood',
  ignored: 'aside',
  skipped: 'skipped',
  lookAgain: 'look-again',
  handedToSweep: 'handed-to-sweep',
  foreign: 'foreign',
  testEvent: 'test-event',
} as const;

/** A measure. It is logged as fields of a line, and each platform converts those into a metric in its own way. */
export interface Measurement {
  readonly name: string;
  readonly value: number;
  readonly unit: 'Count' | 'Milliseconds';
  readonly by?: Readonly<Record<string, string>>;
}

/** Returns the measures and their dimensions as fields under their own names. */
export const metricFields = (measured: readonly Measurement[]): Readonly<Record<string, string | number>> => ({
  ...Object.assign({}, ...measured.map(({ by }) => by ?? {})),
  ...Object.fromEntries(measured.map(({ name, value }) => [name, value])),
});

const stepsDone = (steps: readonly StepReport[], ...kinds: readonly StepReport['step'][]): readonly StepReport[] =>
  steps.filter(({ step, result }) => kinds.includes(step) && (result === 'done' || result === 'already'));

const endOf = (step: StepReport | undefined): number | null => (step ? step.at + step.ms : null);

const duration = (name: string, from: number | null, to: number | null): readonly Measurement[] =>
  from === null || to === null || to < from ? [] : [{ name, value: to - from, unit: 'Milliseconds' }];

/**
 * Returns the duration of each phase of a finished fence. `eventAt` is when the event says that it happened, to the
 * second.
 */
const phases = (ended: Outcome, eventAt: number | null): readonly Measurement[] => {
  const { outcome, provenAt, steps } = ended;
  if (outcome !== 'fenced' || isSimulated(ended)) return [];
  const marked = endOf(stepsDone(steps, 'mark')[0]);
  const podsGone = endOf(stepsDone(steps, 'delete-pod').at(-1));
  const finished = endOf(stepsDone(steps, 'park', 'delete-node').at(-1));
  return [
    ...duration(metricNames.eventToProof, eventAt, provenAt),
    ...duration(metricNames.proofToMark, provenAt, marked),
    ...duration(metricNames.markToPodsGone, marked, podsGone),
    ...duration(metricNames.podsGoneToFenced, podsGone, finished),
  ];
};

const countOfOne = (name: string): Measurement => ({ name, value: 1, unit: 'Count' });

/**
 * Counts the end of a run. A dry run is counted separately and never counts as a fence or a release, even if the
 * machine is already fenced.
 */
const endsOf = (ended: Outcome): readonly Measurement[] => {
  const { outcome } = ended;
  if (isSimulated(ended) && (outcome === 'fenced' || outcome === 'released')) return [];
  const end: Measurement = { ...countOfOne(metricNames.outcomes), by: { [dimensionNames.outcome]: outcome } };
  if (outcome === 'would-fence') return [end, countOfOne(metricNames.wouldFence)];
  return outcome === 'would-release' ? [end, countOfOne(metricNames.wouldRelease)] : [end];
};

export const unreachableMeasurements: readonly Measurement[] = [countOfOne(metricNames.clusterUnreachable)];

export const measurementsOf = (outcome: Outcome, eventAt: number | null): readonly Measurement[] => [
  ...endsOf(outcome),
  ...(outcome.outcome === 'refused'
    ? [
        {
          name: metricNames.refusals,
          value: 1,
          unit: 'Count' as const,
          by: { [dimensionNames.reason]: outcome.reason.code },
        },
      ]
    : []),
  ...(outcome.reason.code === 'cap-reached' && !isSimulated(outcome)
    ? [{ name: metricNames.capReached, value: 1, unit: 'Count' as const }]
    : []),
  ...phases(outcome, eventAt),
];

/** Measures what lasts too long, according to a sweep: fences, releases, and stops of machines. */
export const overdueMeasurements = (
  { fenced, returned }: OverdueFences,
  outcomes: readonly Outcome[],
): readonly Measurement[] =>
  [
    { name: metricNames.fencedForADay, value: fenced.length, unit: 'Count' as const },
    { name: metricNames.releaseOverdue, value: returned.length, unit: 'Count' as const },
    { name: metricNames.stoppingTooLong, value: outcomes.filter(isStoppingTooLong).length, unit: 'Count' as const },
  ].filter(({ value }) => value > 0);

/** Returns whether the machine hangs while it stops. It is not proven off, so its Node cannot be fenced. */
export const isStoppingTooLong = ({ reason: { code } }: Outcome): boolean => code === 'stopping-too-long';

/** Returns whether a machine is off and its fence is not finished. An alarm watches this number. */
export const isOffAndUnfenced = ({ outcome, provenAt }: Outcome): boolean =>
  provenAt !== null && (outcome === 'refused' || outcome === 'waiting' || outcome === 'failed');
