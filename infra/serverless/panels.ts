import { metricNames } from '../../functions/metrics.ts';
import type { OutcomeKind } from '../../fencing/model/outcome.ts';

/** The panels of the dashboard on every cloud. Each cloud draws these panels, and adds its own measurements. */

/** A line in a panel: one metric, or the part of it with one outcome. */
export interface Series {
  readonly metric: string;
  readonly outcome?: OutcomeKind;
  /** How the values within a period are combined. */
  readonly stat: 'sum' | 'maximum' | 'p99';
}

export interface Panel {
  readonly title: string;
  readonly stacked: boolean;
  readonly series: readonly Series[];
}

const outcomes: readonly OutcomeKind[] = ['fenced', 'released', 'waiting', 'refused', 'ignored', 'failed'];

const sumsOf = (...names: readonly string[]): readonly Series[] => names.map((metric) => ({ metric, stat: 'sum' }));
const maximaOf = (...names: readonly string[]): readonly Series[] =>
  names.map((metric) => ({ metric, stat: 'maximum' }));

/** Panels of Cloudfence's own metrics. `Refusals` is left out, because its reasons are not a fixed list. */
export const panels: readonly Panel[] = [
  {
    title: 'Ends of runs',
    stacked: true,
    series: [
      ...outcomes.map((outcome): Series => ({ metric: metricNames.outcomes, outcome, stat: 'sum' })),
      ...sumsOf(metricNames.wouldFence, metricNames.wouldRelease),
    ],
  },
  {
    title: 'Waiting for a person',
    stacked: false,
    series: [
      ...maximaOf(
        metricNames.deadNodeUnfenced,
        metricNames.fencedForADay,
        metricNames.releaseOverdue,
        metricNames.stoppingTooLong,
      ),
      ...sumsOf(metricNames.capReached, metricNames.clusterUnreachable, metricNames.notUnderstood),
    ],
  },
  {
    title: 'How long a fence took (ms)',
    stacked: true,
    series: [
      metricNames.eventToProof,
      metricNames.proofToMark,
      metricNames.markToPodsGone,
      metricNames.podsGoneToFenced,
    ].map((metric) => ({ metric, stat: 'p99' })),
  },
];

/** Titles of the panels that show what the cloud itself measures. */
export const cloudPanels = { queues: 'Queues', functions: 'Functions' } as const;
