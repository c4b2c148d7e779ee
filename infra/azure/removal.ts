import { z } from 'zod';
import type { ReportProgress } from '../serverless/deployer.ts';
import {
  roleAssignmentId,
  AUTHORIZATION_API_VERSION,
  IDENTITY_API_VERSION,
  ownGrants,
  customGrants,
  roleNames,
} from './access.ts';
import { DEPLOYMENTS_API_VERSION, type Template, type TemplateResource, type Arm, runOperation } from './arm.ts';
import { deleteDeploymentEntry, ownGroupExists } from './deployment.ts';
import { type Install, INSTALL_TAG, appNames } from './install.ts';
import { EVENT_GRID_API_VERSION } from './topics.ts';

const deleteIfPresent = async (arm: Arm, path: string, say: ReportProgress): Promise<void> => {
  if ((await arm.find({ method: 'GET', path })) === null) return;
  await runOperation(arm, { method: 'DELETE', path });
  say(`${path.split('?')[0]}: removed`);
};

/** Removes the install. It stops the events first, and removes what the functions work with last. */
export const removeInstall = async (arm: Arm, install: Install, say: ReportProgress): Promise<void> => {
  const { names, parameters, prefix } = install;
  const hasGroup = await ownGroupExists(arm, install);
  if (parameters.systemTopic !== null)
    await deleteIfPresent(
      arm,
      `${parameters.systemTopic}/eventSubscriptions/${prefix}?api-version=${EVENT_GRID_API_VERSION}`,
      say,
    );
  await removeAssignments(arm, install, null, say);
  await removeStaleAssignments(arm, install, say);
  for (const role of roleNames)
    await deleteIfPresent(arm, `${names.roleId(role)}?api-version=${AUTHORIZATION_API_VERSION}`, say);
  if (hasGroup) await deleteIfPresent(arm, `${names.groupId}?api-version=${DEPLOYMENTS_API_VERSION}`, say);
  await deleteDeploymentEntry(arm, install);
};

/**
 * Removes what an earlier deployment created and this one no longer needs, because a template adds and changes
 * resources but never removes any.
 */

const listed = z.object({
  value: z.array(z.object({ id: z.string(), type: z.string(), tags: z.record(z.string(), z.string()).nullish() })),
});

const nested = z.object({ template: z.object({ resources: z.array(z.custom<TemplateResource>()) }) });

const flatten = (resources: readonly TemplateResource[]): readonly TemplateResource[] =>
  resources.flatMap((one) => [
    one,
    ...(one.type === 'Microsoft.Resources/deployments' ? flatten(nested.parse(one.properties).template.resources) : []),
  ]);

const resourceKey = ({ type, name }: { readonly type: string; readonly name: string }): string =>
  `${type}/${name}`.toLowerCase();

/** Returns the API version for deleting a resource, which is all that differs between types. */
const versionFor = (type: string, wanted: readonly TemplateResource[]): string =>
  wanted.find((one) => one.type.toLowerCase() === type.toLowerCase())?.apiVersion ??
  ALERTS_API[type.toLowerCase()] ??
  DEPLOYMENTS_API_VERSION;

/** Versions for types that a template may not contain. */
const ALERTS_API: Readonly<Record<string, string>> = {
  'microsoft.eventgrid/systemtopics': '2025-02-15',
  'microsoft.managedidentity/userassignedidentities': IDENTITY_API_VERSION,
};

/** Removes resources with the install's tag from its own group. */
export const removeLeftovers = async (
  arm: Arm,
  { names, prefix }: Install,
  template: Template,
  say: ReportProgress,
): Promise<void> => {
  const wanted = flatten(template.resources);
  const kept = new Set(wanted.map(resourceKey));
  const { body } = await arm.call({
    method: 'GET',
    path: `${names.groupId}/resources?api-version=${DEPLOYMENTS_API_VERSION}`,
  });
  for (const { id, type, tags } of listed.parse(body).value) {
    if (tags?.[INSTALL_TAG] !== prefix || kept.has(resourceKey({ type, name: id.split('/').at(-1) ?? '' }))) continue;
    await runOperation(arm, { method: 'DELETE', path: `${id}?api-version=${versionFor(type, wanted)}` });
    say(`${id}: removed`);
  }
};

const principal = z.object({ properties: z.object({ principalId: z.string() }) });
const assignments = z.object({
  value: z.array(z.object({ id: z.string(), name: z.string(), properties: z.object({ principalId: z.string() }) })),
});

export const readPrincipalId = async (arm: Arm, id: string): Promise<string | null> => {
  const answer = await arm.find({ method: 'GET', path: `${id}?api-version=${IDENTITY_API_VERSION}` });
  return answer && principal.parse(answer.body).properties.principalId;
};

/** The ids of all identities that an install can have had. Some may no longer exist. */
const identityIds = ({ names }: Install): readonly string[] => [
  ...appNames.map((name) => names.apps[name].identityId),
  names.deliveryId,
];

/** Removes all role assignments of the install's identities in the subscription, except those in the template. */
export const removeAssignments = async (
  arm: Arm,
  install: Install,
  template: Template | null,
  say: ReportProgress,
): Promise<void> => {
  const { names } = install;
  const kept = new Set(template ? flatten(template.resources).map(({ name }) => name) : []);
  for (const id of identityIds(install)) {
    const of = await readPrincipalId(arm, id);
    if (of === null) continue;
    const path =
      `${names.scope}/providers/Microsoft.Authorization/roleAssignments?api-version=` +
      `${AUTHORIZATION_API_VERSION}&$filter=${encodeURIComponent(`principalId eq '${of}'`)}`;
    const { value } = assignments.parse((await arm.call({ method: 'GET', path })).body);
    for (const one of value.filter(({ name, properties }) => properties.principalId === of && !kept.has(name)))
      await removeAssignment(arm, one.id, say);
  }
};

const removeAssignment = async (arm: Arm, id: string, say: ReportProgress): Promise<void> => {
  await arm.call({ method: 'DELETE', path: `${id}?api-version=${AUTHORIZATION_API_VERSION}` });
  say(`${id}: removed`);
};

/**
 * Removes assignments of an identity that no longer exists or has been created again. Their names are the same as in
 * the template, and ARM does not let an assignment change its principal (RoleAssignmentUpdateNotPermitted).
 */
export const removeStaleAssignments = async (arm: Arm, install: Install, say: ReportProgress): Promise<void> => {
  const present = new Map<string, string | null>();
  for (const id of identityIds(install)) present.set(id, await readPrincipalId(arm, id));
  for (const grant of [...ownGrants(install), ...customGrants(install)]) {
    const id = roleAssignmentId(install, grant);
    const found = await arm.find({ method: 'GET', path: `${id}?api-version=${AUTHORIZATION_API_VERSION}` });
    if (found && principal.parse(found.body).properties.principalId !== present.get(grant.to))
      await removeAssignment(arm, id, say);
  }
};
