import { z } from 'zod';
import type { Request, Route } from './routes.ts';
import { next, Problem, PROJECT, type Fields, type Store } from './store.ts';

/**
 * Whether the API is enabled, and whether the caller has the permission that the reference page of the method names.
 */

interface Rule {
  readonly verb: string;
  readonly path: RegExp;
  readonly permissions: readonly string[];
}

const rule = (verb: string, path: RegExp, ...permissions: string[]): Rule => ({ verb, path, permissions });

/** All five methods of a collection, by name. */
const collection = (of: string, name: string, create: 'POST' | 'PUT', update: 'PATCH' | 'PUT'): readonly Rule[] => {
  const one = new RegExp(`/${name}/[^/:]+$`);
  return [
    rule(create, create === 'PUT' ? one : new RegExp(`/${name}$`), `${of}.create`),
    rule('GET', one, `${of}.get`),
    rule('GET', new RegExp(`/${name}$`), `${of}.list`),
    rule(update, one, `${of}.update`),
    rule('DELETE', one, `${of}.delete`),
    rule('ANY', new RegExp(`/${name}/[^/]+:getIamPolicy$`), `${of}.getIamPolicy`),
    rule('POST', new RegExp(`/${name}/[^/]+:setIamPolicy$`), `${of}.setIamPolicy`),
  ];
};

const rules: readonly Rule[] = [
  rule('POST', /:generateUploadUrl$/, 'cloudfunctions.functions.sourceCodeSet'),
  rule('GET', /\/locations\/[^/]+\/operations\/[^/]+$/, 'cloudfunctions.operations.get'),
  rule('POST', /\/functions$/, 'cloudfunctions.functions.create', 'iam.serviceAccounts.actAs'),
  rule('PATCH', /\/functions\/[^/]+$/, 'cloudfunctions.functions.update', 'iam.serviceAccounts.actAs'),
  ...collection('cloudfunctions.functions', 'functions', 'POST', 'PATCH'),
  rule('POST', /\/jobs$/, 'cloudscheduler.jobs.create', 'iam.serviceAccounts.actAs'),
  ...collection('cloudscheduler.jobs', 'jobs', 'POST', 'PATCH'),
  rule('POST', /\/roles\/[^/]+:undelete$/, 'iam.roles.undelete'),
  ...collection('iam.roles', 'roles', 'POST', 'PATCH'),
  ...collection('iam.serviceAccounts', 'serviceAccounts', 'POST', 'PATCH'),
  rule('POST', /^entries:list$/, 'logging.logEntries.list'),
  ...collection('logging.logMetrics', 'metrics', 'POST', 'PUT'),
  ...collection('logging.sinks', 'sinks', 'POST', 'PATCH'),
  ...collection('monitoring.alertPolicies', 'alertPolicies', 'POST', 'PATCH'),
  ...collection('monitoring.dashboards', 'dashboards', 'POST', 'PATCH'),
  rule('PUT', /\/subscriptions\/[^/]+$/, 'pubsub.subscriptions.create', 'pubsub.topics.attachSubscription'),
  ...collection('pubsub.subscriptions', 'subscriptions', 'PUT', 'PATCH'),
  ...collection('pubsub.topics', 'topics', 'PUT', 'PATCH'),
  ...collection('run.services', 'locations/[^/]+/services', 'POST', 'PATCH'),
  ...collection('secretmanager.secrets', 'secrets', 'POST', 'PATCH'),
  rule('POST', /^b$/, 'storage.buckets.create'),
  rule('GET', /^b\/[^/]+$/, 'storage.buckets.get'),
  rule('PATCH', /^b\/[^/]+$/, 'storage.buckets.update'),
  rule('GET', /^b\/[^/]+\/iam$/, 'storage.buckets.getIamPolicy'),
  rule('PUT', /^b\/[^/]+\/iam$/, 'storage.buckets.setIamPolicy'),
  rule('GET', /services:batchGet$/, 'serviceusage.services.get'),
  rule('POST', /services:batchEnable$/, 'serviceusage.services.enable'),
  rule('GET', /^operations\//),
  rule('ANY', /:testIamPermissions$/),
  rule('GET', /^projects\/[^/]+$/, 'resourcemanager.projects.get'),
  rule('POST', /^projects\/[^/]+:getIamPolicy$/, 'resourcemanager.projects.getIamPolicy'),
  rule('POST', /^projects\/[^/]+:setIamPolicy$/, 'resourcemanager.projects.setIamPolicy'),
];

const serviceOf: Readonly<Record<string, string>> = {
  resourcemanager: 'cloudresourcemanager',
  serviceusage: 'serviceusage',
};

const switchedOff = (service: string): Problem =>
  new Problem(
    403,
    `${service}.googleapis.com has not been used in project ${PROJECT} before or it is disabled.`,
    'PERMISSION_DENIED',
    [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'SERVICE_DISABLED', domain: 'googleapis.com' }],
  );

/** Every call passes here first. */
export const gate = (store: Store, { verb, path }: Request): void => {
  const found = rules.find((one) => (one.verb === verb || one.verb === 'ANY') && one.path.test(path));
  if (!found) throw new Problem(405, `there is no ${verb} ${path}`);
  const [first = ''] = found.permissions;
  const api = first.slice(0, first.indexOf('.'));
  const service = serviceOf[api] ?? api;
  const since = store.services.get(`${service}.googleapis.com`);
  if (service !== '' && service !== 'serviceusage' && (since === undefined || store.now < since))
    throw switchedOff(service);
  const lacking = found.permissions.find((one) => store.granted !== null && !store.granted.has(one));
  if (lacking !== undefined)
    throw new Problem(403, `Permission '${lacking}' denied on resource '${path}' (or it may not exist).`);
};

const asked = z.object({ permissions: z.array(z.string().regex(/^[a-z]+\.[a-zA-Z]+\.[a-zA-Z]+$/)).max(100) });

/** Requests that list enabled APIs and permissions, and those that enable an API. */
export const services: Route = (store, { path, query, body }) => {
  if (path.endsWith(':testIamPermissions'))
    return {
      permissions: asked.parse(body).permissions.filter((one) => store.granted === null || store.granted.has(one)),
    };
  if (path.endsWith('services:batchGet')) {
    const names = z.array(z.string()).max(30).parse(query.getAll('names'));
    return {
      services: names.map((name) => ({
        name,
        state: store.services.has(name.slice(name.lastIndexOf('/') + 1)) ? 'ENABLED' : 'DISABLED',
      })),
    };
  }
  if (!path.endsWith('services:batchEnable')) return null;
  const { serviceIds } = z.object({ serviceIds: z.array(z.string()).min(1).max(20) }).parse(body);
  const name = `operations/acat.${next(store)}`;
  const finish = (): void => serviceIds.forEach((id) => store.services.set(id, store.now + store.delays.service));
  store.operations.set(name, { polls: 0, finish });
  return { name, done: false } satisfies Fields;
};
