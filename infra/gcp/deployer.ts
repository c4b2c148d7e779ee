import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import type { Deployer, PackagedFunction, ReportProgress } from '../serverless/deployer.ts';
import { ensureAlarms, removeAlarms } from './alarms.ts';
import type { Api } from './api.ts';
import { incidentBuckets, refuseForeignBucket } from './bucket.ts';
import { ensureDashboard, removeDashboard } from './dashboard.ts';
import { ensureAbsent, ensure, type Resource, ensureServices } from './ensure.ts';
import {
  functionUrl,
  ensureFunction,
  readFunction,
  functionsInAllRegions,
  readLogLines,
  removeFunction,
} from './functions.ts';
import {
  type RoleBinding,
  grantsOnOwnResources,
  buildAccountGrants,
  runtimeAccountGrants,
  INVOKER_ROLE,
  invokerBindings,
  grantsOutsideInstall,
  incidentGrants,
  eventPublisherGrant,
  pubSubServiceAgent,
} from './grants.ts';
import { serviceAccounts, ensureRole, fencingRole } from './identities.ts';
import { type Install, functionNames } from './install.ts';
import { logMetrics } from './monitoring.ts';
import { checkPermissions } from './permissions.ts';
import { revokeMembers, addGrant, setOnlyMembers } from './policies.ts';
import { sweepSchedule, logSink, subscriptions, topics } from './queues.ts';

const writer = z.looseObject({ writerIdentity: z.string() });

const ensureAll = async (api: Api, resources: readonly Resource[], say: ReportProgress): Promise<void> => {
  for (const resource of resources) await ensure(api, resource, say);
};

/** Returns true if any of the grants is new. */
const grantAll = async (api: Api, granted: readonly RoleBinding[], say: ReportProgress): Promise<boolean> => {
  let isNew = false;
  for (const one of granted) isNew = (await addGrant(api, one.on, one, say)) || isNew;
  return isNew;
};

/**
 * Checks for obstacles before anything is made.
 * @throws PermissionDenied, Refused, Unavailable
 */
const opened = async (api: Api, install: Install, say: ReportProgress): Promise<Api> => {
  const enabled = await ensureServices(api, install, say);
  if (install.parameters.checkPermissions) await checkPermissions(enabled, install, say);
  const elsewhere = (await functionsInAllRegions(enabled, install)).filter(
    (name) => !name.startsWith(`${install.names.region}/`),
  );
  if (elsewhere.length > 0)
    throw new Refused(
      'Cloudfence deployed nothing, because this install already exists in another region ' +
        `(${elsewhere.join(', ')}): remove that install first, with --param='region=…'`,
    );
  return enabled;
};

/** Deploys the functions, and returns their addresses by name. */
const functionsOf = async (
  api: Api,
  install: Install,
  packaged: readonly PackagedFunction[],
  isFresh: boolean,
  say: ReportProgress,
): Promise<(name: string) => string> => {
  const addresses = new Map<string, string>();
  for (const one of packaged) addresses.set(one.name, await ensureFunction(api, install, one, isFresh, say));
  for (const { on, members } of invokerBindings(install)) await setOnlyMembers(api, on, INVOKER_ROLE, members, say);
  return (name) => addresses.get(name) ?? install.names.address(name);
};

/** Deploys in the order of dependencies. Events start last, after everything that receives them exists. */
const deploy = async (
  closed: Api,
  install: Install,
  packaged: readonly PackagedFunction[],
  say: ReportProgress,
): Promise<void> => {
  const api = await opened(closed, install, say);
  await ensureAll(api, serviceAccounts(install), say);
  const isFresh = await grantAll(api, buildAccountGrants(install), say);
  await grantAll(
    api,
    runtimeAccountGrants(install, await ensureRole(api, install.names, fencingRole(install), say)),
    say,
  );
  await refuseForeignBucket(api, install);
  await ensureAll(api, [...topics(install), ...incidentBuckets(install)], say);
  await grantAll(api, incidentGrants(install), say);
  const addressFor = await functionsOf(api, install, packaged, isFresh, say);
  await ensureAll(api, subscriptions(install, addressFor('on-event')), say);
  await grantAll(api, grantsOnOwnResources(install, await pubSubServiceAgent(api, install)), say);
  const { writerIdentity } = writer.parse(await ensure(api, logSink(install), say));
  await grantAll(api, [eventPublisherGrant(install, writerIdentity)], say);
  await ensureAll(api, [...logMetrics(install), sweepSchedule(install, addressFor('sweep'))], say);
  await ensureAlarms(api, install, say);
  await ensureDashboard(api, install, say);
};

/**
 * Removes in reverse order and stops the events first. The custom role is kept without a binding: identities.ts
 * explains why. The bucket of incidents is kept, because people may read it later.
 */
const remove = async (api: Api, install: Install, say: ReportProgress): Promise<void> => {
  const goAway = async (resources: readonly Resource[]): Promise<void> => {
    for (const resource of resources) await ensureAbsent(api, resource, say);
  };
  await removeDashboard(api, install, say);
  await removeAlarms(api, install, say);
  await goAway([sweepSchedule(install, ''), logSink(install), ...logMetrics(install), ...subscriptions(install, '')]);
  for (const name of functionNames) await removeFunction(api, install, name, say);
  await goAway(topics(install));
  const { members, on } = grantsOutsideInstall(install);
  for (const one of on) await revokeMembers(api, one, members, say);
  await goAway(serviceAccounts(install));
};

const info = async (api: Api, install: Install): Promise<readonly string[]> => {
  const { names, parameters } = install;
  const lines: string[] = [
    `project: ${parameters.project}`,
    `region: ${parameters.region}`,
    `runs as: ${names.runner}`,
  ];
  for (const name of functionNames) {
    const present = await readFunction(api, install, name);
    lines.push(`${name}: ${present ? `${present.state} at ${functionUrl(install, name, present)}` : 'not deployed'}`);
  }
  return [
    ...lines,
    `events: ${names.topic('events')}`,
    `dead letters: ${names.subscription('dead-letters')}`,
    `incidents: gs://${parameters.incidentBucket ?? names.incidentBucket}`,
  ];
};

const invoke = async (api: Api, install: Install, name: string, payload: unknown): Promise<unknown> => {
  const present = await readFunction(api, install, name);
  // An empty answer counts as an answer. Only a missing function gives no answer.
  if (present)
    return (await api.invoke(functionUrl(install, name, present), install.names.address(name), payload)) ?? null;
  const others = await functionsInAllRegions(api, install);
  if (others.length > 0)
    throw new Refused(
      `the function ${name} does not exist in ${install.parameters.region}, but ${others.join(', ')} exist: ` +
        'check the region, or deploy again',
    );
  return undefined;
};

export const gcpDeployer = (api: Api, install: Install): Deployer => ({
  deploy: (packaged, say) => deploy(api, install, packaged, say),
  remove: (say) => remove(api, install, say),
  info: () => info(api, install),
  invoke: (name, payload) => invoke(api, install, name, payload),
  logs: (name) => readLogLines(api, install, name),
});
