import { Refused } from '../../fencing/model/errors.ts';
import type { Deployer, PackagedFunction, ReportProgress } from '../serverless/deployer.ts';
import type { Arm } from './arm.ts';
import { invokeFunction, readLogLines, readFunctionSite, type FunctionSite } from './calling.ts';
import { applyTemplate, isLastDeployed, ownGroupExists, previewDeployment } from './deployment.ts';
import type { Install } from './install.ts';
import {
  readPrincipalId,
  removeInstall,
  removeAssignments,
  removeLeftovers,
  removeStaleAssignments,
} from './removal.ts';
import {
  type FunctionApp,
  type AppName,
  appNames,
  appOf,
  DEAD_LETTER_QUEUE,
  EVENTS_QUEUE,
  functionNames,
  httpFunctions,
} from './names.ts';
import { packageHash, publishPackage } from './publish.ts';
import { installTemplate } from './template.ts';

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
    return `${name}: ${httpFunctions.some((one) => one === name) ? `https://${host}/api/${name}` : 'called by Azure only'}`;
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
