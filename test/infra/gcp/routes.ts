import { z } from 'zod';
import { alertPolicies } from './monitoring-routes.ts';
import { drop, make, masked, next, nothing, objectAt, policyOf, Problem, PROJECT, setPolicy, type Fields, type Store, type Verb } from './store.ts';

/** The methods of the management APIs that a deployment calls, each as its reference describes it. */

export interface Request {
  readonly verb: Verb;
  /** Without the version, and the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Fields;
  /** Where this stand-in itself is. */
  readonly base: string;
}

export type Route = (store: Store, request: Request) => Fields | null;

const text = z.string().min(1);
const fields = z.record(z.string(), z.unknown());
const policy = z.object({ policy: z.object({ etag: z.string().optional(), bindings: z.array(z.object({ role: z.string(), members: z.array(z.string()) })).default([]) }) });

const policies: Route = (store, { path, body }) => {
  const [, of = '', method] = /^(.+):(getIamPolicy|setIamPolicy)$/.exec(path) ?? [];
  if (method === 'getIamPolicy') return policyOf(store, of);
  return method === 'setIamPolicy' ? setPolicy(store, of, policy.parse(body).policy) : null;
};

const identities: Route = (store, { verb, path, query, body }) => {
  if (verb === 'POST' && path.endsWith('/serviceAccounts')) {
    const email = `${text.max(30).parse(body['accountId'])}@${PROJECT}.iam.gserviceaccount.com`;
    return make(store, `${path}/${email}`, { name: `${path}/${email}`, email, ...fields.parse(body['serviceAccount']) });
  }
  if (verb === 'POST' && path.endsWith('/roles')) {
    const name = `${path}/${z.string().regex(/^[\w.]{3,64}$/).parse(body['roleId'])}`;
    return make(store, name, { name, ...fields.parse(body['role']) });
  }
  if (verb === 'PATCH' && path.includes('/serviceAccounts/')) return replaced(store, path, masked(objectAt(store, path), fields.parse(body['serviceAccount']), text.parse(body['updateMask'])));
  if (!path.includes('/roles/')) return null;
  if (verb === 'POST' && path.endsWith(':undelete')) return revived(store, path.replace(':undelete', ''));
  if (verb === 'PATCH') return replaced(store, path, masked(objectAt(store, path), body, query.get('updateMask') ?? ''));
  // A role is gone for good only weeks later, and nobody may have its name until then.
  return verb === 'DELETE' ? replaced(store, path, { ...objectAt(store, path), deleted: true }) : null;
};

const replaced = (store: Store, path: string, object: Fields): Fields => {
  store.objects.set(path, object);
  return object;
};

const revived = (store: Store, path: string): Fields => {
  const { deleted, ...role } = objectAt(store, path);
  if (deleted !== true) throw new Problem(400, `${path} is not deleted`);
  return replaced(store, path, role);
};

const has = (store: Store, path: unknown): void => void objectAt(store, text.parse(path));

const queues: Route = (store, { verb, path, body }) => {
  const kind = /\/(topic|subscription)s\/[^/]+$/.exec(path)?.[1];
  if (kind === undefined) return null;
  if (verb === 'PUT' && kind === 'subscription') {
    has(store, body['topic']);
    const { pushConfig } = z.object({ pushConfig: z.object({ oidcToken: z.object({ serviceAccountEmail: text }) }).optional() }).parse(body);
    if (pushConfig) has(store, `projects/${PROJECT}/serviceAccounts/${pushConfig.oidcToken.serviceAccountEmail}`);
  }
  if (verb === 'PUT') return make(store, path, { name: path, ...body });
  return verb === 'PATCH' ? replaced(store, path, masked(objectAt(store, path), fields.parse(body[kind]), text.parse(body['updateMask']))) : null;
};

const logging: Route = (store, { verb, path, query, body }) => {
  const [, kind] = /\/(sinks|metrics)(?:\/|$)/.exec(path) ?? [];
  if (kind === undefined) return null;
  if (verb === 'POST') return make(store, `${path}/${text.parse(body['name'])}`, { ...body, ...(kind === 'sinks' && { writerIdentity: `serviceAccount:service-${next(store)}@gcp-sa-logging.iam.gserviceaccount.com` }) });
  if (verb === 'PUT') return replaced(store, path, { ...body });
  return verb === 'PATCH' ? replaced(store, path, masked(objectAt(store, path), body, query.get('updateMask') ?? '')) : null;
};

const jobs: Route = (store, { verb, path, query, body }) => {
  if (verb === 'POST' && path.endsWith('/jobs')) return make(store, text.parse(body['name']), { state: 'ENABLED', ...body });
  return verb === 'PATCH' && path.includes('/jobs/') ? replaced(store, path, masked(objectAt(store, path), body, query.get('updateMask') ?? '')) : null;
};

/** Something that ends after it has been asked about twice. */
const begun = (store: Store, finish: () => void): Fields => {
  const name = `projects/${PROJECT}/locations/europe-west1/operations/${next(store)}`;
  store.operations.set(name, { polls: 0, finish });
  return { name, done: false };
};

const operations: Route = (store, { path }) => {
  const operation = store.operations.get(path);
  if (!operation) return null;
  operation.polls += 1;
  if (operation.polls < 2) return { name: path, done: false };
  if (operation.polls === 2) operation.finish();
  return { name: path, done: true };
};

const sourced = z.looseObject({
  buildConfig: z.looseObject({ source: z.object({ storageSource: z.object({ object: z.string() }) }) }),
  serviceConfig: z.looseObject({ serviceAccountEmail: z.string() }),
});

/** A function, and the Cloud Run service that it really is. */
const built = (store: Store, path: string, body: Fields, base: string): void => {
  const { buildConfig, serviceConfig } = sourced.parse(body);
  if (!store.uploads.has(buildConfig.source.storageSource.object)) throw nothing(buildConfig.source.storageSource.object);
  has(store, `projects/${PROJECT}/serviceAccounts/${serviceConfig.serviceAccountEmail}`);
  const service = path.replace('/functions/', '/services/');
  store.objects.set(path, { ...body, state: 'ACTIVE', url: `${base}/call/${path.slice(path.lastIndexOf('/') + 1)}`, serviceConfig: { ...serviceConfig, service } });
  if (!store.objects.has(service)) store.objects.set(service, { name: service });
};

const functions: Route = (store, { verb, path, query, body, base }) => {
  if (path.endsWith(':generateUploadUrl')) {
    const object = `${next(store)}.zip`;
    return { uploadUrl: `${base}/upload/${object}`, storageSource: { bucket: 'uploads', object } };
  }
  if (verb === 'POST' && path.endsWith('/functions')) return begun(store, () => built(store, `${path}/${text.parse(query.get('functionId'))}`, body, base));
  if (!path.includes('/functions/')) return null;
  if (verb === 'PATCH') return begun(store, () => built(store, path, masked(objectAt(store, path), body, text.parse(query.get('updateMask'))), base));
  if (verb !== 'DELETE') return null;
  return begun(store, () => {
    drop(store, path);
    drop(store, path.replace('/functions/', '/services/'));
  });
};

const plain: Route = (store, { verb, path }) => {
  if (verb === 'GET') return objectAt(store, path);
  return verb === 'DELETE' ? drop(store, path) : null;
};

const entries: Route = (_, { path }) => (path === 'entries:list' ? { entries: [{ timestamp: '2026-01-01T00:00:00Z', jsonPayload: { message: 'swept' } }] } : null);

export const routes: readonly Route[] = [policies, identities, queues, logging, alertPolicies, jobs, operations, functions, entries, plain];
