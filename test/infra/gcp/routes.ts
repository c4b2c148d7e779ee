import { z } from 'zod';
import { services } from './gate.ts';
import { identities } from './identity-routes.ts';
import { alertPolicies, dashboards } from './monitoring-routes.ts';
import {
  accountAt,
  drop,
  make,
  masked,
  next,
  nothing,
  objectAt,
  policyOf,
  Problem,
  PROJECT,
  PROJECT_NUMBER,
  replaced,
  setPolicy,
  type Fields,
  type Store,
  type Verb,
} from './store.ts';

/** The methods of the management APIs that a deployment calls, each as its reference describes it. */

export interface Request {
  readonly verb: Verb;
  /** Without the version and the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Fields;
  /** The address of this stand-in. */
  readonly base: string;
}

export type Route = (store: Store, request: Request) => Fields | null;

const text = z.string().min(1);
const fields = z.record(z.string(), z.unknown());
const policy = z.object({
  policy: z.object({
    etag: z.string().optional(),
    bindings: z.array(z.object({ role: z.string(), members: z.array(z.string()) })).default([]),
  }),
});

const policies: Route = (store, { path, body }) => {
  const [, of = '', method] = /^(.+):(getIamPolicy|setIamPolicy)$/.exec(path) ?? [];
  if (method === 'getIamPolicy') return policyOf(store, of);
  return method === 'setIamPolicy' ? setPolicy(store, of, policy.parse(body).policy) : null;
};

const has = (store: Store, path: unknown): void => void objectAt(store, text.parse(path));

const queues: Route = (store, { verb, path, body }) => {
  const kind = /\/(topic|subscription)s\/[^/]+$/.exec(path)?.[1];
  if (kind === undefined) return null;
  if (verb === 'PUT' && kind === 'subscription') {
    has(store, body['topic']);
    const { pushConfig } = z
      .object({ pushConfig: z.object({ oidcToken: z.object({ serviceAccountEmail: text }) }).optional() })
      .parse(body);
    if (pushConfig) accountAt(store, pushConfig.oidcToken.serviceAccountEmail);
  }
  if (verb === 'PUT') return make(store, path, { name: path, ...body });
  return verb === 'PATCH'
    ? replaced(store, path, masked(objectAt(store, path), fields.parse(body[kind]), text.parse(body['updateMask'])))
    : null;
};

const logging: Route = (store, { verb, path, query, body }) => {
  const [, kind] = /\/(sinks|metrics)(?:\/|$)/.exec(path) ?? [];
  if (kind === undefined) return null;
  if (verb === 'POST')
    return make(store, `${path}/${text.parse(body['name'])}`, {
      ...body,
      ...(kind === 'sinks' && {
        writerIdentity: `serviceAccount:service-${next(store)}@gcp-sa-logging.iam.gserviceaccount.com`,
      }),
    });
  if (verb === 'PUT') return replaced(store, path, { ...body });
  return verb === 'PATCH'
    ? replaced(store, path, masked(objectAt(store, path), body, query.get('updateMask') ?? ''))
    : null;
};

const jobs: Route = (store, { verb, path, query, body }) => {
  if (verb === 'POST' && path.endsWith('/jobs')) {
    accountAt(
      store,
      z.object({ httpTarget: z.object({ oidcToken: z.object({ serviceAccountEmail: text }) }) }).parse(body).httpTarget
        .oidcToken.serviceAccountEmail,
    );
    return make(store, text.parse(body['name']), { state: 'ENABLED', ...body });
  }
  return verb === 'PATCH' && path.includes('/jobs/')
    ? replaced(store, path, masked(objectAt(store, path), body, query.get('updateMask') ?? ''))
    : null;
};

/** An operation that is done at the second request. */
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
  try {
    if (operation.polls === 2) operation.finish();
  } catch (error) {
    return { name: path, done: true, error: { code: 3, message: String(error) } };
  }
  return { name: path, done: true };
};

const memory = z
  .string()
  .regex(/^\d+M$/)
  .transform((size) => Number.parseInt(size, 10));
const sourced = z.looseObject({
  buildConfig: z.looseObject({
    serviceAccount: z
      .string()
      .regex(/^projects\/[^/]+\/serviceAccounts\/[^/]+$/)
      .optional(),
    source: z.object({ storageSource: z.object({ object: z.string() }) }),
  }),
  serviceConfig: z.looseObject({
    serviceAccountEmail: z.string(),
    availableMemory: memory,
    availableCpu: z.coerce.number(),
    maxInstanceRequestConcurrency: z.number(),
  }),
});

/** https://cloud.google.com/run/docs/configuring/services/cpu */
const limits: readonly (readonly [cpu: number, least: number, most: number])[] = [
  [8, 4_096, 32_768],
  [6, 4_096, 24_576],
  [4, 2_048, 16_384],
  [2, 128, 8_192],
  [1, 128, 4_096],
  [0.5, 128, 1_024],
  [0.08, 128, 512],
];

const checkSize = ({
  availableMemory,
  availableCpu,
  maxInstanceRequestConcurrency,
}: z.infer<typeof sourced>['serviceConfig']): void => {
  const [, least, most] = limits.find(([cpu]) => availableCpu >= cpu) ?? [0, 0, 0];
  if (availableMemory < least || availableMemory > most)
    throw new Problem(
      400,
      `Invalid value specified for cpu. For the specified value, memory must be between ${least} and ${most} MB.`,
    );
  if (availableCpu < 1 && maxInstanceRequestConcurrency > 1)
    throw new Problem(400, 'Total cpu < 1 is not supported with concurrency > 1.');
};

