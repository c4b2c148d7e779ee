import { z } from 'zod';
import { PermissionDenied } from '../../fencing/model/errors.ts';
import type { ReportProgress } from '../serverless/deployer.ts';
import { errorFromResponse, isSuccess, type Api, type ApiCall } from './api.ts';
import { secretNames } from './grants.ts';
import type { Install } from './install.ts';

/**
 * The permissions that the person who deploys needs. docs/gcp.md has the same list, and a test compares both with the
 * calls that a deployment makes.
 */

export const projectPermissions = [
  'cloudfunctions.functions.create',
  'cloudfunctions.functions.delete',
  'cloudfunctions.functions.get',
  'cloudfunctions.functions.list',
  'cloudfunctions.functions.sourceCodeSet',
  'cloudfunctions.functions.update',
  'cloudfunctions.operations.get',
  'cloudscheduler.jobs.create',
  'cloudscheduler.jobs.delete',
  'cloudscheduler.jobs.get',
  'cloudscheduler.jobs.update',
  'iam.roles.create',
  'iam.roles.list',
  'iam.roles.undelete',
  'iam.roles.update',
  'iam.serviceAccounts.actAs',
  'iam.serviceAccounts.create',
  'iam.serviceAccounts.delete',
  'iam.serviceAccounts.get',
  'iam.serviceAccounts.getIamPolicy',
  'iam.serviceAccounts.setIamPolicy',
  'iam.serviceAccounts.update',
  'logging.logEntries.list',
  'logging.logMetrics.create',
  'logging.logMetrics.delete',
  'logging.logMetrics.get',
  'logging.logMetrics.update',
  'logging.sinks.create',
  'logging.sinks.delete',
  'logging.sinks.get',
  'logging.sinks.update',
  'monitoring.alertPolicies.create',
  'monitoring.alertPolicies.delete',
  'monitoring.alertPolicies.list',
  'monitoring.alertPolicies.update',
  'monitoring.dashboards.create',
  'monitoring.dashboards.delete',
  'monitoring.dashboards.get',
  'monitoring.dashboards.list',
  'monitoring.dashboards.update',
  'pubsub.subscriptions.create',
  'pubsub.subscriptions.delete',
  'pubsub.subscriptions.get',
  'pubsub.subscriptions.getIamPolicy',
  'pubsub.subscriptions.setIamPolicy',
  'pubsub.subscriptions.update',
  'pubsub.topics.attachSubscription',
  'pubsub.topics.create',
  'pubsub.topics.delete',
  'pubsub.topics.get',
  'pubsub.topics.getIamPolicy',
  'pubsub.topics.setIamPolicy',
  'resourcemanager.projects.get',
  'resourcemanager.projects.getIamPolicy',
  'resourcemanager.projects.setIamPolicy',
  'run.services.getIamPolicy',
  'run.services.setIamPolicy',
  'serviceusage.services.enable',
  'serviceusage.services.get',
  'storage.buckets.create',
  'storage.buckets.get',
  'storage.buckets.getIamPolicy',
  'storage.buckets.setIamPolicy',
  'storage.buckets.update',
] as const;

/** Needed on each secret that contains access to a cluster. */
export const secretPermissions = ['secretmanager.secrets.getIamPolicy', 'secretmanager.secrets.setIamPolicy'] as const;

const allowed = z.looseObject({ permissions: z.array(z.string()).default([]) });
/**
 * Limits the permissions in one request.
 * https://cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions
 */
const MOST_AT_ONCE = 100;

const missingPermissions = async (
  api: Api,
  call: Omit<ApiCall, 'method' | 'body'>,
  permissions: readonly string[],
  say: ReportProgress,
): Promise<readonly string[]> => {
  const asked: ApiCall = {
    method: 'POST',
    ...call,
    path: `${call.path}:testIamPermissions`,
    body: { permissions: permissions.slice(0, MOST_AT_ONCE) },
  };
  const answer = await api.ask(asked);
  // A permission that Google no longer knows makes the request invalid, which is no reason to stop a deployment.
  if (answer.status === 400)
    say(`the check of your permissions failed, so it was skipped: ${errorFromResponse(asked, answer).message}`);
  if (answer.status === 400) return [];
  if (!isSuccess(answer)) throw errorFromResponse(asked, answer);
  const may = new Set(allowed.parse(answer.body).permissions);
  return permissions.filter((one) => !may.has(one));
};

/**
 * Checks the caller's permissions before anything of the install is made.
 * @throws PermissionDenied with all permissions that the caller lacks
 */
export const checkPermissions = async (api: Api, install: Install, say: ReportProgress): Promise<void> => {
  const { names } = install;
  const faults = (
    await missingPermissions(api, { host: 'projects', path: `v1/${names.project}` }, projectPermissions, say)
  ).map((one) => `${one} on ${names.project}`);
  for (const secret of secretNames(install))
    faults.push(
      ...(await missingPermissions(api, { host: 'secrets', path: `v1/${secret}` }, secretPermissions, say)).map(
        (one) => `${one} on ${secret}`,
      ),
    );
  if (faults.length > 0)
    throw new PermissionDenied(
      `Cloudfence deployed nothing, because your credentials do not have ${faults.join(', ')} (docs/gcp.md, ` +
        '"Permissions for the deployment"). To deploy without this check, set checkPermissions to false',
    );
};
