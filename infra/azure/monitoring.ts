import { metricNames } from '../../functions/metrics.ts';
import type { TemplateResource } from './arm.ts';
import { dashboard } from './dashboard.ts';
import { resourceTags, type Install, DEAD_LETTER_QUEUE, EVENTS_QUEUE } from './install.ts';
import { INSIGHTS_API_VERSION } from './hosting.ts';

/** Logs and alerts. Everything that the functions log is a line of JSON in AppTraces. */

export const WORKSPACE_API_VERSION = '2021-06-01';
const METRIC_ALERT_API = '2018-03-01';
const LOG_ALERT_API = '2023-12-01';

const MINUTE = 60_000;
const FIVE_MINUTES = 5 * MINUTE;

const logs = (install: Install): readonly TemplateResource[] => {
  const { names, parameters, prefix } = install;
  const [location, tags] = [parameters.location, resourceTags(install)];
  return [
    {
      type: 'Microsoft.OperationalInsights/workspaces',
      apiVersion: WORKSPACE_API_VERSION,
      name: prefix,
      location,
      tags,
      properties: { sku: { name: 'PerGB2018' }, retentionInDays: parameters.logDays },
    },
    {
      type: 'Microsoft.Insights/components',
      apiVersion: INSIGHTS_API_VERSION,
      name: prefix,
      location,
      tags,
      kind: 'web',
      dependsOn: [names.workspaceId],
      properties: { Application_Type: 'web', WorkspaceResourceId: names.workspaceId, DisableLocalAuth: true },
    },
  ];
};

interface MetricAlert {
  readonly name: string;
  readonly says: string;
  readonly on: string;
  readonly namespace: string;
  readonly metricName: string;
  readonly aggregation: 'Average' | 'Maximum' | 'Minimum' | 'Total';
  readonly window: 'PT5M' | 'PT15M';
  readonly queue?: string;
}

const queueAlerts = ({ names }: Install): readonly MetricAlert[] => {
  const queues = { on: names.busId, namespace: 'Microsoft.ServiceBus/namespaces' } as const;
  return [
    {
      ...queues,
      name: 'dead-letters',
      says: 'Cloudfence could not process a message. Its property `reason` contains the cause',
      metricName: 'ActiveMessages',
      aggregation: 'Maximum',
      window: 'PT5M',
      queue: DEAD_LETTER_QUEUE,
    },
    {
      ...queues,
      name: 'given-up',
      says: 'Service Bus moved messages of the events queue to its dead-letter queue',
      metricName: 'DeadletteredMessages',
      aggregation: 'Maximum',
      window: 'PT5M',
      queue: EVENTS_QUEUE,
    },
    {
      ...queues,
      name: 'backlog',
      says: 'Events have been waiting in the queue for fifteen minutes',
      metricName: 'ActiveMessages',
      aggregation: 'Minimum',
      window: 'PT15M',
      queue: EVENTS_QUEUE,
    },
  ];
};

const metricAlerts = (install: Install): readonly MetricAlert[] => [
  ...queueAlerts(install),
  {
    name: 'dropped-events',
    says: 'Event Grid could not deliver events. The sweep finds the machines that they named',
    on: install.parameters.systemTopic ?? install.names.topicId,
    namespace: 'Microsoft.EventGrid/systemTopics',
    metricName: 'DroppedEventCount',
    aggregation: 'Total',
    window: 'PT5M',
  },
];

