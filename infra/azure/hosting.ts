import { IDENTITY_API_VERSION } from './access.ts';
import { referenceTo, type TemplateResource } from './arm.ts';
import {
  type AzureParameters,
  type Install,
  PACKAGE,
  resourceTags,
  WHOLE_SUBSCRIPTION,
  type FunctionApp,
  type AppName,
  appNames,
  DEAD_LETTER_QUEUE,
  EVENTS_QUEUE,
  INCIDENT_CONTAINER,
} from './install.ts';

export const WEB_API_VERSION = '2024-04-01';
const STORAGE_API = '2024-01-01';
const TOPIC_API = '2022-06-15';

const account = (install: Install, name: string): TemplateResource => ({
  type: 'Microsoft.Storage/storageAccounts',
  apiVersion: STORAGE_API,
  name,
  location: install.parameters.location,
  tags: resourceTags(install),
  kind: 'StorageV2',
  sku: { name: 'Standard_LRS' },
  properties: {
    accessTier: 'Hot',
    allowBlobPublicAccess: false,
    allowSharedKeyAccess: false,
    allowCrossTenantReplication: false,
    defaultToOAuthAuthentication: true,
    minimumTlsVersion: 'TLS1_2',
    supportsHttpsTrafficOnly: true,
    publicNetworkAccess: 'Enabled',
  },
});

/** One storage account per app for the state of its host, and one account for packages with a container per app. */
const storage = (install: Install): readonly TemplateResource[] => {
  const { names } = install;
  const containers = appNames.map((name) => ({
    type: 'Microsoft.Storage/storageAccounts/blobServices/containers',
    apiVersion: STORAGE_API,
    name: `${names.packages}/default/${name}`,
    dependsOn: [names.packagesId],
    properties: { publicAccess: 'None' },
  }));
  return [
    ...appNames.map((name) => account(install, names.apps[name].storage)),
    account(install, names.packages),
    ...containers,
    ...incidentStorage(install),
  ];
};

/** A rule that deletes blobs that have not been written for this number of days. */
const forgets = (name: string, daysAfterModificationGreaterThan: number, prefix: string): object => ({
  name,
  type: 'Lifecycle',
  enabled: true,
  definition: {
    actions: { baseBlob: { delete: { daysAfterModificationGreaterThan } } },
    filters: { blobTypes: ['blockBlob'], prefixMatch: [prefix] },
  },
});

/** The container of incidents, in the storage of the app that fences, and the rules that delete old incidents. */
const incidentStorage = ({ names, parameters }: Install): readonly TemplateResource[] => {
  const { storage, storageId } = names.apps.app;
  const rules = [
    forgets(INCIDENT_CONTAINER, parameters.incidentDays, `${INCIDENT_CONTAINER}/`),
    forgets('test-events', 1, `${INCIDENT_CONTAINER}/test-events/`),
  ];
  return [
    {
      type: 'Microsoft.Storage/storageAccounts/blobServices/containers',
      apiVersion: STORAGE_API,
      name: `${storage}/default/${INCIDENT_CONTAINER}`,
      dependsOn: [storageId],
      properties: { publicAccess: 'None' },
    },
    {
      type: 'Microsoft.Storage/storageAccounts/managementPolicies',
      apiVersion: STORAGE_API,
      name: `${storage}/default`,
      dependsOn: [storageId],
      properties: { policy: { rules } },
    },
  ];
};

/**
 * A plan holds one app.
 * https://learn.microsoft.com/azure/azure-functions/flex-consumption-plan
 */
const plan = (install: Install, { planId }: FunctionApp): TemplateResource => ({
  type: 'Microsoft.Web/serverfarms',
  apiVersion: WEB_API_VERSION,
  name: planId.split('/').at(-1) ?? '',
  location: install.parameters.location,
  tags: resourceTags(install),
  kind: 'functionapp',
  sku: { name: 'FC1', tier: 'FlexConsumption' },
  properties: { reserved: true },
});

const appConfig = ({ parameters }: Install, { containerUrl, identityId }: FunctionApp): object => ({
  deployment: {
    storage: {
      type: 'blobContainer',
      value: containerUrl,
      authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: identityId },
    },
  },
  runtime: { name: 'node', version: String(parameters.node) },
  scaleAndConcurrency: { instanceMemoryMB: parameters.memory, maximumInstanceCount: parameters.maximumInstances },
});

/**
 * Returns the site's properties. Flex Consumption rejects settings of other plans, such as `ftpsState`:
 * https://learn.microsoft.com/azure/azure-functions/functions-app-settings#flex-consumption-plan-deprecations
 */
const siteOf = (install: Install, app: FunctionApp): object => {
  const { parameters } = install;
  return {
    serverFarmId: app.planId,
    httpsOnly: true,
    keyVaultReferenceIdentity: app.identityId,
    ...(parameters.subnet !== null && { virtualNetworkSubnetId: parameters.subnet }),
    functionAppConfig: appConfig(install, app),
    siteConfig: {
      minTlsVersion: '1.2',
      scmMinTlsVersion: '1.2',
      http20Enabled: true,
      appSettings: settingsOf(install, app),
    },
  };
};

