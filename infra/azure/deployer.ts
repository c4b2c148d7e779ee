import { createHash } from 'node:crypto';
import { z } from 'zod';
import { nonEmptyText } from '../../fencing/model/foreign-text.ts';
import { Refused, PermissionDenied, Unavailable } from '../../fencing/model/errors.ts';
import type { Deployer, PackagedFunction, ReportProgress } from '../serverless/deployer.ts';
import { type Arm, errorFromResponse } from './arm.ts';
import { invokeFunction, readLogLines, readFunctionSite, type FunctionSite } from './calling.ts';
import { applyTemplate, isLastDeployed, ownGroupExists, previewDeployment, installTemplate } from './deployment.ts';
import {
  type Install,
  PACKAGE,
  type FunctionApp,
  type AppName,
  appNames,
  appOf,
  DEAD_LETTER_QUEUE,
  EVENTS_QUEUE,
  functionNames,
  httpFunctions,
} from './install.ts';
import {
  readPrincipalId,
  removeInstall,
  removeAssignments,
  removeLeftovers,
  removeStaleAssignments,
} from './removal.ts';

/**
 * Returns the install with the packages that its apps run now. The template must not change the tag of an app's
 * package.
 */
const withPublishedPackages = async (arm: Arm, install: Install): Promise<Install> => {
  const published = async (name: AppName): Promise<string | null> =>
    (await readFunctionSite(arm, install.names.apps[name]))?.published ?? null;
  return { ...install, published: { app: await published('app'), door: await published('door') } };
};

const preview = async (arm: Arm, install: Install, say: ReportProgress): Promise<void> => {
  const changes = await previewDeployment(arm, await withPublishedPackages(arm, install));
  for (const { changeType, resourceId, delta } of changes)
    say(`${changeType}: ${resourceId}${delta?.length ? ` (${delta.map(({ path }) => path).join(', ')})` : ''}`);
  if (changes.length === 0) say('the deployment would change nothing');
};

/** Returns the package of an app. All functions of an app share one package. */
const packageOf = (name: AppName, functions: readonly PackagedFunction[]): Buffer => {
  const found = functions.find((one) => appOf(one.name) === name);
  if (!found) throw new Refused('there is no package: run `serverless package` first');
  return found.zip;
};

const upload = async (arm: Arm, app: FunctionApp, zip: Buffer, say: ReportProgress): Promise<void> => {
  const site = await readFunctionSite(arm, app);
  if (site?.published === packageHash(app, zip)) return say(`package of ${app.site}: unchanged`);
  if (!site || site.scmHost === null)
    throw new Refused(`the app ${app.site} does not exist or has no host name for deployments: deploy again`);
  await publishPackage(arm, app, site.scmHost, zip, say);
  say(`package of ${app.site}: published`);
};

/**
 * Deploys the install. It previews the changes first, so that it reports only what changes. ARM's preview does not see
 * into every nested deployment, so an empty preview counts only for a template that was deployed before.
 */
const deploy = async (
  arm: Arm,
  wanted: Install,
  functions: readonly PackagedFunction[],
  say: ReportProgress,
): Promise<void> => {
  const packages = appNames.map((name) => ({ app: wanted.names.apps[name], zip: packageOf(name, functions) }));
  await ownGroupExists(arm, wanted);
  const install = await withPublishedPackages(arm, wanted);
  const changes = await previewDeployment(arm, install);
  for (const { changeType, resourceId } of changes) say(`${resourceId}: ${changeType.toLowerCase()}`);
  if (changes.length === 0 && (await isLastDeployed(arm, install))) say('template: unchanged');
  else {
    await removeStaleAssignments(arm, install, say);
    await applyTemplate(arm, install);
  }
  const template = installTemplate(install);
  // Removes the role assignments first, because they can no longer be found once their identity is gone.
  await removeAssignments(arm, install, template, say);
  await removeLeftovers(arm, install, template, say);
  for (const { app, zip } of packages) await upload(arm, app, zip, say);
};

const addresses = (sites: Readonly<Record<AppName, FunctionSite | null>>): readonly string[] =>
  functionNames.map((name) => {
    const host = sites[appOf(name) ?? 'app']?.host ?? '(unknown)';
    return (
      `${name}: ` + (httpFunctions.some((one) => one === name) ? `https://${host}/api/${name}` : 'called by Azure only')
    );
  });