const metricAlertRule = (
  install: Install,
  { name, says, on, namespace, metricName, aggregation, window, queue }: MetricAlert,
): TemplateResource => {
  const { actionGroup } = install.parameters;
  const criterion = {
    name,
    criterionType: 'StaticThresholdCriterion',
    metricNamespace: namespace,
    metricName,
    timeAggregation: aggregation,
    operator: 'GreaterThan',
    threshold: 0,
    ...(queue !== undefined && { dimensions: [{ name: 'EntityName', operator: 'Include', values: [queue] }] }),
  };
  return {
    type: 'Microsoft.Insights/metricAlerts',
    apiVersion: METRIC_ALERT_API,
    name: `${install.prefix}-${name}`,
    location: 'global',
    tags: resourceTags(install),
    dependsOn: on.toLowerCase().startsWith(install.names.groupId.toLowerCase()) ? [on] : [],
    properties: {
      description: says,
      severity: 1,
      enabled: true,
      autoMitigate: true,
      scopes: [on],
      evaluationFrequency: 'PT5M',
      windowSize: window,
      criteria: { 'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria', allOf: [criterion] },
      actions: actionGroup === null ? [] : [{ actionGroupId: actionGroup }],
    },
  };
};

interface LogAlert {
  readonly name: string;
  readonly says: string;
  readonly query: string;
  readonly operator: 'GreaterThan' | 'LessThan';
  readonly threshold: number;
  readonly window: 'PT5M' | 'PT15M' | 'PT30M' | 'PT1H' | 'PT3H';
  /** How often it is evaluated: every five minutes by default. */
  readonly every?: 'PT15M' | 'PT1H';
}

const logLines = 'AppTraces | extend line = parse_json(Message)';
const sweepLines = `${logLines} | where tostring(line.decision) == "swept"`;

/**
 * Returns how many consecutive sweeps span that time, from the first to the last. One is enough if sweeps are further
 * apart than that.
 */
const sweepsFor = (ms: number, every: number): number => (every > ms ? 1 : Math.ceil(ms / every) + 1);

/** Returns the window in which a sweep is looked for, in ISO 8601, and how often. A long window costs less. */
const windowOfSweeps = (sweepEvery: number, every?: 'PT15M'): Pick<LogAlert, 'window' | 'every'> => {
  if (sweepEvery > FIVE_MINUTES) return { window: 'PT3H', every: 'PT1H' };
  return { window: 'PT15M', ...(every && { every }) };
};

/** The windows that Azure allows, up to the longest interval of sweeps. */
const windows: readonly (readonly [ms: number, window: LogAlert['window']])[] = [
  [FIVE_MINUTES, 'PT5M'],
  [15 * MINUTE, 'PT15M'],
  [30 * MINUTE, 'PT30M'],
  [60 * MINUTE, 'PT1H'],
];

/** Returns the shortest window with at least two sweeps, so that an alert does not end between two of them. */
const windowOfTwoSweeps = (sweepEvery: number): LogAlert['window'] =>
  windows.find(([ms]) => ms >= 2 * sweepEvery)?.[1] ?? 'PT3H';

/** Fires if a line counts something. */
const counted = (lines: string, metric: string) =>
  ({ query: `${lines} | where toint(line.${metric}) > 0`, operator: 'GreaterThan', threshold: 0 }) as const;

/** Returns a row if each of the last sweeps counted something. */
const countedByEach = (metric: string, sweeps: number): string =>
  `${sweepLines} | top ${sweeps} by TimeGenerated | summarize sweeps = count(), counted = ` +
  `countif(toint(line.${metric}) > 0) | where sweeps == ${sweeps} and counted == ${sweeps}`;

/**
 * Alerts on sweeps: a machine that every sweep within five minutes found dead and unfenced, and no sweep at all for
 * some time.
 */
const sweepLogAlerts = ({ parameters: { sweepEvery } }: Install): readonly LogAlert[] => [
  {
    name: 'dead-node-unfenced',
    says: 'A machine has been proven off for five minutes, but its Node is not fenced',
    query: countedByEach(metricNames.deadNodeUnfenced, sweepsFor(FIVE_MINUTES, sweepEvery)),
    operator: 'GreaterThan',
    threshold: 0,
    ...windowOfSweeps(sweepEvery),
  },
  {
    name: 'sweep-missing',
    says: 'The sweep did not run. Without it, nothing finds a lost event',
    query: sweepLines,
    operator: 'LessThan',
    threshold: 1,
    ...windowOfSweeps(sweepEvery),
  },
];

