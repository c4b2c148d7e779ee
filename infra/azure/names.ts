import { createHash } from 'node:crypto';

/** Names of an install. Each begins with its prefix, `cloudfence-<stage>`, so that stages do not collide. */

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

export type ResourceNames = ReturnType<typeof resourceNames>;

export const EVENTS_QUEUE = 'events';
export const DEAD_LETTER_QUEUE = 'dead-letters';
export const INCIDENT_CONTAINER = 'incidents';
