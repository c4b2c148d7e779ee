import { dimensionNames, metricNames } from '../../functions/metrics.ts';
import type { Resource } from './ensure.ts';
import { type Install, durationText, functionNames } from './install.ts';

/** Log-based metrics and alarms. A new metric of functions/metrics.ts is a row of `lines`. */

const MINUTE = 60_000;
const FIVE_MINUTES = 5 * MINUTE;

/** When an alarm fires: by the count within a period (ms), or by the highest value in it. */
type Threshold =
  | { readonly moreThan: number; readonly within: number }
  | { readonly fewerThan: number; readonly within: number };

interface AlarmText {
  /** The label of its policy, by which the next deployment finds it. */
  readonly name: string;
  /** Tells the person who gets the alarm what is wrong and what to check. */
  readonly says: string;
}

type LineAlarm = AlarmText &
  Threshold & { /** Counts only lines with this value of the label. */ readonly only?: string };

interface Line {
  /** The name of the metric without the prefix: `<prefix>-<name>`. */
  readonly name: string;
  /** The lines to count. By default, those with a field of this name above zero. */
  readonly condition?: string;
  /** The field by which the lines are counted separately. */
  readonly label?: string;
  /** True if the metric measures the field itself (ms). */
  readonly value?: true;
  readonly alarm?: LineAlarm;
}

const linesOfRuns: readonly Line[] = [
  {
    name: metricNames.outcomes,
    label: dimensionNames.outcome,
    alarm: {
      name: 'failures',
      says: 'Runs failed. The logs of on-event and sweep contain the cause.',
      only: 'failed',
      moreThan: 0,
      within: 15 * MINUTE,
    },
  },
  { name: metricNames.refusals, label: dimensionNames.reason },
  { name: metricNames.wouldFence },
  { name: metricNames.wouldRelease },
  { name: metricNames.notUnderstood },
  ...[metricNames.eventToProof, metricNames.proofToMark, metricNames.markToPodsGone, metricNames.podsGoneToFenced].map(
    (name): Line => ({
      name,
      condition: `jsonPayload.${name}>=0`,
      value: true,
    }),
  ),
];

type CountedAlarm = readonly [metric: string, name: string, says: string];

/** Alarms as soon as a run or a sweep within this time (ms) counts something. */
const countedWithin = (within: number, alarms: readonly CountedAlarm[]): readonly Line[] =>
  alarms.map(([metric, name, says]) => ({ name: metric, alarm: { name, says, moreThan: 0, within } }));

/** At least three sweeps, so that an alarm does not end between two of them. */
const troubleLines = (sweepEvery: number): readonly Line[] =>
  countedWithin(Math.max(FIVE_MINUTES, 3 * sweepEvery), [
    [
      metricNames.capReached,
      'cap-reached',
      'More machines are off than the cap allows Cloudfence to fence. If they are really off, override the cap ' +
        'with `cloudfence cap --override`.',
    ],
    [
      metricNames.clusterUnreachable,
      'cluster-unreachable',
      'A cluster was not reachable, so Cloudfence does not know the state of its Nodes. The logs of sweep and ' +
        'on-event contain its name and the cause.',
    ],
  ]);

/** One of three sweeps is sufficient, so that a slightly late sweep does not end the alarm. */
const overdueLines = (sweepEvery: number): readonly Line[] =>
  countedWithin(3 * sweepEvery, [
    [
      metricNames.fencedForADay,
      'fenced-for-a-day',
      'A Node has been fenced for more than a day, and takes no pods. The log of sweep contains its name. ' +
        'Start its machine, or delete the Node.',
    ],
    [
      metricNames.releaseOverdue,
      'release-overdue',
      'A machine came back more than ten minutes ago, but its Node is still fenced. ' +
        'The log of sweep contains its name, and `cloudfence status` says what the release waits for.',
    ],
    [
      metricNames.stoppingTooLong,
      'stopping-too-long',
      'A machine has been stopping for more than ten minutes, so its Node is not fenced. The log of sweep ' +
        'contains its name. Force the machine to stop.',
    ],
  ]);

const linesOfSweeps = ({ parameters: { sweepEvery } }: Install): readonly Line[] => {
  const sweeps = Math.max(1, Math.ceil(FIVE_MINUTES / sweepEvery));
  return [
    {
      name: metricNames.deadNodeUnfenced,
      alarm: {
        name: 'dead-node-unfenced',
        says:
          'A machine has been proven off for five minutes, but its Node is not fenced. The log of sweep contains ' +
          'its name and the cause.',
        moreThan: sweeps - 1,
        within: (sweeps + 1) * sweepEvery,
      },
    },
    ...troubleLines(sweepEvery),
    ...overdueLines(sweepEvery),
    {
      name: 'Sweeps',
      condition: 'jsonPayload.decision="swept"',
      alarm: {
        name: 'sweep-missing',
        says: 'No sweep has finished for three times its interval. Without the sweep, nothing finds a lost event.',
        fewerThan: 1,
        within: Math.max(10 * MINUTE, 3 * sweepEvery),
      },
    },
  ];
};

const lines = (install: Install): readonly Line[] => [...linesOfRuns, ...linesOfSweeps(install)];

/** An alarm on what Google itself measures about the install's resources. */
interface MetricAlarm extends AlarmText {
  readonly filter: string;
  readonly aligner: 'ALIGN_MAX' | 'ALIGN_SUM';
  readonly threshold: Threshold;
  readonly by?: string;
}

/** Returns a filter for what Pub/Sub measures about one subscription of the install. */
export const subscriptionMetricFilter = ({ prefix }: Install, what: string, name: string): string =>
  `metric.type="pubsub.googleapis.com/subscription/${what}" AND resource.type="pubsub_subscription" AND ` +
  `resource.labels.subscription_id="${prefix}-${name}"`;

