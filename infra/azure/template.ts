import { identitiesOf, identity, ownAssignments } from './access.ts';
import {
  DEPLOYMENTS_API,
  inGroup,
  nestedId,
  subscriptionTemplate,
  type Template,
  type TemplateResource,
} from './arm-template.ts';
import { bus, onForeignTopic, topics } from './topics.ts';
import { hosting } from './hosting.ts';
import { type Install, tagsOf } from './install.ts';
import { customAssignments, customRoles } from './roles.ts';
import { watching } from './watching.ts';

const ownGroup = (install: Install): TemplateResource => ({
  type: 'Microsoft.Resources/resourceGroups',
  apiVersion: DEPLOYMENTS_API,
  name: install.names.group,
  location: install.parameters.location,
  tags: tagsOf(install),
});

const inOwnGroup = (install: Install): readonly TemplateResource[] => [
  ...identitiesOf(install).map((id) => identity(install, id)),
  ...bus(install),
  ...watching(install),
  ...hosting(install),
  ...ownAssignments(install),
  ...topics(install),
];

const subscribed = (install: Install): readonly TemplateResource[] => {
  const foreign = onForeignTopic(install);
  if (!foreign) return [];
  const { names, prefix } = install;
  return [
    inGroup(`${prefix}-events`, { id: foreign.groupId, dependsOn: [nestedId(names.groupId, prefix)] }, [
      foreign.resource,
    ]),
  ];
};

/**
 * Returns the whole install as one template of the subscription: its group with everything in it, its roles, and their
 * assignments in any group.
 * https://learn.microsoft.com/azure/azure-resource-manager/templates/deploy-to-subscription
 */
export const templateOf = (install: Install): Template => {
  const { names, prefix } = install;
  return subscriptionTemplate([
    ownGroup(install),
    inGroup(prefix, { id: names.groupId, dependsOn: [names.groupMade] }, inOwnGroup(install)),
    ...customRoles(install),
    ...customAssignments(install),
    ...subscribed(install),
  ]);
};
