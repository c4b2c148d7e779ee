import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { cloudPanels, panels } from '../../../infra/serverless/panels.ts';
import { deployerAt, packaged } from './installed.ts';
import { openManagement, type Management } from './management.ts';
import { PROJECT } from './store.ts';

/** Alert policies of Cloud Monitoring for the same conditions as on AWS and Azure. */

let google: Management;
beforeEach(async () => {
  google = await openManagement();
});
afterEach(() => google.close());

const quiet = (): void => undefined;
const deploy = (written = {}) => deployerAt(google, written).deploy(packaged(), quiet);

const threshold = z.looseObject({
  filter: z.string(),
  comparison: z.string(),
  thresholdValue: z.number().default(0),
  evaluationMissingData: z.string(),
  aggregations: z.tuple([z.looseObject({ alignmentPeriod: z.string() })]),
});
const policy = z.looseObject({
  name: z.string(),
  userLabels: z.record(z.string(), z.string()),
  notificationChannels: z.array(z.string()).default([]),
  documentation: z.object({ content: z.string() }),
  conditions: z.tuple([z.looseObject({ conditionThreshold: threshold })]),
});

const alarms = () =>
  [...google.store.objects].filter(([path]) => path.includes('/alertPolicies/')).map(([, one]) => policy.parse(one));
const alarm = (name: string) => {
  const found = alarms().find(({ userLabels }) => userLabels['alarm'] === name);
  if (!found) throw new Error(`there is no alarm ${name}`);
  const {
    filter,
    comparison,
    thresholdValue,
    evaluationMissingData,
    aggregations: [{ alignmentPeriod }],
  } = found.conditions[0].conditionThreshold;
  return { ...found, filter, asked: `${comparison} ${thresholdValue} in ${alignmentPeriod}`, evaluationMissingData };
};

