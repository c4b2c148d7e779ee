import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { operationEndings } from '../../../infra/azure/topics.ts';
import { metricNames } from '../../../functions/metrics.ts';
import { reasonIn } from '../../../providers/azure/events/kinds.ts';
import { cloudPanels, panels } from '../../../infra/serverless/panels.ts';
import { installFor, ofType, placedFor, type Placed } from './packaged-template.ts';
import { full, plain, SUBSCRIPTION } from './stage-files.ts';

/** What is monitored: events that come in, and alerts that go out. */

const usual = placedFor('prod', plain);
const whole = placedFor('whole', { ...plain, resourceGroups: 'all-of-subscription' });
const other = placedFor('full', full);

const texts = z.array(z.string());
const asked = z.object({
  criteria: z.object({ allOf: z.array(z.object({ query: z.string(), operator: z.string(), threshold: z.number() })) }),
});
const subscribed = z.object({
  filter: z.object({ includedEventTypes: texts, advancedFilters: z.array(z.object({ values: texts })) }),
});

describe('the topics', () => {
  const filterOf = ({ properties }: Placed) => subscribed.parse(properties).filter;

  it('deliver every operation that is understood, and none without meaning', () => {
    expect(
      operationEndings.filter((ending) => reasonIn(`Microsoft.Compute/virtualMachines${ending}`) === null),
    ).toEqual([]);
    expect(operationEndings).toHaveLength(16);
    const [operations] = ofType(usual, 'EventGrid/systemTopics/eventSubscriptions').map(filterOf);
    expect(operations?.includedEventTypes).toHaveLength(9);
    expect(operations?.advancedFilters.flatMap(({ values }) => values).length).toBeLessThanOrEqual(25);
    expect('Microsoft.Compute/virtualMachines/attachDetachDataDisks/action').not.toMatch(
      new RegExp(`(${operationEndings.join('|')})$`),
    );
  });

  it('deliver the health of machines, also of those in a scale set', () => {
    const health = ofType(other, 'EventGrid/systemTopics/eventSubscriptions')
      .filter(({ name }) => name.startsWith('cloudfence-full-health/'))
      .flatMap((one) => filterOf(one).advancedFilters.flatMap(({ values }) => values));
    const inGroup = `/subscriptions/${SUBSCRIPTION}/resourceGroups/MC_blue/providers/Microsoft.Compute`;
    for (const machine of ['virtualMachines/vm-1', 'virtualMachineScaleSets/pool/virtualMachines/0'])
      expect(health.filter((part) => `${inGroup}/${machine}`.includes(part))).toHaveLength(1);
  });

  it('use the existing topic in its own group, and one more for health', () => {
    expect(ofType(other, 'EventGrid/systemTopics').map(({ name }) => name)).toEqual(['cloudfence-full-health']);
    const subscriptions = ofType(other, 'EventGrid/systemTopics/eventSubscriptions').map(
      ({ name, group }) => `${name} in ${group}`,
    );
    expect(subscriptions.toSorted()).toEqual([
      'cloudfence-full-health/cloudfence-full in cloudfence-full',
      'of-all/cloudfence-full in rg-events',
    ]);
  });

  it('deliver with an identity and without keys, unless keys are configured', () => {
    expect(ofType(usual, 'ServiceBus/namespaces')[0]?.properties).toMatchObject({ disableLocalAuth: true });
    for (const { properties } of ofType(usual, 'EventGrid/systemTopics/eventSubscriptions'))
      expect(properties).toMatchObject({ deliveryWithResourceIdentity: { identity: { type: 'UserAssigned' } } });
    expect(ofType(other, 'ServiceBus/namespaces')[0]?.properties).toMatchObject({ disableLocalAuth: false });
    for (const { properties } of ofType(other, 'EventGrid/systemTopics/eventSubscriptions'))
      expect(properties).toMatchObject({ destination: { endpointType: 'ServiceBusQueue' } });
  });

  it('are subscribed once the role that the delivery needs exists', () => {
    const { names } = installFor('prod', plain);
    const role = ofType(usual, 'Authorization/roleAssignments').find(({ properties }) =>
      JSON.stringify(properties).includes(names.deliveryId),
    );
    for (const { dependsOn } of ofType(usual, 'EventGrid/systemTopics/eventSubscriptions'))
      expect(dependsOn).toContain(
        `${names.queueId('events')}/providers/Microsoft.Authorization/roleAssignments/${role?.name}`,
      );
  });

  it('do not deliver with an identity from someone else’s topic, which does not have that identity', () => {
    expect(() => installFor('full', { ...full, keylessDelivery: true })).toThrow(/keylessDelivery: .*systemTopic/);
  });

  it('deliver only events of the served groups, if the filter has room for them', () => {
    const subjects = (placed: readonly Placed[]) =>
      ofType(placed, 'EventGrid/systemTopics/eventSubscriptions')
        .flatMap((one) => filterOf(one).advancedFilters)
        .flatMap(({ values }) => values.filter((value) => value.startsWith('/subscriptions')));
    const many = Array.from({ length: 6 }, (_, at) => `MC_${at}`);
    expect(subjects(usual)).toEqual([`/subscriptions/${SUBSCRIPTION}/resourceGroups/MC_blue/`]);
    expect(subjects(whole)).toEqual([]);
    expect(subjects(placedFor('many', { ...plain, resourceGroups: many }))).toEqual([]);
    const [five] = ofType(
      placedFor('five', { ...plain, resourceGroups: many.slice(1) }),
      'EventGrid/systemTopics/eventSubscriptions',
    ).map(filterOf);
    expect(five?.advancedFilters.flatMap(({ values }) => values)).toHaveLength(25);
  });
});

