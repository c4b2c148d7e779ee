import { z } from 'zod';
import type { ReportProgress } from '../serverless/deployer.ts';
import { type Api, waitForOperation, isApiDisabled, retryUntilFinal, POLICY_PROPAGATION_MS } from './api.ts';
import type { Install } from './install.ts';

/** The APIs that an install needs. A deployment enables those that are disabled. docs/gcp.md has the same list. */

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
