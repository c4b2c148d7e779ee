import { known, type TemplateResource } from './arm-template.ts';
import { PACKAGE, tagsOf, type Install } from './install.ts';
import { CONTAINER } from './names.ts';
import { settingsOf } from './settings.ts';

export const WEB_API = '2024-04-01';
const STORAGE_API = '2023-05-01';

/** For the app's package, and for what the Functions host keeps: keys, and which instance runs the timer. */
const storage = (install: Install): readonly TemplateResource[] => {
  const { names, parameters } = install;
  const account: TemplateResource = {
    type: 'Microsoft.Storage/storageAccounts',
    apiVersion: STORAGE_API,
    name: names.storage,
    location: parameters.location,
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
  };
  const container: TemplateResource = {
    type: 'Microsoft.Storage/storageAccounts/blobServices/containers',
    apiVersion: STORAGE_API,
    name: `${names.storage}/default/${CONTAINER}`,
    dependsOn: [names.storageId],
    properties: { publicAccess: 'None' },
  };
  return [account, container];
};

/** https://learn.microsoft.com/azure/azure-functions/flex-consumption-plan */
const plan = (install: Install): TemplateResource => ({
  type: 'Microsoft.Web/serverfarms',
  apiVersion: WEB_API,
  name: install.prefix,
  location: install.parameters.location,
  tags: tagsOf(install),
  kind: 'functionapp',
  sku: { name: 'FC1', tier: 'FlexConsumption' },
  properties: { reserved: true },
});

const appConfig = ({ names, parameters }: Install): object => ({
  deployment: {
    storage: {
      type: 'blobContainer',
      value: `https://${names.storage}.blob.core.windows.net/${CONTAINER}`,
      authentication: { type: 'UserAssignedIdentity', userAssignedIdentityResourceId: names.identityId },
    },
  },
  runtime: { name: 'node', version: String(parameters.node) },
  scaleAndConcurrency: { instanceMemoryMB: parameters.memory, maximumInstanceCount: parameters.maximumInstances },
});

const siteOf = (install: Install): object => {
  const { names, parameters } = install;
  return {
    serverFarmId: names.planId,
    httpsOnly: true,
    keyVaultReferenceIdentity: names.identityId,
    ...(parameters.subnet !== null && { virtualNetworkSubnetId: parameters.subnet }),
    functionAppConfig: appConfig(install),
    siteConfig: { minTlsVersion: '1.2', scmMinTlsVersion: '1.2', ftpsState: 'Disabled', http20Enabled: true, appSettings: settingsOf(install) },
  };
};

const site = (install: Install): TemplateResource => {
  const { names, parameters, published } = install;
  return {
    type: 'Microsoft.Web/sites',
    apiVersion: WEB_API,
    name: names.site,
    location: parameters.location,
    tags: { ...tagsOf(install), ...(published !== null && { [PACKAGE]: published }) },
    kind: 'functionapp,linux',
    identity: { type: 'UserAssigned', userAssignedIdentities: { [names.identityId]: {} } },
    dependsOn: [names.planId, names.identityId, names.insightsId, `${names.storageId}/blobServices/default/containers/${CONTAINER}`],
    properties: siteOf(install),
  };
};

/** Nobody uploads with a password. */
const noPasswords = ({ names }: Install): readonly TemplateResource[] =>
  ['ftp', 'scm'].map((door) => ({
    type: 'Microsoft.Web/sites/basicPublishingCredentialsPolicies',
    apiVersion: WEB_API,
    name: `${names.site}/${door}`,
    dependsOn: [names.siteId],
    properties: { allow: false },
  }));

export const hosting = (install: Install): readonly TemplateResource[] => [...storage(install), plan(install), site(install), ...noPasswords(install)];

export const siteHost = ({ names }: Install): string => known(names.siteId, WEB_API, 'defaultHostName');