describe('the alerts', () => {
  it('watch dead letters, failures, and a dead node with the name of the functions’ metric', () => {
    const names = [...ofType(usual, 'Insights/metricAlerts'), ...ofType(usual, 'Insights/scheduledQueryRules')].map(
      ({ name }) => name.replace('cloudfence-prod-', ''),
    );
    expect(names.toSorted()).toEqual([
      'backlog',
      'cap-reached',
      'cluster-unreachable',
      'dead-letters',
      'dead-node-unfenced',
      'dropped-events',
      'failed-invocations',
      'failures',
      'fenced-for-a-day',
      'given-up',
      'release-overdue',
      'stopping-too-long',
      'sweep-missing',
    ]);
    expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain(
      `line.${metricNames.deadNodeUnfenced}`,
    );
    expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain(`line.${metricNames.capReached}`);
    const { clusterUnreachable, fencedForADay, releaseOverdue, stoppingTooLong } = metricNames;
    for (const metric of [clusterUnreachable, fencedForADay, releaseOverdue, stoppingTooLong])
      expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain(`line.${metric}`);
  });

  it.each([
    ['1m', 6, 'PT15M'],
    ['2m', 4, 'PT15M'],
    ['3m', 3, 'PT15M'],
    ['4m', 3, 'PT15M'],
    ['5m', 2, 'PT15M'],
    ['6m', 1, 'PT3H'],
    ['60m', 1, 'PT3H'],
  ])(
    'with a sweep every %s, report a machine that the last %i sweeps in a row found dead and unfenced',
    (sweepEvery, sweeps, windowSize) => {
      const unfenced = ofType(placedFor('prod', { ...plain, sweepEvery }), 'Insights/scheduledQueryRules').find(
        ({ name }) => name.endsWith('unfenced'),
      );
      expect(unfenced?.properties).toMatchObject({
        windowSize,
        criteria: {
          allOf: [
            {
              query: expect.stringMatching(
                new RegExp(`top ${sweeps} by TimeGenerated .*where sweeps == ${sweeps} and counted == ${sweeps}$`),
              ),
              operator: 'GreaterThan',
              threshold: 0,
            },
          ],
        },
      });
    },
  );

  it.each([
    ['1m', 'PT5M'],
    ['2m', 'PT5M'],
    ['3m', 'PT15M'],
    ['15m', 'PT30M'],
    ['30m', 'PT1H'],
    ['60m', 'PT3H'],
  ])('with a sweep every %s, look for the cap and for silent clusters in a window of %s', (sweepEvery, windowSize) => {
    const rules = ofType(placedFor('prod', { ...plain, sweepEvery }), 'Insights/scheduledQueryRules');
    for (const name of ['cap-reached', 'cluster-unreachable'])
      expect(rules.find((rule) => rule.name.endsWith(name))?.properties).toMatchObject({
        windowSize,
        evaluationFrequency: 'PT5M',
      });
  });

  it('report a sweep that does not run, although it writes no line', () => {
    const missing = ofType(usual, 'Insights/scheduledQueryRules').find(({ name }) => name.endsWith('sweep-missing'));
    expect(missing?.properties).toMatchObject({
      criteria: { allOf: [{ timeAggregation: 'Count', operator: 'LessThan', threshold: 1 }] },
    });
  });

  it('query one table each, and do not fire for an empty table', () => {
    for (const { name, properties } of ofType(usual, 'Insights/scheduledQueryRules')) {
      const { criteria } = asked.parse(properties);
      for (const { query, operator, threshold } of criteria.allOf)
        expect({
          name,
          tables: query.match(/\bApp\w+/g)?.length,
          always: operator.startsWith('Greater') && threshold < (operator === 'GreaterThan' ? 0 : 1),
        }).toEqual({ name, tables: 1, always: false });
    }
  });

  it('notify the action group, if there is one', () => {
    for (const { properties } of ofType(other, 'Insights/metricAlerts'))
      expect(properties).toMatchObject({ actions: [{ actionGroupId: full.actionGroup }] });
    for (const { properties } of ofType(other, 'Insights/scheduledQueryRules'))
      expect(properties).toMatchObject({ actions: { actionGroups: [full.actionGroup] } });
    expect(JSON.stringify(ofType(usual, 'Insights/scheduledQueryRules'))).toContain('"actionGroups":[]');
  });
});

