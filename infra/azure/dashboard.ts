import { dimensionNames } from '../../functions/metrics.ts';
import { cloudPanels, type Panel, panels, type Series } from '../serverless/panels.ts';
import type { TemplateResource } from './arm.ts';
import { type Install, resourceTags } from './install.ts';

/**
 * The dashboard as a workbook of Azure Monitor. Its panels query the functions' lines in AppTraces.
 * https://learn.microsoft.com/azure/azure-monitor/visualize/workbooks-automate
 */

export const WORKBOOK_API_VERSION = '2023-06-01';

/** Numbers that the format of a workbook gives to what people choose in the portal. */
const ITEM = { query: 3, metric: 10 } as const;
const LOGS = 0;
const AGGREGATION = { maximum: 3 } as const;
const LINE_CHART = 2;
const DAY_MS = 24 * 3_600_000;

const summaryOf = ({ metric, outcome, stat }: Series): string => {
  if (outcome !== undefined) return `${outcome}=countif(line.${dimensionNames.outcome} == "${outcome}")`;
  if (stat === 'p99') return `${metric}=percentile(todouble(line.${metric}), 99)`;
  return `${metric}=${stat === 'sum' ? 'sum' : 'max'}(toint(line.${metric}))`;
};

const queryOf = ({ series }: Panel): string =>
  [
    'AppTraces',
    'extend line = parse_json(Message)',
    `summarize ${series.map(summaryOf).join(', ')} by bin(TimeGenerated, 5m)`,
  ].join(' | ');

const functionsQuery = [
  'AppRequests',
  'summarize Failed=countif(Success == false), Duration_p99_ms=percentile(DurationMs, 99) by Name, ' +
    'bin(TimeGenerated, 5m)',
].join(' | ');

const queryItem = (title: string, query: string, visualization: string): object => ({
  type: ITEM.query,
  name: title,
  content: {
    version: 'KqlItem/1.0',
    query,
    size: 0,
    title,
    timeContext: { durationMs: DAY_MS },
    queryType: LOGS,
    resourceType: 'microsoft.operationalinsights/workspaces',
    visualization,
  },
  customWidth: '50',
});

const queuesItem = ({ names }: Install): object => ({
  type: ITEM.metric,
  name: cloudPanels.queues,
  content: {
    chartId: 'queues',
    version: 'MetricsItem/2.0',
    size: 0,
    title: cloudPanels.queues,
    chartType: LINE_CHART,
    resourceType: 'microsoft.servicebus/namespaces',
    metricScope: 0,
    resourceIds: [names.busId],
    timeContext: { durationMs: DAY_MS },
    metrics: ['ActiveMessages', 'DeadletteredMessages'].map((metric) => ({
      namespace: 'microsoft.servicebus/namespaces',
      metric: `microsoft.servicebus/namespaces--${metric}`,
      aggregation: AGGREGATION.maximum,
      splitBy: 'EntityName',
    })),
  },
  customWidth: '50',
});

const contentOf = (install: Install): object => ({
  version: 'Notebook/1.0',
  items: [
    ...panels.map((panel) => queryItem(panel.title, queryOf(panel), panel.stacked ? 'areachart' : 'linechart')),
    queuesItem(install),
    queryItem(cloudPanels.functions, functionsQuery, 'linechart'),
  ],
  fallbackResourceIds: [install.names.workspaceId],
});

export const dashboard = (install: Install): TemplateResource => ({
  type: 'Microsoft.Insights/workbooks',
  apiVersion: WORKBOOK_API_VERSION,
  name: install.names.workbook,
  location: install.parameters.location,
  tags: resourceTags(install),
  kind: 'shared',
  dependsOn: [install.names.workspaceId, install.names.busId],
  properties: {
    displayName: install.prefix,
    category: 'workbook',
    sourceId: install.names.workspaceId,
    serializedData: JSON.stringify(contentOf(install)),
  },
});