const site = (install: Install, app: FunctionApp): TemplateResource => {
  const { names, parameters, published } = install;
  const runs = published[app.name];
  return {
    type: 'Microsoft.Web/sites',
    apiVersion: WEB_API_VERSION,
    name: app.site,
    location: parameters.location,
    tags: { ...resourceTags(install), ...(runs !== null && { [PACKAGE]: runs }) },
    kind: 'functionapp,linux',
    identity: { type: 'UserAssigned', userAssignedIdentities: { [app.identityId]: {} } },
    dependsOn: [app.planId, app.identityId, app.storageId, app.containerId, names.insightsId],
    properties: siteOf(install, app),
  };
};

/** Disables uploads with a password. */
const noPasswords = ({ site: name, siteId }: FunctionApp): readonly TemplateResource[] =>
  ['ftp', 'scm'].map((endpoint) => ({
    type: 'Microsoft.Web/sites/basicPublishingCredentialsPolicies',
    apiVersion: WEB_API_VERSION,
    name: `${name}/${endpoint}`,
    dependsOn: [siteId],
    properties: { allow: false },
  }));

export const hostingResources = (install: Install): readonly TemplateResource[] => [
  ...storage(install),
  ...appNames
    .map((name) => install.names.apps[name])
    .flatMap((app) => [plan(install, app), site(install, app), ...noPasswords(app)]),
];

export const INSIGHTS_API_VERSION = '2020-02-02';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/**
 * Returns a schedule with six fields. The first field is seconds.
 * https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer
 */
const cron = (every: number): string => (every === 60 * MINUTE ? '0 0 * * * *' : `0 */${every / MINUTE} * * * *`);

const settingsOfEachApp = ({ names, parameters }: Install): Readonly<Record<string, string>> => ({
  // One malloc arena for all threads of Node.js saves 5 MB of memory and is no slower.
  MALLOC_ARENA_MAX: '1',
  AZURE_SUBSCRIPTION_ID: parameters.subscription,
  CLOUDFENCE_BUS__fullyQualifiedNamespace: `${names.bus}.servicebus.windows.net`,
  CLOUDFENCE_EVENTS_QUEUE: EVENTS_QUEUE,
  CLOUDFENCE_TIMEOUT_SECONDS: String(parameters.timeout / SECOND),
});

const servedGroupsSetting = ({ resourceGroups }: AzureParameters): Readonly<Record<string, string>> =>
  resourceGroups === WHOLE_SUBSCRIPTION ? {} : { CLOUDFENCE_RESOURCE_GROUPS: resourceGroups.join(',') };

/**
 * Returns the settings that the functions of an app read themselves. They contain no secret. The webhook app only
 * forwards messages to the queue and knows no cluster.
 */
export const functionSettings = (install: Install, name: AppName): Readonly<Record<string, string>> => {
  const { parameters, settings } = install;
  if (name === 'door') return { ...settingsOfEachApp(install), CLOUDFENCE_SETTINGS: '{}' };
  return {
    ...settingsOfEachApp(install),
    CLOUDFENCE_SETTINGS: settings,
    ...servedGroupsSetting(parameters),
    CLOUDFENCE_DEAD_LETTERS_QUEUE: DEAD_LETTER_QUEUE,
    CLOUDFENCE_SWEEP: cron(parameters.sweepEvery),
    CLOUDFENCE_INCIDENT_CONTAINER: `https://${install.names.apps.app.storage}.blob.core.windows.net/${INCIDENT_CONTAINER}`,
  };
};

/** Tells the platform where to find storage, queue, and logs, which the app accesses with its identity. */
const platformSettings = (
  { names, parameters: { incidentTopic } }: Install,
  { name, identityId, storage }: FunctionApp,
): Readonly<Record<string, string>> => {
  const clientId = referenceTo(identityId, IDENTITY_API_VERSION, 'clientId');
  return {
    AZURE_CLIENT_ID: clientId,
    AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential',
    AzureWebJobsStorage__accountName: storage,
    AzureWebJobsStorage__credential: 'managedidentity',
    AzureWebJobsStorage__clientId: clientId,
    CLOUDFENCE_BUS__credential: 'managedidentity',
    CLOUDFENCE_BUS__clientId: clientId,
    ...(name === 'app' &&
      incidentTopic !== null && { CLOUDFENCE_INCIDENT_TOPIC: referenceTo(incidentTopic, TOPIC_API, 'endpoint') }),
    APPLICATIONINSIGHTS_CONNECTION_STRING: referenceTo(names.insightsId, INSIGHTS_API_VERSION, 'ConnectionString'),
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: `[concat('ClientId=', ${clientId.slice(1, -1)}, ';Authorization=AAD')]`,
  };
};

const settingsOf = (install: Install, app: FunctionApp): readonly { readonly name: string; readonly value: string }[] =>
  Object.entries({ ...functionSettings(install, app.name), ...platformSettings(install, app) }).map(
    ([name, value]) => ({
      name,
      value: escapeExpression(value),
    }),
  );

/**
 * Escapes text that begins with a bracket, because ARM would read it as an expression:
 * https://learn.microsoft.com/azure/azure-resource-manager/templates/template-expressions
 */
const escapeExpression = (value: string): string =>
  value.startsWith('[') && !value.startsWith('[reference(') && !value.startsWith('[concat(') ? `[${value}` : value;
