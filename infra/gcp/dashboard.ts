import { z } from 'zod';
import { nonEmptyText } from '../../fencing/model/foreign-text.ts';
import { dimensionNames } from '../../functions/metrics.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import { cloudPanels, type Panel, panels, type Series } from '../serverless/panels.ts';
import type { Api } from './api.ts';
import { ensureAbsent, hasAllWanted } from './ensure.ts';
import { durationText, type Install } from './install.ts';
import { ofFunctions, subscriptionMetricFilter, ONLY_ERRORS } from './monitoring.ts';

/**
 * The dashboard in Cloud Monitoring. Google chooses its name, so Cloudfence finds it by its label.
 * https://cloud.google.com/monitoring/api/ref_v3/rest/v1/projects.dashboards
 */

const existingDashboard = z.looseObject({
  name: nonEmptyText,
  etag: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
});
const page = z.looseObject({
  dashboards: z.array(existingDashboard).default([]),
  nextPageToken: z.string().default(''),
});

type ExistingDashboard = z.infer<typeof existingDashboard>;

const PERIOD = durationText(5 * 60_000);
const COLUMNS = 48;
const WIDTH = 24;
const HEIGHT = 16;

type Aligner = 'ALIGN_SUM' | 'ALIGN_MAX' | 'ALIGN_PERCENTILE_99';

const dataSet = (filter: string, aligner: Aligner, legendTemplate: string, stacked = false): object => ({
  plotType: stacked ? 'STACKED_AREA' : 'LINE',
  legendTemplate,
  timeSeriesQuery: {
    timeSeriesFilter: {
      filter,
      aggregation: {
        alignmentPeriod: PERIOD,
        perSeriesAligner: aligner,
        crossSeriesReducer: aligner === 'ALIGN_SUM' ? 'REDUCE_SUM' : 'REDUCE_MAX',
      },
    },
  },
});

/** A log-based metric counts the lines with a value, so its sum is also used for the highest value. */
const ofSeries =
  ({ prefix }: Install, { stacked }: Panel) =>
  ({ metric, outcome, stat }: Series): object =>
    dataSet(
      `metric.type="logging.googleapis.com/user/${prefix}-${metric}" AND resource.type="cloud_run_revision"` +
        (outcome === undefined ? '' : ` AND metric.labels.${dimensionNames.outcome}="${outcome}"`),
      stat === 'p99' ? 'ALIGN_PERCENTILE_99' : 'ALIGN_SUM',
      outcome ?? metric,
      stacked,
    );

const queues = (install: Install): readonly object[] => [
  dataSet(subscriptionMetricFilter(install, 'oldest_unacked_message_age', 'events'), 'ALIGN_MAX', 'oldest event (s)'),
  dataSet(subscriptionMetricFilter(install, 'num_undelivered_messages', 'events'), 'ALIGN_MAX', 'events'),
  dataSet(subscriptionMetricFilter(install, 'num_undelivered_messages', 'dead-letters'), 'ALIGN_MAX', 'dead letters'),
];

const functions = (install: Install): readonly object[] => [
  dataSet(ofFunctions(install, 'request_count', ONLY_ERRORS), 'ALIGN_SUM', 'errors'),
  dataSet(ofFunctions(install, 'request_latencies'), 'ALIGN_PERCENTILE_99', 'duration (ms)'),
];

/** Returns a tile. Google's answers leave out a zero. */
const tile = (title: string, dataSets: readonly object[], at: number): object => ({
  ...(at % 2 > 0 && { xPos: WIDTH }),
  ...(at > 1 && { yPos: Math.floor(at / 2) * HEIGHT }),
  width: WIDTH,
  height: HEIGHT,
  widget: { title, xyChart: { dataSets } },
});

const dashboardOf = (install: Install): object => ({
  displayName: install.prefix,
  labels: { cloudfence: install.prefix },
  mosaicLayout: {
    columns: COLUMNS,
    tiles: [
      ...panels.map((panel) => [panel.title, panel.series.map(ofSeries(install, panel))] as const),
      [cloudPanels.queues, queues(install)] as const,
      [cloudPanels.functions, functions(install)] as const,
    ].map(([title, dataSets], at) => tile(title, dataSets, at)),
  },
});

const listOwnDashboards = async (api: Api, { names, prefix }: Install): Promise<readonly ExistingDashboard[]> => {
  const all: ExistingDashboard[] = [];
  for (let token = ''; ;) {
    const query = token === '' ? '' : `?pageToken=${encodeURIComponent(token)}`;
    const { dashboards, nextPageToken } = page.parse(
      await api.call({ method: 'GET', host: 'monitoring', path: `v1/${names.project}/dashboards${query}` }),
    );
    all.push(...dashboards);
    if (nextPageToken === '' || nextPageToken === token)
      return all.filter(({ labels }) => labels['cloudfence'] === prefix);
    token = nextPageToken;
  }
};

const deleteDashboard = (api: Api, { name }: ExistingDashboard, say: ReportProgress): Promise<unknown> =>
  ensureAbsent(api, { what: `dashboard ${name}`, host: 'monitoring', path: `v1/${name}` }, say);

/** Makes the dashboard exactly once. The ETag preserves a change that someone makes at the same time. */
export const ensureDashboard = async (api: Api, install: Install, say: ReportProgress): Promise<void> => {
  const wanted = dashboardOf(install);
  const [found, ...more] = await listOwnDashboards(api, install);
  for (const one of more) await deleteDashboard(api, one, say);
  if (!found) {
    const path = `v1/${install.names.project}/dashboards`;
    await api.call({ method: 'POST', host: 'monitoring', path, body: wanted });
    say(`dashboard ${install.prefix}: created`);
  } else if (!hasAllWanted(found, wanted)) {
    const { name, etag } = found;
    const body = { ...wanted, name, ...(etag !== undefined && { etag }) };
    await api.call({ method: 'PATCH', host: 'monitoring', path: `v1/${name}`, body });
    say(`dashboard ${install.prefix}: changed`);
  }
};

export const removeDashboard = async (api: Api, install: Install, say: ReportProgress): Promise<void> => {
  for (const one of await listOwnDashboards(api, install)) await deleteDashboard(api, one, say);
};
