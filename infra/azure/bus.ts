import type { TemplateResource } from './arm-template.ts';
import { tagsOf, type Install } from './install.ts';
import { DEAD_LETTERS, EVENTS } from './names.ts';

const API = '2024-01-01';

/** Longer than any invocation, and the longest that Service Bus knows. */
const LOCK = 'PT5M';
const KEPT = 'P14D';
/** Only for a batch that could be neither dealt with nor sent again. */
const MOST_DELIVERIES = 20;

const queue = ({ names }: Install, name: string): TemplateResource => ({
  type: 'Microsoft.ServiceBus/namespaces/queues',
  apiVersion: API,
  name: `${names.bus}/${name}`,
  dependsOn: [names.busId],
  properties: { lockDuration: LOCK, maxDeliveryCount: MOST_DELIVERIES, defaultMessageTimeToLive: KEPT, deadLetteringOnMessageExpiration: true },
});

/** Event Grid needs keys unless it delivers by an identity: docs/decisions/0008-service-bus.md. */
export const bus = (install: Install): readonly TemplateResource[] => {
  const { names, parameters } = install;
  const namespace: TemplateResource = {
    type: 'Microsoft.ServiceBus/namespaces',
    apiVersion: API,
    name: names.bus,
    location: parameters.location,
    tags: tagsOf(install),
    sku: { name: 'Basic', tier: 'Basic' },
    properties: { minimumTlsVersion: '1.2', disableLocalAuth: parameters.keylessDelivery, publicNetworkAccess: 'Enabled' },
  };
  return [namespace, queue(install, EVENTS), queue(install, DEAD_LETTERS)];
};
