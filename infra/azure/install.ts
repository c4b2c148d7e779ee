import { createHash } from 'node:crypto';
import { z } from 'zod';
import { minLength } from '../../fencing/model/foreign-text.ts';
import { durationSchema } from '../../config/schema.ts';
import type { RawParameters } from '../serverless/deployer.ts';
import * as install from '../serverless/deployer.ts';

/**
 * An install: its names, and the parameters in infra/azure/parameters.yml and in a stage's file, apart from the
 * configuration of the functions. Each name begins with `cloudfence-<stage>`, so that stages do not collide.
 */

/**
 * The apps of an install. All functions of an app share its identities, so the functions that can fence are in a
 * different app from the endpoint that is open to the internet.
 */
export const appNames = ['app', 'door'] as const;

export type AppName = (typeof appNames)[number];

const functionsIn: Readonly<Record<AppName, readonly string[]>> = {
  app: ['on-event', 'sweep', 'replay', 'fence', 'doctor', 'diagnose'],
  door: ['webhook'],
};

export const functionNames: readonly string[] = appNames.flatMap((name) => functionsIn[name]);

export const appOf = (name: string): AppName | null => appNames.find((app) => functionsIn[app].includes(name)) ?? null;

/** The functions that a person can call. */
export const httpFunctions = ['webhook', 'replay', 'fence', 'doctor', 'diagnose'] as const;

interface InstallScope {
  readonly subscription: string;
  readonly prefix: string;
}

/** Makes names that must be unique in all of Azure, and names with a required form, such as GUIDs. */
export interface Naming {
  /** Returns six letters and digits, always the same for the same parts. */
  readonly short: (...parts: readonly string[]) => string;
  /** Returns a GUID, as ARM requires for role definitions and assignments, always the same for the same parts. */
  readonly guid: (...parts: readonly string[]) => string;
  /** Returns the beginning of a storage account's name: up to 18 letters and digits. */
  readonly plain: (prefix: string) => string;
  /** Returns the id in lower case, because ids are the same in any letter case. */
  readonly lower: (id: string) => string;
}

const digest = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');

export const hashedNaming: Naming = {
  short: (...parts) => digest(...parts).slice(0, 6),
  guid: (...parts) => digest(...parts).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5'),
  plain: (prefix) => prefix.replaceAll('-', '').slice(0, 18),
  lower: (id) => id.toLowerCase(),
};

/** One function app with resources of its own, so that no other app can write its package or read its keys. */
export interface FunctionApp {
  readonly name: AppName;
  readonly site: string;
  readonly siteId: string;
  readonly planId: string;
  readonly identityId: string;
  /** Storage for the state of the Functions host: keys, and which instance runs the timer. */
  readonly storage: string;
  readonly storageId: string;
  /** The container for its package, in the account for packages. */
  readonly containerId: string;
  readonly containerUrl: string;
}

/** Returns the ids in the install's own group, and the parts of names that must be unique in all of Azure. */
const namesInGroup = ({ subscription, prefix }: InstallScope, naming: Naming) => {
  const scope = `/subscriptions/${subscription}`;
  const groupId = `${scope}/resourceGroups/${prefix}`;
  const own = (...what: readonly string[]): string => naming.short(subscription, prefix, ...what);
  const accountFor = (...what: readonly string[]): string => `${naming.plain(prefix)}${own(...what)}`;
  return {
    scope,
    groupId,
    own: own(),
    accountFor,
    resource: (type: string, name: string): string => `${groupId}/providers/${type}/${name}`,
  };
};

