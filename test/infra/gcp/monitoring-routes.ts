import { z } from 'zod';
import type { Route } from './routes.ts';
import { drop, masked, next, nothing, objectAt, Problem, PROJECT, type Fields, type Store } from './store.ts';

/**
 * Alert policies of Cloud Monitoring, and which of them it rejects.
 * https://cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.alertPolicies
 */

const minutes = z
  .string()
  .regex(/^\d+s$/)
  .refine((text) => Number.parseInt(text, 10) % 60 === 0, 'must be a multiple of a minute');
const label = z
  .string()
  .max(63)
  .regex(/^[a-z0-9_-]*$/);
const threshold = z.object({
  filter: z
    .string()
    .max(2_048)
    .regex(/metric\.type="[^"]+"/, 'must name a metric type')
    .regex(/resource\.type="[^"]+"/, 'must name a resource type'),
  comparison: z.enum(['COMPARISON_LT', 'COMPARISON_GT'], 'only these two are supported currently'),
  thresholdValue: z.number().optional(),
  duration: minutes,
  evaluationMissingData: z.string().optional(),
  aggregations: z
    .array(
      z.object({
        alignmentPeriod: z
          .string()
          .refine(
            (text) => Number.parseInt(text, 10) >= 60 && Number.parseInt(text, 10) <= 90_000,
            'from 60 to 90,000 seconds',
          ),
      }),
    )
    .max(2),
});
const policy = z.looseObject({
  displayName: z.string().min(1).max(512),
  userLabels: z.record(label.regex(/^[a-z]/), label).default({}),
  combiner: z.enum(['AND', 'OR', 'AND_WITH_MATCHING_RESOURCE']),
  conditions: z
    .array(z.looseObject({ displayName: z.string().min(1), conditionThreshold: threshold }))
    .min(1)
    .max(6),
  notificationChannels: z.array(z.string()).default([]),
});

/** Google's own metrics that an install reads, as https://cloud.google.com/monitoring/api/metrics_gcp lists them. */
const own = new Set([
  'pubsub.googleapis.com/subscription/num_undelivered_messages',
  'pubsub.googleapis.com/subscription/oldest_unacked_message_age',
  'run.googleapis.com/request_count',
]);
const USER = 'logging.googleapis.com/user/';

const checkMetric = (store: Store, filter: string): void => {
  const [, type = ''] = /metric\.type="([^"]+)"/.exec(filter) ?? [];
  const since = type.startsWith(USER)
    ? store.born.get(`projects/${PROJECT}/metrics/${type.slice(USER.length)}`)
    : -Infinity;
  if (own.has(type) || (since !== undefined && type.startsWith(USER) && store.now - since >= store.delays.metric))
    return;
  throw new Problem(
    404,
    `Cannot find metric(s) that match type = "${type}". If a metric was created recently, it could take up to 10 minutes to become available. Please try again soon.`,
  );
};

const checked = (store: Store, body: Fields): Fields => {
  const { conditions, notificationChannels } = policy.parse(body);
  for (const {
    conditionThreshold: { filter, duration, evaluationMissingData },
  } of conditions) {
    if (evaluationMissingData !== undefined && duration === '0s')
      throw new Problem(400, 'evaluation_missing_data needs a duration of 60 seconds or more');
    checkMetric(store, filter);
  }
  for (const channel of notificationChannels) if (!store.objects.has(channel)) throw nothing(channel);
  return body;
};

/** Names of the policy and of each condition, which the server creates. */
const named = (store: Store, name: string, body: Fields): Fields => {
  const conditions = z
    .array(z.looseObject({}))
    .parse(body['conditions'])
    .map((one) => ({ ...one, name: `${name}/conditions/${next(store)}` }));
  const policy = { enabled: true, ...body, name, conditions };
  store.objects.set(name, policy);
  return policy;
};

const PAGE = 4;

const listed = (store: Store, query: URLSearchParams): Fields => {
  const all = [...store.objects.entries()].filter(([path]) => /\/alertPolicies\/\d+$/.test(path)).map(([, one]) => one);
  const from = Number(query.get('pageToken') ?? 0);
  return {
    alertPolicies: all.slice(from, from + PAGE),
    ...(all.length > from + PAGE && { nextPageToken: String(from + PAGE) }),
  };
};

export const alertPolicies: Route = (store, { verb, path, query, body }) => {
  if (!path.includes('/alertPolicies')) return null;
  if (path.endsWith('/alertPolicies'))
    return verb === 'POST' ? named(store, `${path}/${next(store)}`, checked(store, body)) : listed(store, query);
  if (verb === 'PATCH')
    return named(store, path, checked(store, masked(objectAt(store, path), body, query.get('updateMask') ?? '')));
  return verb === 'DELETE' ? drop(store, path) : null;
};

/** https://cloud.google.com/monitoring/api/ref_v3/rest/v1/projects.dashboards#Dashboard */
const COLUMNS = 48;
const chart = z.object({
  dataSets: z
    .array(
      z.looseObject({
        timeSeriesQuery: z.object({ timeSeriesFilter: z.looseObject({ filter: threshold.shape.filter }) }),
      }),
    )
    .min(1)
    .max(40),
});
const tile = z
  .looseObject({
    xPos: z.int().min(0).default(0),
    width: z.int().min(1),
    height: z.int().min(1),
    widget: z.looseObject({ title: z.string(), xyChart: chart }),
  })
  .refine(({ xPos, width }) => xPos + width <= COLUMNS, 'must be within the columns');
const dashboard = z.looseObject({
  displayName: z.string().min(1),
  labels: z.record(label, label).default({}),
  mosaicLayout: z.object({ columns: z.int().min(1).max(COLUMNS), tiles: z.array(tile).min(1).max(40) }),
});

const versioned = (store: Store, name: string, body: Fields): Fields => {
  dashboard.parse(body);
  const made = { ...body, name, etag: next(store) };
  store.objects.set(name, made);
  return made;
};

export const dashboards: Route = (store, { verb, path, body }) => {
  if (!path.includes('/dashboards')) return null;
  if (path.endsWith('/dashboards'))
    return verb === 'POST'
      ? versioned(store, `${path}/${next(store)}`, body)
      : { dashboards: [...store.objects].filter(([at]) => at.startsWith(`${path}/`)).map(([, one]) => one) };
  if (verb !== 'PATCH') return null;
  if (body['etag'] !== objectAt(store, path)['etag']) throw new Problem(409, 'the etag is stale', 'ABORTED');
  return versioned(store, path, body);
};