const info = async (arm: Arm, install: Install): Promise<readonly string[]> => {
  const { names, parameters } = install;
  const { app, door } = names.apps;
  const sites = { app: await readFunctionSite(arm, app), door: await readFunctionSite(arm, door) };
  const lines = [
    `subscription: ${parameters.subscription}`,
    `group: ${names.group}`,
    `location: ${parameters.location}`,
    `app: ${sites.app ? `${app.site}, ${sites.app.state}` : 'not deployed'}`,
  ];
  if (!sites.app) return lines;
  const principal = await readPrincipalId(arm, app.identityId);
  return [
    ...lines,
    `door: ${sites.door ? `${door.site}, ${sites.door.state}` : 'not deployed'}`,
    `identity: ${principal ?? 'unknown'}`,
    `package: ${sites.app.published ?? 'none yet'}`,
    ...addresses(sites),
    `events: ${names.queueId(EVENTS_QUEUE)}`,
    `dead letters: ${names.queueId(DEAD_LETTER_QUEUE)}`,
  ];
};

export const azureDeployer = (arm: Arm, install: Install, endpoint: string | null): Deployer => ({
  deploy: (functions, say) => deploy(arm, install, functions, say),
  preview: (say) => preview(arm, install, say),
  remove: (say) => removeInstall(arm, install, say),
  info: () => info(arm, install),
  invoke: (name, payload) => invokeFunction(arm, install, name, payload),
  logs: (name) => readLogLines(arm, install, name, endpoint),
});

/** Hashes the package with its container, because a package in another container is not published yet. */
const packageHash = ({ containerUrl }: Pick<FunctionApp, 'containerUrl'>, zip: Buffer): string =>
  createHash('sha256').update(`${containerUrl}\n`).update(zip).digest('hex');

const progress = z.object({ status: z.int(), status_text: z.string().nullish() });
/**
 * Status codes of a deployment.
 * https://github.com/projectkudu/kudu/wiki/REST-API
 */
const SUCCEEDED = 4;
const FAILED: readonly number[] = [-1, 3, 5, 6];
const BETWEEN_MS = 2_000;
const TIMES = 150;

const waitUntilPublished = async (arm: Arm, scmHost: string, id: string): Promise<void> => {
  const call = { method: 'GET', path: `https://${scmHost}/api/deployments/${id}` } as const;
  let seen = false;
  for (let times = 0; times < TIMES; times += 1) {
    await arm.wait(BETWEEN_MS);
    const answer = await arm.ask(call);
    // The worker that reports the deployment starts late, and stops once the deployment is done.
    if (answer.status === 404 && !seen) continue;
    if (answer.status === 404) return;
    if (answer.status !== 200 && answer.status !== 202) throw errorFromResponse(call, answer);
    const { status, status_text: why } = progress.parse(answer.body);
    seen = true;
    if (status === SUCCEEDED) return;
    if (FAILED.includes(status)) throw new Refused(`Azure rejected the package: ${why ?? `status ${status}`}`);
  }
  throw new Unavailable('Azure did not confirm the package within five minutes');
};

const publishOnce = async (arm: Arm, scmHost: string, zip: Buffer): Promise<void> => {
  const { body } = await arm.call({ method: 'POST', path: `https://${scmHost}/api/publish`, body: zip });
  await waitUntilPublished(arm, scmHost, nonEmptyText.parse(body));
};

/**
 * The time that Azure gives for a new role to take effect everywhere.
 * https://learn.microsoft.com/azure/role-based-access-control/troubleshooting
 */
const ROLE_SPREADS_MS = 600_000;
const RETRY_AFTER_MS = 20_000;

/**
 * Publishes the package to the app's own deployment endpoint, which puts it into the container:
 * https://learn.microsoft.com/azure/azure-functions/functions-deployment-technologies
 *
 * Tries again while the app is refused. The endpoint writes the package with the app's identity, whose role can be
 * minutes old and not yet in effect. The endpoint is then denied, or it accepts the package and fails. Neither case has
 * its own error code, so a refusal counts only if it lasts.
 */
const publishUntilAccepted = async (arm: Arm, scmHost: string, zip: Buffer, say: ReportProgress): Promise<void> => {
  for (let waited = 0; ; waited += RETRY_AFTER_MS) {
    try {
      return await publishOnce(arm, scmHost, zip);
    } catch (error) {
      if (!(error instanceof PermissionDenied || error instanceof Refused) || waited >= ROLE_SPREADS_MS) throw error;
      say(`package: not accepted yet, trying again in ${RETRY_AFTER_MS / 1_000} s: ${error.message}`);
      await arm.wait(RETRY_AFTER_MS);
    }
  }
};

const publishPackage = async (
  arm: Arm,
  app: FunctionApp,
  scmHost: string,
  zip: Buffer,
  say: ReportProgress,
): Promise<void> => {
  await publishUntilAccepted(arm, scmHost, zip, say);
  const tags = { [PACKAGE]: packageHash(app, zip) };
  await arm.call({
    method: 'PATCH',
    path: `${app.siteId}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01`,
    body: { operation: 'Merge', properties: { tags } },
  });
};