const appsOf = (install: InstallScope, naming: Naming): Readonly<Record<AppName, FunctionApp>> => {
  const { own, accountFor, resource } = namesInGroup(install, naming);
  const packages = accountFor('packages');
  const appAt = (name: AppName, called: string, storage: string): FunctionApp => ({
    name,
    site: `${called}-${own}`,
    siteId: resource('Microsoft.Web/sites', `${called}-${own}`),
    planId: resource('Microsoft.Web/serverfarms', called),
    identityId: resource('Microsoft.ManagedIdentity/userAssignedIdentities', called),
    storage,
    storageId: resource('Microsoft.Storage/storageAccounts', storage),
    containerId: `${resource('Microsoft.Storage/storageAccounts', packages)}/blobServices/default/containers/${name}`,
    containerUrl: `https://${packages}.blob.core.windows.net/${name}`,
  });
  return {
    app: appAt('app', install.prefix, accountFor()),
    door: appAt('door', `${install.prefix}-door`, accountFor('door')),
  };
};

export const resourceNames = (install: InstallScope, naming: Naming = hashedNaming) => {
  const { subscription, prefix } = install;
  const { scope, groupId, own, accountFor, resource } = namesInGroup(install, naming);
  const bus = `${prefix}-bus-${own}`;
  const packages = accountFor('packages');
  const apps = appsOf(install, naming);
  return {
    prefix,
    scope,
    group: prefix,
    groupId,
    /** The id of a group as a template of the subscription refers to it when it creates the group. */
    groupMade: `${scope}/providers/Microsoft.Resources/resourceGroups/${prefix}`,
    deployment: prefix,
    packages,
    packagesId: resource('Microsoft.Storage/storageAccounts', packages),
    apps,
    bus,
    busId: resource('Microsoft.ServiceBus/namespaces', bus),
    queueId: (queue: string) => `${resource('Microsoft.ServiceBus/namespaces', bus)}/queues/${queue}`,
    /** The identity that fences. */
    identityId: apps.app.identityId,
    /** The identity of Event Grid, if it delivers with one. */
    deliveryId: resource('Microsoft.ManagedIdentity/userAssignedIdentities', `${prefix}-delivery`),
    workspaceId: resource('Microsoft.OperationalInsights/workspaces', prefix),
    insightsId: resource('Microsoft.Insights/components', prefix),
    topicId: resource('Microsoft.EventGrid/systemTopics', prefix),
    /** A workbook is named by a GUID. */
    workbook: naming.guid('workbook', subscription, prefix),
    roleId: (role: string) =>
      `${scope}/providers/Microsoft.Authorization/roleDefinitions/${naming.guid('role', subscription, prefix, role)}`,
    assignment: (role: string, on: string, of: string) =>
      naming.guid('assignment', subscription, prefix, role, naming.lower(on), of),
  };
};

type ResourceNames = ReturnType<typeof resourceNames>;

export const EVENTS_QUEUE = 'events';
export const DEAD_LETTER_QUEUE = 'dead-letters';
export const INCIDENT_CONTAINER = 'incidents';

const MINUTE = 60_000;

const between = (least: number, most: number, words: string) =>
  durationSchema.refine((ms) => ms >= least && ms <= most, `must be from ${words}`);

/**
 * Matches the id of a resource. Azure ignores letter case in types.
 * https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
 */
const resource = (type: string, what: string) =>
  z
    .string()
    .regex(
      new RegExp(`^/subscriptions/[0-9a-f-]{36}/resourceGroups/[^/]+/providers/${type}/[^/]+$`, 'i'),
      `is not the resource id of ${what}`,
    );

const group = z.string().regex(/^[-\w.()]{0,89}[-\w()]$/, 'is not the name of a resource group');

/** An explicit value, so that leaving out the parameter never means the whole subscription. */
export const WHOLE_SUBSCRIPTION = 'all-of-subscription';

const WHICH_GROUPS =
  'list the resource groups with the machines and disks that Cloudfence may read and change (for AKS, the node ' +
  `resource group), or write ${WHOLE_SUBSCRIPTION}`;

const resourceGroups = z.union([z.literal(WHOLE_SUBSCRIPTION), z.array(group).check(minLength(1, WHICH_GROUPS))], {
  error: WHICH_GROUPS,
});

