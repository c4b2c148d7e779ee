import { z } from 'zod';
import type { TemplateResource } from '../../../infra/azure/arm.ts';
import { ArmRefusal } from '../../../sandbox/azure/refusal.ts';
import type { Held, Subscription } from './subscription.ts';

/**
 * What Azure's own services reject although the template is well-formed, each with the public report or page that says
 * so. The deployment fails there, and earlier resources stay.
 */

export interface Asked {
  readonly resource: TemplateResource;
  readonly id: string;
  /** With its expressions evaluated. */
  readonly properties: Readonly<Record<string, unknown>>;
}

type Check = (subscription: Subscription, asked: Asked) => void;

const text = (fields: Readonly<Record<string, unknown>>, name: string): string =>
  z.string().catch('').parse(fields[name]);

const heldOf = ({ held }: Subscription, type: string): readonly Held[] =>
  [...held.values()].filter((one) => one.type === type);

/** https://learn.microsoft.com/azure/azure-functions/functions-app-settings#flex-consumption-plan-deprecations */
const NOT_ON_FLEX = {
  site: [
    'alwaysOn',
    'containerSize',
    'ftpsState',
    'isReserved',
    'isXenon',
    'javaVersion',
    'linuxFxVersion',
    'netFrameworkVersion',
    'powerShellVersion',
    'use32BitWorkerProcess',
    'vnetBackupRestoreEnabled',
    'vnetContentShareEnabled',
    'vnetImagePullEnabled',
    'vnetRouteAllEnabled',
    'windowsFxVersion',
    'functionAppScaleLimit',
    'preWarmedInstanceCount',
  ],
  settings: [
    'ENABLE_ORYX_BUILD',
    'FUNCTIONS_EXTENSION_VERSION',
    'FUNCTIONS_WORKER_RUNTIME',
    'FUNCTIONS_WORKER_RUNTIME_VERSION',
    'FUNCTIONS_MAX_HTTP_CONCURRENCY',
    'FUNCTIONS_WORKER_PROCESS_COUNT',
    'SCM_DO_BUILD_DURING_DEPLOYMENT',
    'WEBSITE_CONTENTAZUREFILECONNECTIONSTRING',
    'WEBSITE_CONTENTOVERVNET',
    'WEBSITE_CONTENTSHARE',
    'WEBSITE_DNS_SERVER',
    'WEBSITE_MAX_DYNAMIC_APPLICATION_SCALE_OUT',
    'WEBSITE_NODE_DEFAULT_VERSION',
    'WEBSITE_RUN_FROM_PACKAGE',
    'WEBSITE_TIME_ZONE',
    'WEBSITE_VNET_ROUTE_ALL',
  ],
};

const site = z.looseObject({
  serverFarmId: z.string(),
  siteConfig: z
    .looseObject({ appSettings: z.array(z.object({ name: z.string() })).default([]) })
    .default({ appSettings: [] }),
});

const onFlex: Check = ({ held }, { properties }) => {
  const { serverFarmId, siteConfig, ...others } = site.parse(properties);
  const sku = z.looseObject({ sku: z.object({ name: z.string() }) }).parse(held.get(serverFarmId.toLowerCase())?.wanted)
    .sku.name;
  if (sku !== 'FC1') return;
  const wrong = [...Object.keys(others), ...Object.keys(siteConfig)].filter((name) =>
    NOT_ON_FLEX.site.some((one) => one.toLowerCase() === name.toLowerCase()),
  );
  const settings = siteConfig.appSettings.map(({ name }) => name).filter((name) => NOT_ON_FLEX.settings.includes(name));
  if (wrong.length + settings.length > 0)
    throw new ArmRefusal('BadRequest', `Flex Consumption sites do not support ${[...wrong, ...settings].join(', ')}`);
};

/**
 * https://learn.microsoft.com/azure/role-based-access-control/troubleshooting#symptom---assigning-a-role-at-a-scope-with-a-different-principal
 */
const unchangedPrincipal: Check = (subscription, { id, properties }) => {
  const before = subscription.held.get(id.toLowerCase());
  const same = (one: Held): boolean =>
    ['principalId', 'roleDefinitionId'].every((name) => text(one.properties, name) === text(properties, name));
  if (before && !same(before))
    throw new ArmRefusal(
      'RoleAssignmentUpdateNotPermitted',
      'Tenant ID, application ID, principal ID, and scope are not allowed to be updated.',
    );
  const on = id.slice(0, id.lastIndexOf('/')).toLowerCase();
  const twin = heldOf(subscription, 'Microsoft.Authorization/roleAssignments').find(
    (one) => one.id.toLowerCase().startsWith(`${on}/`) && one.id.toLowerCase() !== id.toLowerCase() && same(one),
  );
  if (twin) throw new ArmRefusal('RoleAssignmentExists', `The role assignment already exists: ${twin.id}`, 409);
};

/** Whether an identity may do this on a resource, because of a role on it or on what contains it. */
export const mayDo = (
  subscription: Subscription,
  identityId: string,
  roles: readonly string[],
  on: string,
): boolean => {
  const principal = subscription.held.get(identityId.toLowerCase())?.added['principalId'];
  return heldOf(subscription, 'Microsoft.Authorization/roleAssignments').some(({ id, properties }) => {
    const scope = id.toLowerCase().split('/providers/microsoft.authorization/')[0] ?? '';
    return (
      properties['principalId'] === principal &&
      roles.some((role) => text(properties, 'roleDefinitionId').endsWith(role)) &&
      `${on.toLowerCase()}/`.startsWith(`${scope}/`)
    );
  });
};