describe('a deployment', () => {
  it('creates an alarm for each silent failure, with instructions', async () => {
    await deploy();
    expect(alarms().map(({ userLabels: { alarm: name } }) => name)).toEqual(
      expect.arrayContaining([
        'cap-reached',
        'cluster-unreachable',
        'dead-letters',
        'dead-node-unfenced',
        'errors',
        'failures',
        'fenced-for-a-day',
        'release-overdue',
        'stopping-too-long',
        'oldest-message',
        'sweep-missing',
      ]),
    );
    for (const {
      documentation: { content },
    } of alarms())
      expect(content).toMatch(/^[A-Z].*[.?]$/);
  });

  it.each([
    [
      'dead-letters',
      'COMPARISON_GT 0 in 60s',
      /num_undelivered_messages.*subscription_id="cloudfence-prod-dead-letters"/,
    ],
    [
      'oldest-message',
      'COMPARISON_GT 1200 in 60s',
      /oldest_unacked_message_age.*subscription_id="cloudfence-prod-events"/,
    ],
    [
      'errors',
      'COMPARISON_GT 0 in 300s',
      /request_count.*response_code_class="5xx".*"cloudfence-prod-on-event".*"cloudfence-prod-doctor"/,
    ],
    ['failures', 'COMPARISON_GT 0 in 900s', /user\/cloudfence-prod-Outcomes".*metric\.labels\.Outcome="failed"/],
    ['cap-reached', 'COMPARISON_GT 0 in 300s', /user\/cloudfence-prod-CapReached"/],
    ['cluster-unreachable', 'COMPARISON_GT 0 in 300s', /user\/cloudfence-prod-ClusterUnreachable"/],
    ['fenced-for-a-day', 'COMPARISON_GT 0 in 180s', /user\/cloudfence-prod-FencedForADay"/],
    ['release-overdue', 'COMPARISON_GT 0 in 180s', /user\/cloudfence-prod-ReleaseOverdue"/],
    ['stopping-too-long', 'COMPARISON_GT 0 in 180s', /user\/cloudfence-prod-StoppingTooLong"/],
    ['dead-node-unfenced', 'COMPARISON_GT 4 in 360s', /user\/cloudfence-prod-DeadNodeUnfenced"/],
  ])('%s fires at %s, and not without data', async (name, asked, filter) => {
    await deploy();
    expect(alarm(name)).toMatchObject({
      asked,
      filter: expect.stringMatching(filter),
      evaluationMissingData: 'EVALUATION_MISSING_DATA_INACTIVE',
    });
  });

  it('a missing sweep raises an alarm although nothing is measured any more', async () => {
    await deploy();
    expect(alarm('sweep-missing')).toMatchObject({
      asked: 'COMPARISON_LT 1 in 600s',
      evaluationMissingData: 'EVALUATION_MISSING_DATA_ACTIVE',
    });
  });

  it.each([
    ['1m', 'COMPARISON_GT 4 in 360s', 'COMPARISON_LT 1 in 600s'],
    ['2m', 'COMPARISON_GT 2 in 480s', 'COMPARISON_LT 1 in 600s'],
    ['3m', 'COMPARISON_GT 1 in 540s', 'COMPARISON_LT 1 in 600s'],
    ['4m', 'COMPARISON_GT 1 in 720s', 'COMPARISON_LT 1 in 720s'],
    ['6m', 'COMPARISON_GT 0 in 720s', 'COMPARISON_LT 1 in 1080s'],
    ['60m', 'COMPARISON_GT 0 in 7200s', 'COMPARISON_LT 1 in 10800s'],
  ])(
    'with a sweep every %s, an unfenced machine raises an alarm after five minutes, and never before it was seen',
    async (sweepEvery, unfenced, missing) => {
      await deploy({ sweepEvery });
      expect([alarm('dead-node-unfenced').asked, alarm('sweep-missing').asked]).toEqual([unfenced, missing]);
    },
  );

  it.each([
    ['1m', 'COMPARISON_GT 0 in 300s'],
    ['60m', 'COMPARISON_GT 0 in 10800s'],
  ])('with a sweep every %s, an alarm does not end between two sweeps', async (sweepEvery, asked) => {
    await deploy({ sweepEvery });
    expect([alarm('cap-reached').asked, alarm('cluster-unreachable').asked]).toEqual([asked, asked]);
  });

  it('notifies the channels that the parameters name, and stops to notify removed channels', async () => {
    const channel = `projects/${PROJECT}/notificationChannels/42`;
    google.store.objects.set(channel, { name: channel });
    await deploy({ notificationChannels: [channel] });
    expect(new Set(alarms().flatMap(({ notificationChannels }) => notificationChannels))).toEqual(new Set([channel]));
    await deploy();
    expect(alarms().flatMap(({ notificationChannels }) => notificationChannels)).toEqual([]);
  });

  it('waits until Cloud Monitoring knows the new metrics', async () => {
    google.store.delays = { ...google.store.delays, metric: 10 * 60_000 };
    await deploy();
    expect(alarm('failures')).toBeDefined();
  });

  it('says what is wrong if a metric never appears', async () => {
    google.store.delays = { ...google.store.delays, metric: Infinity };
    await expect(deploy()).rejects.toThrow(/alertPolicies returned 404.*Cannot find metric/);
    expect(google.store.now).toBeLessThan(60 * 60_000);
  });
});

describe('another deployment', () => {
  it('changes nothing and creates nothing twice', async () => {
    await deploy();
    const [before, writes] = [alarms().length, google.writes().length];
    await deploy();
    expect([alarms().length, google.writes().slice(writes)]).toEqual([before, []]);
  });

  it('corrects manual changes, keeps alarms of others, and removes alarms that are no longer wanted', async () => {
    await deploy();
    const { name, filter } = alarm('dead-letters');
    const spoiled = google.store.objects.get(name);
    google.store.objects.set(name, { ...spoiled, displayName: 'x' });
    google.store.objects.set(`projects/${PROJECT}/alertPolicies/1001`, {
      ...spoiled,
      name: `projects/${PROJECT}/alertPolicies/1001`,
      userLabels: { cloudfence: 'cloudfence-prod', alarm: 'of-an-older-version' },
    });
    google.store.objects.set(`projects/${PROJECT}/alertPolicies/1002`, {
      ...spoiled,
      name: `projects/${PROJECT}/alertPolicies/1002`,
      userLabels: { cloudfence: 'cloudfence-other', alarm: 'dead-letters' },
    });
    await deploy();
    expect(alarm('dead-letters')).toMatchObject({ displayName: 'cloudfence-prod-dead-letters', filter });
    expect([1001, 1002].map((id) => google.store.objects.has(`projects/${PROJECT}/alertPolicies/${id}`))).toEqual([
      false,
      true,
    ]);
  });
});

describe('a removal', () => {
  it('removes all alarms of the install, and no others', async () => {
    await deploy();
    const theirs = `projects/${PROJECT}/alertPolicies/1003`;
    google.store.objects.set(theirs, {
      name: theirs,
      displayName: 'cloudfence-prod-dead-letters',
      userLabels: {},
      documentation: { content: '' },
    });
    await deployerAt(google).remove(quiet);
    expect([...google.store.objects.keys()].filter((path) => path.includes('/alertPolicies/'))).toEqual([theirs]);
  });
});

describe('the dashboard', () => {
  const filtered = z.looseObject({
    timeSeriesQuery: z.object({ timeSeriesFilter: z.looseObject({ filter: z.string() }) }),
  });
  const dashboard = z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    mosaicLayout: z.object({
      tiles: z.array(
        z.looseObject({
          widget: z.object({ title: z.string(), xyChart: z.object({ dataSets: z.array(filtered) }) }),
        }),
      ),
    }),
  });
  const dashboards = () =>
    [...google.store.objects].filter(([path]) => path.includes('/dashboards/')).map(([, one]) => dashboard.parse(one));

  it('has every panel, and reads every metric of its panels', async () => {
    await deploy();
    const [only, ...more] = dashboards();
    expect(more).toEqual([]);
    const tiles = (only?.mosaicLayout.tiles ?? []).map(({ widget }) => widget);
    expect(tiles.map(({ title }) => title)).toEqual([
      ...panels.map(({ title }) => title),
      cloudPanels.queues,
      cloudPanels.functions,
    ]);
    for (const { title, series } of panels) {
      const filters = tiles
        .find((one) => one.title === title)
        ?.xyChart.dataSets.map(({ timeSeriesQuery }) => timeSeriesQuery.timeSeriesFilter.filter);
      for (const { metric, outcome } of series)
        expect(filters).toContain(
          `metric.type="logging.googleapis.com/user/cloudfence-prod-${metric}" AND resource.type="cloud_run_revision"${outcome === undefined ? '' : ` AND metric.labels.Outcome="${outcome}"`}`,
        );
    }
  });

  it('is created once, corrected if someone changed it, and removed with the install', async () => {
    await deploy();
    const [made] = dashboards();
    const theirs = `projects/${PROJECT}/dashboards/1003`;
    google.store.objects.set(theirs, { ...made, name: theirs, labels: { cloudfence: 'cloudfence-other' } });
    const name = made?.name ?? '';
    google.store.objects.set(name, { ...made, displayName: 'x' });
    await deploy();
    expect(google.store.objects.get(name)).toMatchObject({ displayName: 'cloudfence-prod' });
    const writes = google.writes().length;
    await deploy();
    expect(google.writes()).toHaveLength(writes);
    await deployerAt(google).remove(quiet);
    expect(dashboards().map((one) => one.name)).toEqual([theirs]);
  });
});