describe('the workbook', () => {
  const book = z.object({
    kind: z.literal('shared'),
    properties: z.object({ displayName: z.string(), sourceId: z.string(), serializedData: z.string() }),
  });
  const item = z.object({
    name: z.string(),
    content: z.looseObject({ query: z.string().default(''), title: z.string() }),
  });
  const content = z.object({ version: z.literal('Notebook/1.0'), items: z.array(item) });
  const shown = () => {
    const [only, ...more] = ofType(usual, 'Insights/workbooks');
    expect(more).toEqual([]);
    expect(only?.name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const { properties } = book.parse(only);
    expect(properties.sourceId).toBe(installFor('prod', plain).names.workspaceId);
    return content.parse(JSON.parse(properties.serializedData)).items;
  };

  it('has every panel, and queries every metric of its panels', () => {
    expect(shown().map(({ name }) => name)).toEqual([
      ...panels.map(({ title }) => title),
      cloudPanels.queues,
      cloudPanels.functions,
    ]);
    for (const { title, series } of panels) {
      const query = shown().find(({ name }) => name === title)?.content.query;
      for (const { metric, outcome } of series)
        expect(query).toContain(outcome === undefined ? `line.${metric}` : `line.Outcome == "${outcome}"`);
      expect(query).toMatch(
        /^AppTraces \| extend line = parse_json\(Message\) \| summarize .* by bin\(TimeGenerated, 5m\)$/,
      );
    }
  });

  it('shows every metric that the functions measure', () => {
    const text = JSON.stringify(panels);
    for (const name of Object.values(metricNames).filter((one) => one !== metricNames.refusals))
      expect(text).toContain(name);
  });
});
