import { readList, readTimeLimit, readVariable, newRunId, systemClock } from '../../config/environment.ts';
import { connectClustersAhead, openClusters } from '../../app/open-clusters.ts';
import { policyOf } from '../../config/schema.ts';
import { loadFunctionSettings } from '../../config/settings.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { subjectOf } from '../../providers/azure/events/kinds.ts';
import { readAzureVariables, testChainOf } from '../../providers/azure/plugin/register.ts';
import { readUrl } from '../../providers/plugin.ts';
import type { SendMessage } from '../../providers/azure/rest.ts';
import { MAX_REASON_LENGTH, type Queues } from '../acknowledge.ts';
import type { WorkItem } from '../messages.ts';
import { metricFields } from '../metrics.ts';
import { clustersOf, type DoctorDependencies, incidentsAt, memoized } from '../dependencies.ts';

/** The environment of a function on Azure, without `CLOUDFENCE_SETTINGS` and the function's region. */
interface AzureFunctionEnvironment {
  /** Host of the Service Bus namespace. The platform's own trigger reads the same variable. */
  readonly busHost: string | null;
  /** Names of queues. */
  readonly eventsQueue: string | null;
  readonly deadLettersQueue: string | null;
  /** URLs of the container of incidents, and of the endpoint of the topic for messages about them. */
  readonly incidentContainer: string | null;
  readonly incidentTopic: string | null;
  /** Names of the resource groups whose machines are served. An empty list means all groups. */
  readonly groups: readonly string[];
  /** How long an invocation may run, in ms. */
  readonly lasts: number;
}

const readAzureFunctionEnvironment = (): AzureFunctionEnvironment => ({
  busHost: readVariable('CLOUDFENCE_BUS__fullyQualifiedNamespace'),
  eventsQueue: readVariable('CLOUDFENCE_EVENTS_QUEUE'),
  deadLettersQueue: readVariable('CLOUDFENCE_DEAD_LETTERS_QUEUE'),
  incidentContainer: readUrl(readVariable, 'CLOUDFENCE_INCIDENT_CONTAINER'),
  incidentTopic: readUrl(readVariable, 'CLOUDFENCE_INCIDENT_TOPIC'),
  groups: readList('CLOUDFENCE_RESOURCE_GROUPS'),
  lasts: readTimeLimit(),
});

