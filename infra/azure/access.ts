import { referenceTo, type TemplateResource } from './arm-template.ts';
import { type Install, resourceTags, appNames, DEAD_LETTER_QUEUE, EVENTS_QUEUE, type FunctionApp } from './install.ts';

export const IDENTITY_API_VERSION = '2023-01-31';
export const AUTHORIZATION_API_VERSION = '2022-04-01';

/**
 * Azure's built-in roles that its Functions host requires.
 * https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
 */
export const builtInRoles = {
  blobOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  blobContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe',
  busReceiver: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
  busSender: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39',
  eventGridSender: 'd5a91429-5739-47e2-a06b-3470a27159e7',
  metricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb',
} as const;

export const managedIdentity = ({ parameters, ...install }: Install, id: string): TemplateResource => ({
  type: 'Microsoft.ManagedIdentity/userAssignedIdentities',
  apiVersion: IDENTITY_API_VERSION,
  name: id.split('/').at(-1) ?? '',
  location: parameters.location,
  tags: resourceTags(install),
});

export const identityIds = ({ names, parameters }: Install): readonly string[] => [
  ...appNames.map((name) => names.apps[name].identityId),
  ...(parameters.keylessDelivery ? [names.deliveryId] : []),
];

/** A role that an identity has on a scope. */
export interface Grant {
  /** Full ids of the role, of the scope (`on`), and of the identity (`to`). */
  readonly role: string;
  readonly on: string;
  readonly to: string;
}

export const roleAssignmentId = ({ names }: Install, { role, on, to }: Grant): string =>
  `${on}/providers/Microsoft.Authorization/roleAssignments/${names.assignment(role, on, to)}`;

/**
 * How the surrounding template names the scope. Without `scope`, the scope is the target of that template's deployment.
 */
interface ScopeSpelling {
  readonly scope?: string;
  readonly dependsOn: readonly string[];
}

/** Names the type of the principal, because Azure may not know a new principal everywhere yet. */
export const roleAssignment = (
  { names }: Install,
  { role, on, to }: Grant,
  { scope, dependsOn }: ScopeSpelling,
): TemplateResource => ({
  type: 'Microsoft.Authorization/roleAssignments',
  apiVersion: AUTHORIZATION_API_VERSION,
  name: names.assignment(role, on, to),
  ...(scope !== undefined && { scope }),
  dependsOn,
  properties: {
    roleDefinitionId: role,
    principalId: referenceTo(to, IDENTITY_API_VERSION, 'principalId'),
    principalType: 'ServicePrincipal',
  },
});

export const builtInRoleId = ({ names }: Install, role: string): string =>
  `${names.scope}/providers/Microsoft.Authorization/roleDefinitions/${role}`;

/** Lets Event Grid's own identity send to the events queue, and nothing else. */
export const eventDeliveryGrant = (install: Install): Grant => ({
  role: builtInRoleId(install, builtInRoles.busSender),
  on: install.names.queueId(EVENTS_QUEUE),
  to: install.names.deliveryId,
});

/** Grants what the Functions host and Azure's logs require for each app, on the app's own resources. */
const hostGrants = (install: Install, { identityId: to, storageId, containerId }: FunctionApp): readonly Grant[] => [
  { role: builtInRoleId(install, builtInRoles.blobOwner), on: storageId, to },
  { role: builtInRoleId(install, builtInRoles.blobContributor), on: containerId, to },
  { role: builtInRoleId(install, builtInRoles.metricsPublisher), on: install.names.insightsId, to },
];

const queueGrants = (install: Install): readonly Grant[] => {
  const { names, parameters } = install;
  const [receiver, sender] = [
    builtInRoleId(install, builtInRoles.busReceiver),
    builtInRoleId(install, builtInRoles.busSender),
  ];
  const [events, dead] = [names.queueId(EVENTS_QUEUE), names.queueId(DEAD_LETTER_QUEUE)];
  const { app, door } = names.apps;
  return [
    { role: receiver, on: events, to: app.identityId },
    { role: sender, on: events, to: app.identityId },
    { role: sender, on: dead, to: app.identityId },
    { role: sender, on: events, to: door.identityId },
    ...(parameters.keylessDelivery ? [eventDeliveryGrant(install)] : []),
  ];
};

/** All grants of the apps and of Event Grid in the install's own group. */
export const ownGrants = (install: Install): readonly Grant[] => [
  ...appNames.flatMap((name) => hostGrants(install, install.names.apps[name])),
  ...queueGrants(install),
];

export const ownAssignments = (install: Install): readonly TemplateResource[] => {
  const within = (id: string): string => id.slice(`${install.names.groupId}/providers/`.length);
  return ownGrants(install).map((grant) =>
    roleAssignment(install, grant, { scope: within(grant.on), dependsOn: [grant.to, grant.on] }),
  );
};
