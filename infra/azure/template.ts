import { identity, IDENTITY_API, ownGrants } from './access.ts';
import { DEPLOYMENTS_API, inGroup, known, nestedId, subscriptionTemplate, type Template, type TemplateResource } from './arm-template.ts';
import { bus } from './bus.ts';
import { hosting, siteHost } from './hosting.ts';
import { tagsOf, type Install } from './install.ts';
import { customGrants, customRoles } from './roles.ts';
import { onForeignTopic, topics } from './topics.ts';
import { watching, WORKSPACE_API } from './watching.ts';

const ownGroup = (install: Install): TemplateResource => ({
  type: 'Microsoft.Resources/resourceGroups',
  apiVersion: DEPLOYMENTS_API,
  name: install.names.group,
  location: install.parameters.location,
  tags: tagsOf(install),
});

const inOwnGroup = (install: Install): readonly TemplateResource[] => {
  const { names, parameters } = install;
  return [
    identity(install, names.identityId),
    ...(parameters.keylessDelivery ? [identity(install, names.deliveryId)] : []),
    ...bus(install),
    ...watching(install),
    ...hosting(install),
    ...ownGrants(install),
    ...topics(install),
  ];
};

const subscribed = (install: Install): readonly TemplateResource[] => {
  const foreign = onForeignTopic(install);
  if (!foreign) return [];
  const { names, prefix } = install;
  return [inGroup(`${prefix}-events`, { id: foreign.groupId, dependsOn: [nestedId(names.groupId, prefix)] }, [foreign.resource])];
};

/**
 * All of an install as one template of the subscription: its group and what is in it, its roles, and their assignments
 * wherever they are. https://learn.microsoft.com/azure/azure-resource-manager/templates/deploy-to-subscription
 */
export const templateOf = (install: Install): Template => {
  const { names, prefix } = install;
  return subscriptionTemplate(
    [
      ownGroup(install),
      inGroup(prefix, { id: names.groupId, dependsOn: [names.groupMade] }, inOwnGroup(install)),
      ...customRoles(install),
      ...customGrants(install),
      ...subscribed(install),
    ],
    {
      host: { type: 'string', value: siteHost(install) },
      workspace: { type: 'string', value: known(names.workspaceId, WORKSPACE_API, 'customerId') },
      principal: { type: 'string', value: known(names.identityId, IDENTITY_API, 'principalId') },
    },
  );
};