export const ONLY_ERRORS = ' AND metric.labels.response_code_class="5xx"';

/** Returns a filter for what Cloud Run measures about the install's functions. */
export const ofFunctions = ({ prefix }: Install, what: string, only = ''): string =>
  `metric.type="run.googleapis.com/${what}" AND resource.type="cloud_run_revision"${only} AND ` +
  `resource.labels.service_name=one_of(${functionNames.map((name) => `"${prefix}-${name}"`).join(',')})`;

const metricAlarms = (install: Install): readonly MetricAlarm[] => [
  {
    name: 'dead-letters',
    says: 'Cloudfence could not process a message. Its attribute `reason`, or the log of on-event, contains the cause.',
    filter: subscriptionMetricFilter(install, 'num_undelivered_messages', 'dead-letters'),
    aligner: 'ALIGN_MAX',
    threshold: { moreThan: 0, within: MINUTE },
  },
  {
    name: 'oldest-message',
    says: 'An event has been waiting for too long. Check whether on-event is throttled or failing.',
    filter: subscriptionMetricFilter(install, 'oldest_unacked_message_age', 'events'),
    aligner: 'ALIGN_MAX',
    threshold: { moreThan: install.parameters.oldestMessage / 1_000, within: MINUTE },
  },
  {
    name: 'errors',
    says:
      'A function failed, or it returned an event to the queue because a service was not reachable. Its log ' +
      'contains the cause.',
    filter: ofFunctions(install, 'request_count', ONLY_ERRORS),
    aligner: 'ALIGN_SUM',
    threshold: { moreThan: 0, within: FIVE_MINUTES },
    by: 'resource.label.service_name',
  },
];

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/projects.metrics */
const logMetric = (
  { names, prefix }: Install,
  { name, condition = `jsonPayload.${name}>0`, label, value }: Line,
): Resource => {
  const body = {
    name: `${prefix}-${name}`,
    filter:
      'resource.type="cloud_run_revision" AND resource.labels.service_name=~"^' +
      `${prefix}-(on-event|sweep|replay|fence)$" AND ${condition}`,
    metricDescriptor: {
      metricKind: 'DELTA',
      valueType: value ? 'DISTRIBUTION' : 'INT64',
      unit: value ? 'ms' : '1',
      ...(label !== undefined && { labels: [{ key: label }] }),
    },
    ...(label !== undefined && { labelExtractors: { [label]: `EXTRACT(jsonPayload.${label})` } }),
    ...(value && { valueExtractor: `EXTRACT(jsonPayload.${name})` }),
  };
  const path = `v2/${names.metric(name)}`;
  return {
    what: `metric ${body.name}`,
    host: 'logging',
    path,
    wanted: body,
    create: { method: 'POST', path: `v2/${names.project}/metrics`, body },
    change: { method: 'PUT', path, body },
  };
};

/**
 * Returns what the functions log as metrics, with the names of functions/metrics.ts, which are the same on every
 * platform.
 */
export const logMetrics = (install: Install): readonly Resource[] =>
  lines(install).map((line) => logMetric(install, line));

/**
 * The fields of an alert policy that Cloudfence sets.
 * https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.alertPolicies
 */
export interface AlertPolicy {
  readonly displayName: string;
  readonly userLabels: { readonly cloudfence: string; readonly alarm: string };
  readonly [field: string]: unknown;
}

const policy = (install: Install, { name, says, filter, aligner, threshold, by }: MetricAlarm): AlertPolicy => {
  const [isFew, limit] = 'fewerThan' in threshold ? [true, threshold.fewerThan] : [false, threshold.moreThan];
  const conditionThreshold = {
    filter,
    comparison: isFew ? 'COMPARISON_LT' : 'COMPARISON_GT',
    // Google's answers leave out a zero.
    ...(limit !== 0 && { thresholdValue: limit }),
    duration: durationText(MINUTE),
    // The absence of log lines means that there is nothing to report, unless a line was expected.
    evaluationMissingData: isFew ? 'EVALUATION_MISSING_DATA_ACTIVE' : 'EVALUATION_MISSING_DATA_INACTIVE',
    aggregations: [
      {
        alignmentPeriod: durationText(threshold.within),
        perSeriesAligner: aligner,
        crossSeriesReducer: aligner === 'ALIGN_MAX' ? 'REDUCE_MAX' : 'REDUCE_SUM',
        ...(by !== undefined && { groupByFields: [by] }),
      },
    ],
  };
  return {
    displayName: `${install.prefix}-${name}`,
    userLabels: { cloudfence: install.prefix, alarm: name },
    documentation: { content: says, mimeType: 'text/markdown' },
    severity: 'ERROR',
    combiner: 'OR',
    conditions: [{ displayName: name, conditionThreshold }],
    ...(install.parameters.notificationChannels.length > 0 && {
      notificationChannels: install.parameters.notificationChannels,
    }),
  };
};

const ofLine = ({ prefix }: Install, { name, label, alarm }: Line): readonly MetricAlarm[] => {
  if (!alarm) return [];
  const chosen = label !== undefined && alarm.only !== undefined ? ` AND metric.labels.${label}="${alarm.only}"` : '';
  return [
    {
      name: alarm.name,
      says: alarm.says,
      filter:
        `metric.type="logging.googleapis.com/user/${prefix}-${name}" AND resource.type="cloud_run_revision"` + chosen,
      aligner: 'ALIGN_SUM',
      threshold: alarm,
    },
  ];
};

export const alertPolicies = (install: Install): readonly AlertPolicy[] =>
  [...metricAlarms(install), ...lines(install).flatMap((line) => ofLine(install, line))].map((one) =>
    policy(install, one),
  );
