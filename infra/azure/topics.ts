import { roleAssignmentId, eventDeliveryGrant } from './access.ts';
import type { TemplateResource } from './arm.ts';
import { type Install, resourceTags, WHOLE_SUBSCRIPTION, DEAD_LETTER_QUEUE, EVENTS_QUEUE } from './install.ts';

export const EVENT_GRID_API_VERSION = '2025-02-15';

/** 24 hours, the longest that Event Grid retries a delivery. */
const TRIED_FOR_MINUTES = 1_440;
const MOST_ATTEMPTS = 30;

/** The operations that providers/azure/events/kinds.ts reads. Event Grid ignores letter case in comparisons. */
export const operationEndings = [
  '/deallocate/action',
  '/delete',
  '/delete/action',
  '/hibernate/action',
  '/manualUpgrade/action',
  '/osRollingUpgrade/action',
  '/performMaintenance/action',
  '/powerOff/action',
  '/reapply/action',
  '/redeploy/action',
  '/reimage/action',
  '/reimageall/action',
  '/restart/action',
  '/simulateEviction/action',
  '/start/action',
  '/write',
] as const;

/**
 * Leaves out Cloudfence's own detaches, and operations on resources next to a machine or inside it. A subscription can
 * have at
 * most 25 values in total:
 * https://learn.microsoft.com/azure/event-grid/event-filtering
 */
const operationsOnMachines = [
  {
    operatorType: 'StringBeginsWith',
    key: 'data.operationName',
    values: ['Microsoft.Compute/virtualMachines/', 'Microsoft.Compute/virtualMachineScaleSets/'],
  },
  { operatorType: 'StringEndsWith', key: 'data.operationName', values: operationEndings },
  { operatorType: 'StringNotContains', key: 'data.operationName', values: ['/extensions/', '/runCommands/'] },
];

const outcomes = ['Success', 'Failure', 'Cancel'];
const operationTypes = ['Action', 'Delete', 'Write'].flatMap((verb) =>
  outcomes.map((outcome) => `Microsoft.Resources.Resource${verb}${outcome}`),
);
const healthTypes = ['AvailabilityStatusChanged', 'ResourceAnnotated'].map(
  (type) => `Microsoft.ResourceNotifications.HealthResources.${type}`,
);
const healthOfMachines = [
  { operatorType: 'StringContains', key: 'subject', values: ['/providers/Microsoft.Compute/virtualMachine'] },
];

const topic = (install: Install, name: string, topicType: string): TemplateResource => {
  const { names, parameters } = install;
  return {
    type: 'Microsoft.EventGrid/systemTopics',
    apiVersion: EVENT_GRID_API_VERSION,
    name,
    location: 'global',
    tags: resourceTags(install),
    ...(parameters.keylessDelivery
      ? {
          dependsOn: [names.deliveryId],
          identity: { type: 'UserAssigned', userAssignedIdentities: { [names.deliveryId]: {} } },
        }
      : { identity: { type: 'None' } }),
    properties: { source: names.scope, topicType },
  };
};

const toQueue = ({ names, parameters }: Install): object => {
  const destination = { endpointType: 'ServiceBusQueue', properties: { resourceId: names.queueId(EVENTS_QUEUE) } };
  if (!parameters.keylessDelivery) return { destination };
  return {
    deliveryWithResourceIdentity: {
      identity: { type: 'UserAssigned', userAssignedIdentity: names.deliveryId },
      destination,
    },
  };
};

const subscription = (
  install: Install,
  topicName: string,
  filter: object,
  dependsOn: readonly string[],
): TemplateResource => ({
  type: 'Microsoft.EventGrid/systemTopics/eventSubscriptions',
  apiVersion: EVENT_GRID_API_VERSION,
  name: `${topicName}/${install.prefix}`,
  dependsOn: [
    ...dependsOn,
    install.names.queueId(EVENTS_QUEUE),
    ...(install.parameters.keylessDelivery ? [roleAssignmentId(install, eventDeliveryGrant(install))] : []),
  ],
  properties: {
    ...toQueue(install),
    filter,
    eventDeliverySchema: 'CloudEventSchemaV1_0',
    retryPolicy: { maxDeliveryAttempts: MOST_ATTEMPTS, eventTimeToLiveInMinutes: TRIED_FOR_MINUTES },
  },
});

