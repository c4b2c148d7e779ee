import { identityIds, managedIdentity, ownAssignments } from './access.ts';
import {
  DEPLOYMENTS_API_VERSION,
  groupDeployment,
  nestedDeploymentId,
  subscriptionTemplate,
  type Template,
  type TemplateResource,
} from './arm-template.ts';
import { serviceBusResources, existingTopicSubscription, eventTopics } from './topics.ts';
import { hostingResources } from './hosting.ts';
import { type Install, resourceTags } from './install.ts';
import { customAssignments, customRoles } from './roles.ts';
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