const destination = z.looseObject({ properties: z.object({ resourceId: z.string() }) });
const delivery = z.looseObject({
  destination: destination.optional(),
  deliveryWithResourceIdentity: z
    .object({ identity: z.object({ type: z.string(), userAssignedIdentity: z.string() }), destination })
    .optional(),
});
const withIdentity = z.looseObject({
  identity: z
    .looseObject({ userAssignedIdentities: z.record(z.string(), z.unknown()).default({}) })
    .default({ userAssignedIdentities: {} }),
});

const SENDER = '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39';

/** https://learn.microsoft.com/azure/event-grid/managed-service-identity */
const delivered: Check = (subscription, { id, properties }) => {
  const { destination: byKey, deliveryWithResourceIdentity: byIdentity } = delivery.parse(properties);
  const topic = subscription.held.get(id.toLowerCase().split('/eventsubscriptions/')[0] ?? '');
  if (byIdentity) {
    const { userAssignedIdentity } = byIdentity.identity;
    if (!(userAssignedIdentity in withIdentity.parse(topic?.wanted ?? {}).identity.userAssignedIdentities))
      throw new ArmRefusal('InvalidRequest', `the topic does not bear the identity ${userAssignedIdentity}`);
    if (!mayDo(subscription, userAssignedIdentity, [SENDER], byIdentity.destination.properties.resourceId))
      throw new ArmRefusal('InvalidRequest', `the identity ${userAssignedIdentity} may not send to the destination`);
  }
  const queue = byKey?.properties.resourceId ?? '';
  const namespace = subscription.held.get(queue.toLowerCase().split('/queues/')[0] ?? '');
  if (byKey && namespace?.properties['disableLocalAuth'] === true)
    throw new ArmRefusal('InvalidRequest', 'the destination takes no keys');
};

const criteria = z.looseObject({ criteria: z.object({ allOf: z.array(z.looseObject({ query: z.string() })) }) });

/** https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-troubleshoot-log */
const oneTable: Check = (_, { properties }) => {
  for (const { query } of criteria.parse(properties).criteria.allOf)
    if (/\b(union|search)\b/.test(query))
      throw new ArmRefusal('BadArgumentError', 'a rule on tables that may not be there yet has to ask one of them');
};

const checks: Readonly<Record<string, Check>> = {
  'Microsoft.Web/sites': onFlex,
  'Microsoft.Authorization/roleAssignments': unchangedPrincipal,
  'Microsoft.EventGrid/systemTopics/eventSubscriptions': delivered,
  'Microsoft.Insights/scheduledQueryRules': oneTable,
};

/** @throws ArmRefusal */
export const refused: Check = (subscription, asked) => checks[asked.resource.type]?.(subscription, asked);

/**
 * The supported versions of a type, as far as our calls might name them: the latest stable ones of Azure's published
 * interfaces.
 */
const VERSIONS: Readonly<Record<string, readonly string[]>> = {
  'microsoft.resources/resourcegroups': ['2021-04-01', '2022-09-01', '2024-11-01'],
  'microsoft.resources/deployments': ['2021-04-01', '2022-09-01', '2024-11-01'],
  'microsoft.resources/resources': ['2021-04-01', '2022-09-01', '2024-11-01'],
  'microsoft.resources/tags': ['2021-04-01', '2022-09-01'],
  'microsoft.web/serverfarms': ['2023-12-01', '2024-04-01', '2024-11-01'],
  'microsoft.web/sites': ['2023-12-01', '2024-04-01', '2024-11-01'],
  'microsoft.web/sites/functions': ['2023-12-01', '2024-04-01', '2024-11-01'],
  'microsoft.web/sites/basicpublishingcredentialspolicies': ['2023-12-01', '2024-04-01', '2024-11-01'],
  'microsoft.storage/storageaccounts': ['2023-05-01', '2024-01-01', '2025-01-01'],
  'microsoft.storage/storageaccounts/managementpolicies': ['2023-05-01', '2024-01-01', '2025-01-01'],
  'microsoft.storage/storageaccounts/blobservices/containers': ['2023-05-01', '2024-01-01', '2025-01-01'],
  'microsoft.servicebus/namespaces': ['2021-11-01', '2024-01-01'],
  'microsoft.servicebus/namespaces/queues': ['2021-11-01', '2024-01-01'],
  'microsoft.eventgrid/systemtopics': ['2022-06-15', '2025-02-15'],
  'microsoft.eventgrid/systemtopics/eventsubscriptions': ['2022-06-15', '2025-02-15'],
  'microsoft.managedidentity/userassignedidentities': ['2023-01-31', '2024-11-30'],
  'microsoft.authorization/roleassignments': ['2022-04-01'],
  'microsoft.authorization/roledefinitions': ['2022-04-01'],
  'microsoft.operationalinsights/workspaces': ['2021-06-01', '2023-09-01', '2025-02-01'],
  'microsoft.insights/components': ['2020-02-02'],
  'microsoft.insights/metricalerts': ['2018-03-01'],
  'microsoft.insights/workbooks': ['2022-04-01', '2023-06-01'],
  'microsoft.insights/scheduledqueryrules': ['2022-06-15', '2023-12-01'],
};

export const isKnownVersion = (type: string, version: string | null): boolean =>
  version !== null && (VERSIONS[type.toLowerCase()] ?? []).includes(version);

export const unknownVersion = (type: string, version: string | null): ArmRefusal =>
  version === null
    ? new ArmRefusal(
        'MissingApiVersionParameter',
        'The api-version query parameter (?api-version=) is required for all requests.',
      )
    : new ArmRefusal(
        'NoRegisteredProviderFound',
        `No registered resource provider found for API version '${version}' for type '${type}'.`,
      );