/**
 * The number of filter values that are left. With more groups all events arrive, and the function ignores those that
 * the install does not serve by their ids.
 */
const MOST_GROUPS = 5;

const inServedGroups = ({ names, parameters: { resourceGroups } }: Install): readonly object[] => {
  if (resourceGroups === WHOLE_SUBSCRIPTION || resourceGroups.length > MOST_GROUPS) return [];
  return [
    {
      operatorType: 'StringBeginsWith',
      key: 'subject',
      values: resourceGroups.map((group) => `${names.scope}/resourceGroups/${group}/`),
    },
  ];
};

const operations = (install: Install) => ({
  includedEventTypes: operationTypes,
  advancedFilters: [...operationsOnMachines, ...inServedGroups(install)],
  enableAdvancedFilteringOnArrays: false,
});
const health = {
  includedEventTypes: healthTypes,
  advancedFilters: healthOfMachines,
  enableAdvancedFilteringOnArrays: false,
};

/** Returns the subscription on an existing topic and the topic's group. Returns null if the install makes the topic. */
export const existingTopicSubscription = (
  install: Install,
): { readonly groupId: string; readonly resource: TemplateResource } | null => {
  const { systemTopic } = install.parameters;
  if (systemTopic === null) return null;
  const [groupId = '', name = ''] = systemTopic.split(/\/providers\/Microsoft\.EventGrid\/systemTopics\//i);
  const { dependsOn: _inAnotherTemplate, ...resource } = subscription(install, name, operations(install), []);
  return { groupId, resource };
};

export const eventTopics = (install: Install): readonly TemplateResource[] => {
  const { names, parameters, prefix } = install;
  const own =
    parameters.systemTopic === null
      ? [
          topic(install, prefix, 'Microsoft.Resources.Subscriptions'),
          subscription(install, prefix, operations(install), [names.topicId]),
        ]
      : [];
  if (!parameters.health) return own;
  const name = `${prefix}-health`;
  const id = `${names.groupId}/providers/Microsoft.EventGrid/systemTopics/${name}`;
  return [
    ...own,
    topic(install, name, 'Microsoft.ResourceNotifications.HealthResources'),
    subscription(install, name, health, [id]),
  ];
};

const API = '2024-01-01';

/** Longer than any invocation, and the longest lock that Service Bus supports. */
const LOCK_DURATION = 'PT5M';
const MESSAGE_TTL = 'P14D';
/** Applies only to a batch that could be neither processed nor sent again. */
const MOST_DELIVERIES = 20;

const queue = ({ names }: Install, name: string): TemplateResource => ({
  type: 'Microsoft.ServiceBus/namespaces/queues',
  apiVersion: API,
  name: `${names.bus}/${name}`,
  dependsOn: [names.busId],
  properties: {
    lockDuration: LOCK_DURATION,
    maxDeliveryCount: MOST_DELIVERIES,
    defaultMessageTimeToLive: MESSAGE_TTL,
    deadLetteringOnMessageExpiration: true,
  },
});

/**
 * Makes the namespace and its queues. Event Grid needs keys unless it delivers with an identity:
 * docs/decisions/0008-service-bus.md.
 */
export const serviceBusResources = (install: Install): readonly TemplateResource[] => {
  const { names, parameters } = install;
  const namespace: TemplateResource = {
    type: 'Microsoft.ServiceBus/namespaces',
    apiVersion: API,
    name: names.bus,
    location: parameters.location,
    tags: resourceTags(install),
    sku: { name: 'Basic', tier: 'Basic' },
    properties: {
      minimumTlsVersion: '1.2',
      disableLocalAuth: parameters.keylessDelivery,
      publicNetworkAccess: 'Enabled',
    },
  };
  return [namespace, queue(install, EVENTS_QUEUE), queue(install, DEAD_LETTER_QUEUE)];
};
