import { createHash } from 'node:crypto';

/** Everything that an install makes bears its prefix, `cloudfence-<stage>`, so that stages stand beside each other. */

export const functionNames = ['on-event', 'sweep', 'webhook', 'replay', 'fence', 'doctor'] as const;

/** Those that a person can call. */
export const httpFunctions = ['webhook', 'replay', 'fence', 'doctor'] as const;

export interface Place {
  readonly subscription: string;
  readonly prefix: string;
}

const digest = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');

/** The same for the same words, as ARM wants names of role definitions and assignments. */
const guid = (...parts: readonly string[]): string => digest(...parts).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');

export const names = ({ subscription, prefix }: Place) => {
  const scope = `/subscriptions/${subscription}`;
  const groupId = `${scope}/resourceGroups/${prefix}`;
  /** Where names are one for all of Azure. */
  const own = digest(subscription, prefix).slice(0, 6);
  const resource = (type: string, name: string) => `${groupId}/providers/${type}/${name}`;
  const storage = `${prefix.replaceAll('-', '').slice(0, 18)}${own}`;
  const bus = `${prefix}-bus-${own}`;
  const site = `${prefix}-${own}`;
  return {
    prefix,
    scope,
    group: prefix,
    groupId,
    /** As templates of a subscription name a group that they make. */
    groupMade: `${scope}/providers/Microsoft.Resources/resourceGroups/${prefix}`,
    deployment: prefix,
    storage,
    storageId: resource('Microsoft.Storage/storageAccounts', storage),
    bus,
    busId: resource('Microsoft.ServiceBus/namespaces', bus),
    queueId: (queue: string) => `${resource('Microsoft.ServiceBus/namespaces', bus)}/queues/${queue}`,
    site,
    siteId: resource('Microsoft.Web/sites', site),
    planId: resource('Microsoft.Web/serverfarms', prefix),
    identityId: resource('Microsoft.ManagedIdentity/userAssignedIdentities', prefix),
    deliveryId: resource('Microsoft.ManagedIdentity/userAssignedIdentities', `${prefix}-delivery`),
    workspaceId: resource('Microsoft.OperationalInsights/workspaces', prefix),
    insightsId: resource('Microsoft.Insights/components', prefix),
    topicId: resource('Microsoft.EventGrid/systemTopics', prefix),
    roleId: (role: string) => `${scope}/providers/Microsoft.Authorization/roleDefinitions/${guid('role', subscription, prefix, role)}`,
    assignment: (role: string, on: string, of: string) => guid('assignment', subscription, prefix, role, on.toLowerCase(), of),
  };
};

export type Names = ReturnType<typeof names>;

export const EVENTS = 'events';
export const DEAD_LETTERS = 'dead-letters';
export const CONTAINER = 'app';
