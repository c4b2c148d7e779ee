import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import {
  DEPLOYMENTS_API_VERSION,
  groupDeployment,
  nestedDeploymentId,
  subscriptionTemplate,
  type Template,
  type TemplateResource,
  type Arm,
  runOperation,
} from './arm.ts';
import { type Install, noPackages, INSTALL_TAG, resourceTags } from './install.ts';
import { identityIds, managedIdentity, ownAssignments, customAssignments, customRoles } from './access.ts';
import { serviceBusResources, existingTopicSubscription, eventTopics } from './topics.ts';
import { hostingResources } from './hosting.ts';
import { monitoringResources } from './monitoring.ts';

const ownGroup = (install: Install): TemplateResource => ({
  type: 'Microsoft.Resources/resourceGroups',
  apiVersion: DEPLOYMENTS_API_VERSION,
  name: install.names.group,
  location: install.parameters.location,
  tags: resourceTags(install),
});

const inOwnGroup = (install: Install): readonly TemplateResource[] => [
  ...identityIds(install).map((id) => managedIdentity(install, id)),
  ...serviceBusResources(install),
  ...monitoringResources(install),
  ...hostingResources(install),
  ...ownAssignments(install),
  ...eventTopics(install),
];

const foreignTopicDeployment = (install: Install): readonly TemplateResource[] => {
  const foreign = existingTopicSubscription(install);
  if (!foreign) return [];
  const { names, prefix } = install;
  return [
    groupDeployment(
      `${prefix}-events`,
      { id: foreign.groupId, dependsOn: [nestedDeploymentId(names.groupId, prefix)] },
      [foreign.resource],
    ),
  ];
};

/**
 * Returns the whole install as one template of the subscription: its group with everything in it, its roles, and their
 * assignments in any group.
 * https://learn.microsoft.com/azure/azure-resource-manager/templates/deploy-to-subscription
 */
export const installTemplate = (install: Install): Template => {
  const { names, prefix } = install;
  return subscriptionTemplate([
    ownGroup(install),
    groupDeployment(prefix, { id: names.groupId, dependsOn: [names.groupMade] }, inOwnGroup(install)),
    ...customRoles(install),
    ...customAssignments(install),
    ...foreignTopicDeployment(install),
  ]);
};

const pathOf = ({ names }: Install, verb = ''): string =>
  `${names.scope}/providers/Microsoft.Resources/deployments/${names.deployment}${verb}?api-version=` +
  DEPLOYMENTS_API_VERSION;

/** The tag of the deployment that holds the hash of the last deployed template, without the apps' packages. */
const TEMPLATE = 'cloudfence-template';
const hashOf = (install: Install): string =>
  createHash('sha256')
    .update(JSON.stringify(installTemplate({ ...install, published: noPackages })))
    .digest('hex');

/** A preview accepts no tags. */
const previewBody = (install: Install) => ({
  location: install.parameters.location,
  properties: { mode: 'Incremental', template: installTemplate(install) },
});
const deploymentBody = (install: Install) => ({ ...previewBody(install), tags: { [TEMPLATE]: hashOf(install) } });

const deployed = z.object({ tags: z.record(z.string(), z.string()).nullish() });

/** Returns whether the last deployment in Azure's history used this exact template. */
export const isLastDeployed = async (arm: Arm, install: Install): Promise<boolean> => {
  const answer = await arm.find({ method: 'GET', path: pathOf(install) });
  return answer !== null && deployed.parse(answer.body).tags?.[TEMPLATE] === hashOf(install);
};

/** https://learn.microsoft.com/rest/api/resources/deployments/create-or-update-at-subscription-scope */
export const applyTemplate = async (arm: Arm, install: Install): Promise<void> => {
  await runOperation(arm, { method: 'PUT', path: pathOf(install), body: deploymentBody(install) });
};

interface Difference {
  readonly path: string;
  readonly propertyChangeType?: string | undefined;
  readonly after?: unknown;
  readonly children?: readonly Difference[] | null | undefined;
}

const difference: z.ZodType<Difference> = z.lazy(() =>
  z.looseObject({
    path: z.string(),
    propertyChangeType: z.string().optional(),
    after: z.unknown().optional(),
    children: z.array(difference).nullish(),
  }),
);
const change = z.object({ resourceId: z.string(), changeType: z.string(), delta: z.array(difference).nullish() });
const changes = z.object({ properties: z.object({ changes: z.array(change).default([]) }) });

type Change = z.infer<typeof change>;

/**
 * Reports whether a value is an unresolved expression. The preview does not evaluate `reference()`, so a value from
 * another resource always looks changed.
 */
const isUnknown = (after: unknown): boolean => typeof after === 'string' && /^\[(?!\[).*\]$/s.test(after);

const isChange = ({ propertyChangeType, after, children }: Difference): boolean => {
  if (children && children.length > 0) return children.some(isChange);
  return propertyChangeType !== 'NoEffect' && !isUnknown(after);
};

const known = (one: Change): Change => (one.delta ? { ...one, delta: one.delta.filter(isChange) } : one);

/** Returns whether a change counts. A modification without a relevant difference does not count. */
const counts = ({ changeType, delta }: Change): boolean =>
  !UNCHANGED.has(changeType) && !(changeType === 'Modify' && delta?.length === 0);

const UNCHANGED: ReadonlySet<string> = new Set(['NoChange', 'Ignore', 'NoEffect']);

/**
 * Returns what a deployment would change.
 * https://learn.microsoft.com/rest/api/resources/deployments/what-if-at-subscription-scope
 */
export const previewDeployment = async (arm: Arm, install: Install): Promise<readonly Change[]> => {
  const answer = await runOperation(arm, {
    method: 'POST',
    path: pathOf(install, '/whatIf'),
    body: previewBody(install),
  });
  return changes.parse(answer.body).properties.changes.map(known).filter(counts);
};

/** Deletes only the deployment's entry in the history. `removal.ts` removes the resources that it created. */
export const deleteDeploymentEntry = async (arm: Arm, install: Install): Promise<void> => {
  if (await arm.find({ method: 'GET', path: pathOf(install) }))
    await runOperation(arm, { method: 'DELETE', path: pathOf(install) });
};

/**
 * The resource group of an install. Deleting the group deletes everything in it, so the group must belong to this
 * install.
 */

const group = z.object({ tags: z.record(z.string(), z.string()).nullish() });

/**
 * Reports whether the group exists.
 * @throws Refused if the group exists without the install's tag: it belongs to someone else, so a deployment must not
 * fill it and a removal must not delete it
 */
export const ownGroupExists = async (arm: Arm, { names, prefix }: Install): Promise<boolean> => {
  const answer = await arm.find({ method: 'GET', path: `${names.groupId}?api-version=${DEPLOYMENTS_API_VERSION}` });
  if (answer === null) return false;
  if (group.parse(answer.body).tags?.[INSTALL_TAG] === prefix) return true;
  throw new Refused(
    `the resource group ${names.group} does not have the tag ${INSTALL_TAG}: ${prefix}, so Cloudfence changed ` +
      'nothing. If the group belongs to this install, add the tag again. If it does not, choose another stage',
  );
};