/** What lasts too long is checked four times an hour, which costs less. */
const overdueLogAlerts = ({ parameters: { sweepEvery } }: Install): readonly LogAlert[] => {
  const whileCounted = (metric: string) => ({
    ...counted(sweepLines, metric),
    ...windowOfSweeps(sweepEvery, 'PT15M'),
  });
  return [
    {
      name: 'fenced-for-a-day',
      says: 'A Node has been fenced for more than a day, and takes no pods. Start its machine, or delete the Node',
      ...whileCounted(metricNames.fencedForADay),
    },
    {
      name: 'release-overdue',
      says:
        'A machine came back more than ten minutes ago, but its Node is still fenced. ' +
        '`cloudfence status` says what the release waits for',
      ...whileCounted(metricNames.releaseOverdue),
    },
    {
      name: 'stopping-too-long',
      says: 'A machine has been stopping for more than ten minutes, so its Node is not fenced. Force it to stop',
      ...whileCounted(metricNames.stoppingTooLong),
    },
  ];
};

const troubleLogAlerts = ({ parameters: { sweepEvery } }: Install): readonly LogAlert[] => [
  {
    name: 'cap-reached',
    says:
      'More machines are off than the cap allows Cloudfence to fence. If they are really off, override the cap ' +
      'with `cloudfence cap --override`',
    ...counted(logLines, metricNames.capReached),
    window: windowOfTwoSweeps(sweepEvery),
  },
  {
    name: 'cluster-unreachable',
    says: 'The sweep could not reach a cluster, so it does not know the state of its Nodes',
    ...counted(logLines, metricNames.clusterUnreachable),
    window: windowOfTwoSweeps(sweepEvery),
  },
];

const runLogAlerts: readonly LogAlert[] = [
  // One table per rule, because a rule may query only one. Azure rejects a union of two tables if either of them has no
  // line yet.
  {
    name: 'failed-invocations',
    says: 'An invocation of a function failed',
    query: 'AppRequests | where Success == false',
    operator: 'GreaterThan',
    threshold: 0,
    window: 'PT15M',
  },
  {
    name: 'failures',
    says: 'A run failed, for example because a cluster or the cloud was not reachable',
    query: `${logLines} | where tostring(line.decision) == "failed"`,
    operator: 'GreaterThan',
    threshold: 0,
    window: 'PT15M',
  },
];

const logAlerts = (install: Install): readonly LogAlert[] => [
  ...sweepLogAlerts(install),
  ...overdueLogAlerts(install),
  ...troubleLogAlerts(install),
  ...runLogAlerts,
];

const logAlertRule = (install: Install, alert: LogAlert): TemplateResource => {
  const { names, parameters, prefix } = install;
  const { name, says, query, operator, threshold, window, every = 'PT5M' } = alert;
  return {
    type: 'Microsoft.Insights/scheduledQueryRules',
    apiVersion: LOG_ALERT_API,
    name: `${prefix}-${name}`,
    location: parameters.location,
    tags: resourceTags(install),
    kind: 'LogAlert',
    dependsOn: [names.workspaceId, names.insightsId],
    properties: {
      description: says,
      severity: 1,
      enabled: true,
      autoMitigate: true,
      scopes: [names.workspaceId],
      // A table exists only after its first line.
      skipQueryValidation: true,
      evaluationFrequency: every,
      windowSize: window,
      criteria: {
        allOf: [
          {
            query,
            timeAggregation: 'Count',
            operator,
            threshold,
            failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 },
          },
        ],
      },
      actions: { actionGroups: parameters.actionGroup === null ? [] : [parameters.actionGroup] },
    },
  };
};

export const monitoringResources = (install: Install): readonly TemplateResource[] => [
  ...logs(install),
  ...metricAlerts(install).map((one) => metricAlertRule(install, one)),
  ...logAlerts(install).map((one) => logAlertRule(install, one)),
  dashboard(install),
];
