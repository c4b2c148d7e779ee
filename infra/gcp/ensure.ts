import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import {
  type HttpResponse,
  type Api,
  type ApiCall,
  callUntilPropagated,
  errorStatusOf,
  errorFromResponse,
  isSuccess,
  waitForOperation,
  isApiDisabled,
  retryUntilFinal,
  POLICY_PROPAGATION_MS,
} from './api.ts';
import type { Install } from './install.ts';

/** One resource of the install in its wanted state. */
export interface Resource {
  /** A description for people. */
  readonly what: string;
  readonly host: ApiCall['host'];
  /** The path for reading and deleting it. */
  readonly path: string;
  /** The fields that it must have. Cloudfence does not manage other fields. */
  readonly wanted: object;
  readonly create: Omit<ApiCall, 'host'>;
  /** Null if the resource can never differ. */
  readonly change: Omit<ApiCall, 'host'> | null;
  /** True if the request names a service account, which can be too new to be known everywhere. */
  readonly namesAccount?: true;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Reports whether `found` has everything that is wanted. Lists of texts can be in any order. */
export const hasAllWanted = (found: unknown, wanted: unknown): boolean => {
  if (isTexts(found) && isTexts(wanted)) return isDeepStrictEqual(found.toSorted(), wanted.toSorted());
  if (Array.isArray(found) && Array.isArray(wanted))
    return found.length === wanted.length && wanted.every((one, at) => hasAllWanted(found[at], one));
  if (isObject(found) && isObject(wanted))
    return Object.entries(wanted).every(([key, value]) => hasAllWanted(found[key], value));
  return Object.is(found, wanted);
};

/**
 * Returns the resource, or null if Google itself says that it does not exist. The page of a proxy, or a path that no
 * API has, is not proof of that.
 */
export const findResource = async (
  api: Api,
  host: ApiCall['host'],
  path: string,
): Promise<HttpResponse['body'] | null> => {
  const call = { method: 'GET', host, path } as const;
  const answer = await api.ask(call);
  if (answer.status === 404 && errorStatusOf(answer) === 'NOT_FOUND') return null;
  if (!isSuccess(answer)) throw errorFromResponse(call, answer);
  return answer.body;
};

/**
 * Creates or changes the resource, or leaves it unchanged. Returns the API's last answer about it.
 * @throws Refused if it exists in another state and cannot be changed
 */
export const ensure = async (api: Api, resource: Resource, say: ReportProgress): Promise<HttpResponse['body']> => {
  const { what, host, path, wanted, create, change, namesAccount } = resource;
  const present = await findResource(api, host, path);
  if (present === null)
    return runAndReport(say, `${what}: created`, () =>
      namesAccount ? callUntilPropagated(api, { host, ...create }) : api.call({ host, ...create }),
    );
  if (hasAllWanted(present, wanted)) return present;
  if (change === null)
    throw new Refused(`${what} exists with other settings, which cannot be changed: delete it, and deploy again`);
  return runAndReport(say, `${what}: changed`, () => api.call({ host, ...change }));
};

const runAndReport = async <T>(say: ReportProgress, what: string, act: () => Promise<T>): Promise<T> => {
  const answer = await act();
  say(what);
  return answer;
};

/** Makes sure that the resource does not exist. */
export const ensureAbsent = async (
  api: Api,
  { what, host, path }: Pick<Resource, 'what' | 'host' | 'path'>,
  say: ReportProgress,
): Promise<HttpResponse['body'] | null> => {
  const present = await findResource(api, host, path);
  if (present === null) return null;
  return runAndReport(say, `${what}: removed`, () => api.call({ host, method: 'DELETE', path }));
};

/** The APIs that each install needs. docs/gcp.md has the same list. */
const ALWAYS_REQUIRED = [
  'artifactregistry',
  'cloudbuild',
  'cloudfunctions',
  'cloudresourcemanager',
  'cloudscheduler',
  'compute',
  'iam',
  'logging',
  'monitoring',
  'pubsub',
  'run',
  'storage',
] as const;

export const requiredServices = ({ configuration: { clusters } }: Pick<Install, 'configuration'>): readonly string[] =>
  [
    ...ALWAYS_REQUIRED,
    ...(clusters.some((cluster) => 'gke' in cluster) ? ['container'] : []),
    ...(clusters.some((cluster) => 'secretManager' in cluster) ? ['secretmanager'] : []),
  ].map((name) => `${name}.googleapis.com`);

const serviceStates = z.looseObject({
  services: z.array(z.looseObject({ name: z.string(), state: z.string().default('') })).default([]),
});

/**
 * Returns an API that retries while a service is reported as disabled, because a newly enabled service stays so for
 * some minutes.
 */
const retryWhileDisabled = (api: Api): Api => {
  const ask: Api['ask'] = (call) =>
    retryUntilFinal(api, () => api.ask(call), { mayPass: isApiDisabled, within: POLICY_PROPAGATION_MS });
  return { ...api, ...api.over(ask) };
};

/** Enables the missing services. Returns the API, which waits for newly enabled ones. */
export const ensureServices = async (api: Api, install: Install, say: ReportProgress): Promise<Api> => {
  const { project } = install.names;
  const wanted = requiredServices(install);
  const query = wanted.map((name) => `names=${encodeURIComponent(`${project}/services/${name}`)}`).join('&');
  const { services } = serviceStates.parse(
    await api.call({ method: 'GET', host: 'services', path: `v1/${project}/services:batchGet?${query}` }),
  );
  const on = new Set(
    services.filter(({ state }) => state === 'ENABLED').map(({ name }) => name.slice(name.lastIndexOf('/') + 1)),
  );
  const missing = wanted.filter((name) => !on.has(name));
  if (missing.length === 0) return api;
  await waitForOperation(
    api,
    await api.call({
      method: 'POST',
      host: 'services',
      path: `v1/${project}/services:batchEnable`,
      body: { serviceIds: missing },
    }),
    `enabling ${missing.join(', ')}`,
    { host: 'services', version: 'v1' },
  );
  say(`APIs enabled: ${missing.join(', ')}`);
  return retryWhileDisabled(api);
};
