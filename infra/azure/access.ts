import { EVENTS, DEAD_LETTERS } from './names.ts';
import { known, type TemplateResource } from './arm-template.ts';
import type { Install } from './install.ts';
import { tagsOf } from './install.ts';

export const IDENTITY_API = '2023-01-31';
export const AUTHORIZATION_API = '2022-04-01';

/** Roles of Azure's own that its Functions host asks for. https://learn.microsoft.com/azure/role-based-access-control/built-in-roles */
export const builtIn = {
  blobOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b',
  busReceiver: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
  busSender: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39',
  metricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb',
} as const;

export const identity = ({ parameters, ...install }: Install, id: string): TemplateResource => ({
  type: 'Microsoft.ManagedIdentity/userAssignedIdentities',
  apiVersion: IDENTITY_API,
  name: id.split('/').at(-1) ?? '',
  location: parameters.location,
  tags: tagsOf(install),
});

export interface Grant {
  readonly role: string;
  /** Full id of what it is on, and the scope as the template around it spells it; without one it is the template's own. */
  readonly on: string;
  readonly scope?: string;
  readonly to: string;
  readonly dependsOn: readonly string[];
}

/** The type of the principal is named because a new one may not be known everywhere yet. */
export const assignment = ({ names }: Install, { role, on, scope, to, dependsOn }: Grant): TemplateResource => ({
  type: 'Microsoft.Authorization/roleAssignments',
  apiVersion: AUTHORIZATION_API,
  name: names.assignment(role, on, to),
  ...(scope !== undefined && { scope }),
  dependsOn,
  properties: { roleDefinitionId: role, principalId: known(to, IDENTITY_API, 'principalId'), principalType: 'ServicePrincipal' },
});

const roleOf = ({ names }: Install, role: string): string => `${names.scope}/providers/Microsoft.Authorization/roleDefinitions/${role}`;

/** What the app may do with its own storage, queues and metrics. */
export const ownGrants = (install: Install): readonly TemplateResource[] => {
  const { names, parameters } = install;
  const within = (id: string): string => id.slice(`${names.groupId}/providers/`.length);
  const grant = (role: string, on: string, to = names.identityId): TemplateResource => assignment(install, { role: roleOf(install, role), on, scope: within(on), to, dependsOn: [to, on] });
  const [events, dead] = [names.queueId(EVENTS), names.queueId(DEAD_LETTERS)];
  return [
    grant(builtIn.blobOwner, names.storageId),
    grant(builtIn.busReceiver, events),
    grant(builtIn.busSender, events),
    grant(builtIn.busSender, dead),
    grant(builtIn.metricsPublisher, names.insightsId),
    ...(parameters.keylessDelivery ? [grant(builtIn.busSender, events, names.deliveryId)] : []),
  ];
};
