import { createHash } from 'node:crypto';

/** Everything that an install makes bears its prefix, `cloudfence-<stage>`, so that stages stand beside each other. */

/**
 * An app has one set of identities, whatever its functions are: what may fence stands apart from what is open to the
 * outside.
 */
export const appNames = ['app', 'door'] as const;

export type AppName = (typeof appNames)[number];

const functionsIn: Readonly<Record<AppName, readonly string[]>> = {
  app: ['on-event', 'sweep', 'replay', 'fence', 'doctor'],
  door: ['webhook'],
};

export const functionNames: readonly string[] = appNames.flatMap((name) => functionsIn[name]);

export const appOf = (name: string): AppName | null => appNames.find((app) => functionsIn[app].includes(name)) ?? null;

/** Those that a person can call. */
export const httpFunctions = ['webhook', 'replay', 'fence', 'doctor'] as const;

interface Place {
  readonly subscription: string;
  readonly prefix: string;
}

/** How names are made that have to be one for all of Azure, or of a form that no prefix has. */
export interface Naming {
  /** Six letters and digits, the same for the same words. */
  readonly short: (...parts: readonly string[]) => string;
  /** As ARM wants names of role definitions and assignments, the same for the same words. */
  readonly guid: (...parts: readonly string[]) => string;
  /** What the name of a storage account may begin with: up to 18 letters and digits. */
  readonly plain: (prefix: string) => string;
  /** Ids are the same in any letter case. */
  readonly lower: (id: string) => string;
}

const digest = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');

export const worked: Naming = {
  short: (...parts) => digest(...parts).slice(0, 6),
  guid: (...parts) => digest(...parts).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5'),
  plain: (prefix) => prefix.replaceAll('-', '').slice(0, 18),
  lower: (id) => id.toLowerCase(),
};

/** One function app with what is its own alone: no other app may write its package, or read its keys. */
export interface App {
  readonly name: AppName;
  readonly site: string;
  readonly siteId: string;
  readonly planId: string;
  readonly identityId: string;
  /** For what the Functions host keeps: keys, and which instance runs the timer. */
  readonly storage: string;
  readonly storageId: string;
  /** For its package, in the account for packages. */
  readonly containerId: string;
  readonly containerUrl: string;
}

/** The ids of what is in the install's own group, and names that have to be one for all of Azure. */
const placesOf = ({ subscription, prefix }: Place, naming: Naming) => {
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

const appsOf = (place: Place, naming: Naming): Readonly<Record<AppName, App>> => {
  const { own, accountFor, resource } = placesOf(place, naming);
  const packages = accountFor('packages');
  const appAt = (name: AppName, called: string, storage: string): App => ({
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
    app: appAt('app', place.prefix, accountFor()),
    door: appAt('door', `${place.prefix}-door`, accountFor('door')),
  };
};

export const names = (place: Place, naming: Naming = worked) => {
  const { subscription, prefix } = place;
  const { scope, groupId, own, accountFor, resource } = placesOf(place, naming);
  const bus = `${prefix}-bus-${own}`;
  const packages = accountFor('packages');
  const apps = appsOf(place, naming);
  return {
    prefix,
    scope,
    group: prefix,
    groupId,
    /** As templates of a subscription name a group that they make. */
    groupMade: `${scope}/providers/Microsoft.Resources/resourceGroups/${prefix}`,
    deployment: prefix,
    packages,
    packagesId: resource('Microsoft.Storage/storageAccounts', packages),
    apps,
    bus,
    busId: resource('Microsoft.ServiceBus/namespaces', bus),
    queueId: (queue: string) => `${resource('Microsoft.ServiceBus/namespaces', bus)}/queues/${queue}`,
    /** Of what fences. */
    identityId: apps.app.identityId,
    /** Of Event Grid, where it delivers by one. */
    deliveryId: resource('Microsoft.ManagedIdentity/userAssignedIdentities', `${prefix}-delivery`),
    workspaceId: resource('Microsoft.OperationalInsights/workspaces', prefix),
    insightsId: resource('Microsoft.Insights/components', prefix),
    topicId: resource('Microsoft.EventGrid/systemTopics', prefix),
    roleId: (role: string) =>
      `${scope}/providers/Microsoft.Authorization/roleDefinitions/${naming.guid('role', subscription, prefix, role)}`,
    assignment: (role: string, on: string, of: string) =>
      naming.guid('assignment', subscription, prefix, role, naming.lower(on), of),
  };
};

export type Names = ReturnType<typeof names>;

export const EVENTS = 'events';
export const DEAD_LETTERS = 'dead-letters';
