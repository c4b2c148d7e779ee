import type { TemplateResource } from './arm-template.ts';
import { PACKAGE, tagsOf, type Install } from './install.ts';
import { appNames, type App } from './names.ts';
import { settingsOf } from './settings.ts';

export const WEB_API = '2024-04-01';
export const STORAGE_API = '2024-01-01';

const account = (install: Install, name: string): TemplateResource => ({
  type: 'Microsoft.Storage/storageAccounts',
  apiVersion: STORAGE_API,
  name,
  location: install.parameters.location,
  tags: tagsOf(install),
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

/** An account of each app for what its host keeps, and one for packages, with a container for each app's. */
const storage = (install: Install): readonly TemplateResource[] => {
  const { names } = install;
  const containers = appNames.map((name) => ({
    type: 'Microsoft.Storage/storageAccounts/blobServices/containers',
    apiVersion: STORAGE_API,
    name: `${names.packages}/default/${name}`,
    dependsOn: [names.packagesId],
    properties: { publicAccess: 'None' },
  }));
  return [...appNames.map((name) => account(install, names.apps[name].storage)), account(install, names.packages), ...containers];
};

/** A plan holds one app. https://learn.microsoft.com/azure/azure-functions/flex-consumption-plan */
const plan = (install: Install, { planId }: App): TemplateResource => ({
  type: 'Microsoft.Web/serverfarms',
  apiVersion: WEB_API,
  name: planId.split('/').at(-1) ?? '',
  location: install.parameters.location,
  tags: tagsOf(install),
  kind: 'functionapp',
  sku: { name: 'FC1', tier: 'FlexConsumption' },
  properties: { reserved: true },
});

const appConfig = ({ parameters }: Install, { containerUrl, identityId }: App): object => ({
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

/** Flex Consumption refuses what other plans know, such as `ftpsState`: https://learn.microsoft.com/azure/azure-functions/functions-app-settings#flex-consumption-plan-deprecations */
const siteOf = (install: Install, app: App): object => {
  const { parameters } = install;
  return {
    serverFarmId: app.planId,
    httpsOnly: true,
    keyVaultReferenceIdentity: app.identityId,
    ...(parameters.subnet !== null && { virtualNetworkSubnetId: parameters.subnet }),
    functionAppConfig: appConfig(install, app),
    siteConfig: { minTlsVersion: '1.2', scmMinTlsVersion: '1.2', http20Enabled: true, appSettings: settingsOf(install, app) },
  };
};

const site = (install: Install, app: App): TemplateResource => {
  const { names, parameters, published } = install;
  const runs = published[app.name];
  return {
    type: 'Microsoft.Web/sites',
    apiVersion: WEB_API,
    name: app.site,
    location: parameters.location,
    tags: { ...tagsOf(install), ...(runs !== null && { [PACKAGE]: runs }) },
    kind: 'functionapp,linux',
    identity: { type: 'UserAssigned', userAssignedIdentities: { [app.identityId]: {} } },
    dependsOn: [app.planId, app.identityId, app.storageId, app.containerId, names.insightsId],
    properties: siteOf(install, app),
  };
};

/** Nobody uploads with a password. */
const noPasswords = ({ site: name, siteId }: App): readonly TemplateResource[] =>
  ['ftp', 'scm'].map((door) => ({
    type: 'Microsoft.Web/sites/basicPublishingCredentialsPolicies',
    apiVersion: WEB_API,
    name: `${name}/${door}`,
    dependsOn: [siteId],
    properties: { allow: false },
  }));

export const hosting = (install: Install): readonly TemplateResource[] => [
  ...storage(install),
  ...appNames.map((name) => install.names.apps[name]).flatMap((app) => [plan(install, app), site(install, app), ...noPasswords(app)]),
];