/** Replaces other objects that an event names, such as a scale set, with their machines. */
export type ExpandScaleSets = (named: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;

export interface AzureDependencies extends DoctorDependencies {
  readonly queues: ServiceBusQueues;
  readonly expand: ExpandScaleSets;
  /** How long an invocation may run (ms). */
  readonly lasts: number;
}

/** Returns the dependencies, which are built once per process. */
export type GetDependencies = () => Promise<Omit<AzureDependencies, 'log'>>;

const senderTo = async (host: string | null): Promise<SendMessage> => {
  if (host === null)
    throw new InvalidConfiguration([
      'the environment variable CLOUDFENCE_BUS__fullyQualifiedNamespace is not set: deploy the function with ' +
        'serverless.azure.yml',
    ]);
  const { createSender, lazyCredential } = await import('../../providers/azure/rest.ts');
  return createSender({ host, credential: lazyCredential() });
};

const createDependencies: GetDependencies = async () => {
  const environment = readAzureFunctionEnvironment();
  const { subscription, endpoint } = readAzureVariables(readVariable);
  const settings = await loadFunctionSettings();
  // The import loads the SDK. An instance can start without the SDK.
  const { openAzure } = await import('../../providers/azure/plugin/open.ts');
  const openedCloud = await openAzure({ subscription, endpoint, onRequestsSent: () => connectClustersAhead(opened) });
  const opened = openClusters(settings.clusters, openedCloud.access, new AbortController().signal);
  const clock = systemClock();
  const served = { subscription, groups: environment.groups };
  const queues = serviceBusQueues(
    memoized(() => senderTo(environment.busHost)),
    environment,
    () => clock.now().wall,
  );
  return {
    ports: { cloud: openedCloud.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    openedCloud,
    ...clustersOf(opened),
    policy: policyOf(settings, false),
    whyNotServed: (item) => whyNotServed(item, served),
    queues,
    testChain: testChainOf((text) => queues.events(text, 0)),
    ...incidentsIn(environment),
    expand: expandServed(openedCloud.cloud.expand, served),
    formatMeasurements: metricFields,
    newRunId,
    chance: Math.random,
    lasts: environment.lasts,
  };
};

export const lazyDependencies = (): GetDependencies => memoized(createDependencies);

const incidentsIn = ({
  incidentContainer,
  incidentTopic: topic,
}: AzureFunctionEnvironment): Pick<AzureDependencies, 'incidents'> =>
  incidentsAt(incidentContainer, async (container) => {
    const [{ createIncidentKeeper }, { lazyCredential }] = await Promise.all([
      import('../../providers/azure/incidents.ts'),
      import('../../providers/azure/rest.ts'),
    ]);
    return createIncidentKeeper({ container, topic }, { credential: lazyCredential() });
  });

interface QueueNames {
  readonly eventsQueue: string | null;
  readonly deadLettersQueue: string | null;
}

/** Both queues. `events` sends any text to the events queue, not only a request to look again at a machine. */
interface ServiceBusQueues extends Queues {
  readonly events: (text: string, delaySeconds: number) => Promise<void>;
}

const requireQueue = (queue: string | null, variable: string): string => {
  if (queue === null)
    throw new InvalidConfiguration([
      `the environment variable ${variable} is not set: deploy the function with serverless.azure.yml`,
    ]);
  return queue;
};

/**
 * Sends messages with a delay. Service Bus holds a message back until it is due, so the queue serves as the timer. The
 * sender is loaded only when there is a message to send, because most events need no queue.
 */
export const serviceBusQueues = (
  send: () => Promise<SendMessage>,
  { eventsQueue, deadLettersQueue }: QueueNames,
  now: () => number,
): ServiceBusQueues => {
  const events: ServiceBusQueues['events'] = async (text, delaySeconds) => {
    const notBefore = delaySeconds > 0 ? now() + delaySeconds * 1_000 : null;
    await (
      await send()
    )(requireQueue(eventsQueue, 'CLOUDFENCE_EVENTS_QUEUE'), { text, notBefore, properties: {} });
  };
  return {
    events,
    again: (message, delaySeconds) => events(JSON.stringify(message), delaySeconds),
    dead: async ({ reason, body }) => {
      const message = { text: body, notBefore: null, properties: { reason: reason.slice(0, MAX_REASON_LENGTH) } };
      await (
        await send()
      )(requireQueue(deadLettersQueue, 'CLOUDFENCE_DEAD_LETTERS_QUEUE'), message);
    },
  };
};

/** The subscription and the resource groups whose machines an install serves. */
export interface ServedScope {
  readonly subscription: string | null;
  /** Names of resource groups. An empty list means all groups. */
  readonly groups: readonly string[];
}

type ItemOrigin = Pick<WorkItem, 'machine' | 'account'>;

/**
 * Returns why this install does not serve the item, or null if it does. A machine id names its subscription and its
 * resource group.
 */
export const whyNotServed = (
  { machine, account }: ItemOrigin,
  { subscription: served, groups }: ServedScope,
): string | null => {
  const subject = subjectOf(machine);
  const named = subject?.subscription ?? account?.toLowerCase() ?? null;
  if (served === null || named !== served.toLowerCase())
    return (
      `the machine is in subscription ${named ?? '(unknown)'}, but this install serves only ${served ?? 'none'}: ` +
      'install Cloudfence in that subscription too (docs/azure.md, "Several subscriptions")'
    );
  if (subject === null || groups.length === 0 || groups.some((group) => group.toLowerCase() === subject.group))
    return null;
  return (
    `the machine is in resource group ${subject.group}, but this install serves only ${groups.join(', ')}: to ` +
    'serve it too, add it to resourceGroups (docs/azure.md, "Install")'
  );
};

const isServed = (machine: ItemOrigin['machine'], served: ServedScope): boolean =>
  whyNotServed({ machine, account: null }, served) === null;

/**
 * Expands only the scale sets that this install serves, and leaves the others as they are. ARM would deny listing them,
 * and the run of the item reports why this install does not serve it.
 */
export const expandServed =
  (expand: ExpandScaleSets, served: ServedScope): ExpandScaleSets =>
  async (named, signal) => {
    const expanded = await expand(
      named.filter((machine) => isServed(machine, served)),
      signal,
    );
    return [...expanded, ...named.filter((machine) => !isServed(machine, served))];
  };