/** Someone else's system topic does not have the install's identity, and the install must not assign it one. */
const NEEDS_KEYS =
  'Event Grid delivers from an existing topic only with keys: set keylessDelivery to false when you set systemTopic';

export const azureParameters = z
  .strictObject({
    subscription: z.guid('is not a subscription id: write the id of the subscription to deploy into'),
    location: z.string().regex(/^[a-z]+[a-z0-9]*$/, 'is not a location: write one such as westeurope'),
    resourceGroups,
    keyVaults: z.array(resource('Microsoft.KeyVault/vaults', 'a Key Vault')),
    systemTopic: resource('Microsoft.EventGrid/systemTopics', 'a system topic').nullable(),
    health: z.boolean(),
    keylessDelivery: z.boolean(),
    node: z.literal([22, 24]),
    sweepEvery: between(MINUTE, 60 * MINUTE, '1m to 60m').refine(
      (ms) => 60 % (ms / MINUTE) === 0,
      'must be whole minutes that divide an hour',
    ),
    maximumInstances: z.int().min(40).max(1_000),
    timeout: between(10_000, 4 * MINUTE, '10s to 4m').refine((ms) => ms % 1_000 === 0, 'must be whole seconds'),
    memory: z.literal([512, 2_048, 4_096]),
    subnet: resource('Microsoft.Network/virtualNetworks/[^/]+/subnets', 'a subnet').nullable(),
    incidentDays: z.int().min(1).max(3_650),
    incidentTopic: resource('Microsoft.EventGrid/topics', 'an Event Grid topic').nullable(),
    logDays: z.int().min(30).max(730),
    actionGroup: resource('Microsoft.Insights/actionGroups', 'an action group').nullable(),
  })
  .refine(({ systemTopic, keylessDelivery }) => systemTopic === null || !keylessDelivery, {
    path: ['keylessDelivery'],
    message: NEEDS_KEYS,
  });

export type AzureParameters = z.infer<typeof azureParameters>;

export type CheckedInstall = install.CheckedInstall<AzureParameters>;

/** A storage account's name has at most 24 characters, which leaves 14 for the stage. */
const stageFaults = (stage: string): readonly string[] =>
  /^[a-z][a-z0-9-]{0,13}$/.test(stage) && !stage.endsWith('-')
    ? []
    : [
        `stage: "${stage}" must begin with a letter, must not end with a hyphen, and can have at most 14 ` +
          'lowercase letters, digits, and hyphens',
      ];

const rules: install.InstallRules<AzureParameters> = {
  cloud: 'azure',
  parameters: azureParameters,
  stageFaults,
  isReachable: (cluster) => 'aks' in cluster || 'keyVault' in cluster,
  waysIn: 'a function on Azure requires `aks`, which finds a cluster, or `keyVault`, which contains a kubeconfig',
};

/** Checks the install and returns all faults together. */
export const checkInstall = (stage: string, written: RawParameters) => install.checkInstall(rules, stage, written);

/** The complete description of an install before it is deployed. */
export interface Install extends CheckedInstall {
  readonly prefix: string;
  readonly names: ResourceNames;
  /** The hash of the package that each app runs, or null before the first one. A tag stores it. */
  readonly published: Readonly<Record<AppName, string | null>>;
}

export const noPackages: Install['published'] = { app: null, door: null };

export const createInstall = (prefix: string, checked: CheckedInstall): Install => ({
  ...checked,
  prefix,
  names: resourceNames({ subscription: checked.parameters.subscription, prefix }),
  published: noPackages,
});

/** This tag marks the resources of an install. */
export const INSTALL_TAG = 'cloudfence';
export const PACKAGE = 'cloudfence-package';

export const resourceTags = ({ prefix }: Pick<Install, 'prefix'>): Readonly<Record<string, string>> => ({
  [INSTALL_TAG]: prefix,
});
