import { Refused } from '../../fencing/errors.ts';
import type { Deployer, PackagedFunction, Say } from '../serverless/deployer.ts';
import type { Arm } from './arm.ts';
import { invoke, logLines } from './calling.ts';
import { applyTemplate, lastDeployment, previewed } from './deployment.ts';
import type { Install } from './install.ts';
import { removeAssignments, removeLeftovers } from './leftovers.ts';
import { DEAD_LETTERS, EVENTS, functionNames, httpFunctions } from './names.ts';
import { hashOf, publish, readSite } from './publish.ts';
import { remove } from './removal.ts';
import { templateOf } from './template.ts';

/** As it stands: the tag of the app's package is not the template's to change. */
const asItStands = async (arm: Arm, install: Install): Promise<Install> => ({ ...install, published: (await readSite(arm, install))?.published ?? null });

const preview = async (arm: Arm, install: Install, say: Say): Promise<void> => {
  const changes = await previewed(arm, await asItStands(arm, install));
  for (const { changeType, resourceId, delta } of changes) say(`${changeType}: ${resourceId}${delta?.length ? ` (${delta.map(({ path }) => path).join(', ')})` : ''}`);
  if (changes.length === 0) say('nothing would change');
};

/** All functions are one app, so their packages are one and the same. */
const packageIn = ([first]: readonly PackagedFunction[]): Buffer => {
  if (!first) throw new Refused('nothing is packaged');
  return first.zip;
};

const upload = async (arm: Arm, install: Install, zip: Buffer, say: Say): Promise<void> => {
  const site = await readSite(arm, install);
  if (site?.published === hashOf(zip)) return say('the package: unchanged');
  if (!site || site.door === null) throw new Refused(`the app ${install.names.site} has no door for its package`);
  await publish(arm, install, site.door, zip);
  say('the package: published');
};

/**
 * What would change is asked first, so that nothing is said to be done that was not. ARM's preview does not see into every
 * nested deployment, so its silence counts only for a template that was deployed before.
 */
const deploy = async (arm: Arm, wanted: Install, functions: readonly PackagedFunction[], say: Say): Promise<void> => {
  const zip = packageIn(functions);
  const install = await asItStands(arm, wanted);
  const changes = await previewed(arm, install);
  for (const { changeType, resourceId } of changes) say(`${resourceId}: ${changeType.toLowerCase()}`);
  const last = await lastDeployment(arm, install);
  if (changes.length === 0 && last?.isThisOne) say('the template: unchanged');
  else await applyTemplate(arm, install);
  const template = templateOf(install);
  await removeLeftovers(arm, install, template, say);
  await removeAssignments(arm, install, template, say);
  await upload(arm, install, zip, say);
};

const info = async (arm: Arm, install: Install): Promise<readonly string[]> => {
  const { names, parameters } = install;
  const [site, outputs] = [await readSite(arm, install), await lastDeployment(arm, install)];
  const lines = [`subscription: ${parameters.subscription}`, `group: ${names.group}`, `location: ${parameters.location}`, `app: ${site ? `${names.site}, ${site.state}` : 'not deployed'}`];
  if (!site) return lines;
  const addressOf = (name: string): string => (httpFunctions.some((one) => one === name) ? `https://${outputs?.host ?? '(unknown)'}/api/${name}` : 'called by Azure only');
  return [...lines, `identity: ${outputs?.principal ?? 'unknown'}`, `package: ${site.published ?? 'none yet'}`, ...functionNames.map((name) => `${name}: ${addressOf(name)}`), `events: ${names.queueId(EVENTS)}`, `dead letters: ${names.queueId(DEAD_LETTERS)}`];
};

export const azureDeployer = (arm: Arm, install: Install, endpoint: string | null): Deployer => ({
  deploy: (functions, say) => deploy(arm, install, functions, say),
  preview: (say) => preview(arm, install, say),
  remove: (say) => remove(arm, install, say),
  info: () => info(arm, install),
  invoke: (name, payload) => invoke(arm, install, name, payload),
  logs: (name) => logLines(arm, install, name, endpoint),
});