/**
 * The permissions of a build. In a new project, the Compute account has none of them.
 * https://cloud.google.com/functions/docs/securing/build-custom-sa
 */
const BUILDS = ['roles/artifactregistry.writer', 'roles/logging.logWriter', 'roles/storage.objectViewer'];

const checkBuilder = (store: Store, account: string | undefined): void => {
  const named = account?.slice(account.lastIndexOf('/') + 1);
  const member = `serviceAccount:${named ?? `${PROJECT_NUMBER}-compute@developer.gserviceaccount.com`}`;
  const held = (store.policies.get(`projects/${PROJECT}`)?.bindings ?? [])
    .filter(({ members }) => members.includes(member))
    .map(({ role }) => role);
  const since = store.grantedAt.get(member) ?? -Infinity;
  if (!BUILDS.every((role) => held.includes(role)) || store.now - since < store.delays.grant)
    throw new Error(
      'Build failed with status: FAILURE. Could not build the function due to a missing permission on the build service account.',
    );
};

/** A function, and the Cloud Run service that runs it. */
const built = (store: Store, path: string, body: Fields, base: string): void => {
  const { buildConfig } = sourced.parse(body);
  if (!store.uploads.has(buildConfig.source.storageSource.object))
    throw nothing(buildConfig.source.storageSource.object);
  const service = path.replace('/functions/', '/services/');
  store.objects.set(path, { ...body, name: path, state: 'FAILED' });
  checkBuilder(store, buildConfig.serviceAccount);
  store.objects.set(path, {
    ...body,
    name: path,
    state: 'ACTIVE',
    url: `${base}/call/${path.slice(path.lastIndexOf('/') + 1)}`,
    serviceConfig: { ...fields.parse(body['serviceConfig']), service },
  });
  if (!store.objects.has(service)) store.objects.set(service, { name: service });
};

const accepted = (store: Store, path: string, body: Fields, base: string): Fields => {
  const { buildConfig, serviceConfig } = sourced.parse(body);
  accountAt(store, serviceConfig.serviceAccountEmail);
  if (buildConfig.serviceAccount !== undefined) objectAt(store, buildConfig.serviceAccount);
  checkSize(serviceConfig);
  return begun(store, () => built(store, path, body, base));
};

const listedFunctions = (store: Store): Fields => ({
  functions: [...store.objects].filter(([path]) => path.includes('/functions/')).map(([, one]) => one),
  unreachable: store.unreachable,
});

const functions: Route = (store, { verb, path, query, body, base }) => {
  if (path.endsWith(':generateUploadUrl')) {
    const object = `${next(store)}.zip`;
    return { uploadUrl: `${base}/upload/${object}`, storageSource: { bucket: 'uploads', object } };
  }
  if (verb === 'GET' && path.endsWith('/locations/-/functions')) return listedFunctions(store);
  if (verb === 'POST' && path.endsWith('/functions'))
    return accepted(store, `${path}/${text.parse(query.get('functionId'))}`, body, base);
  if (!path.includes('/functions/')) return null;
  if (verb === 'PATCH')
    return accepted(store, path, masked(objectAt(store, path), body, text.parse(query.get('updateMask'))), base);
  if (verb !== 'DELETE') return null;
  return begun(store, () => {
    drop(store, path);
    store.objects.delete(path.replace('/functions/', '/services/'));
    store.policies.delete(path.replace('/functions/', '/services/'));
  });
};

/** https://cloud.google.com/storage/docs/json_api/v1/buckets */
const named = z.looseObject({ name: z.string().regex(/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/) });
const bucketPolicy = z.looseObject({
  etag: z.string().optional(),
  bindings: z.array(z.object({ role: z.string(), members: z.array(z.string()) })).default([]),
});

const buckets: Route = (store, { verb, path, body }) => {
  if (path === 'b') {
    const bucket = named.parse(body);
    return make(store, `b/${bucket.name}`, { ...bucket, projectNumber: PROJECT_NUMBER });
  }
  const [, bucket, iam] = /^(b\/[^/]+)(\/iam)?$/.exec(path) ?? [];
  if (bucket === undefined) return null;
  if (iam !== undefined)
    return verb === 'PUT' ? setPolicy(store, bucket, bucketPolicy.parse(body)) : policyOf(store, bucket);
  return verb === 'PATCH' ? replaced(store, bucket, { ...objectAt(store, bucket), ...body }) : null;
};

const plain: Route = (store, { verb, path }) => {
  if (verb === 'GET') return objectAt(store, path);
  return verb === 'DELETE' ? drop(store, path) : null;
};

const entries: Route = (_, { path }) =>
  path === 'entries:list'
    ? { entries: [{ timestamp: '2026-01-01T00:00:00Z', jsonPayload: { message: 'swept' } }] }
    : null;

export const routes: readonly Route[] = [
  services,
  policies,
  identities,
  queues,
  logging,
  alertPolicies,
  dashboards,
  buckets,
  jobs,
  operations,
  functions,
  entries,
  plain,
];
