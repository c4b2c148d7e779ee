import {
  readAzureFunctionEnvironment,
  readEnvironment,
  readFunctionEnvironment,
  readVariable,
} from '../../config/environment.ts';
import { openClusters } from '../../config/open-clusters.ts';
import { type Configuration, parseConfiguration, policyOf } from '../../config/schema.ts';
import { loadSettings } from '../../config/settings.ts';
import { newRunId, systemClock } from '../../config/system.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { subjectOf } from '../../providers/azure/events/kinds.ts';
import { azurePlace } from '../../providers/azure/plugin/register.ts';
import type { Send } from '../../providers/azure/service-bus.ts';
import { type WorkItem, LONGEST_REASON, type Queues } from '../messages.ts';
import { metricFields } from '../metrics.ts';
import { type DoctorWiring, once } from '../wiring.ts';

/** Replaces what an event names, such as a scale set, with its machines. */
export type Expand = (named: readonly MachineId[], signal: AbortSignal) => Promise<readonly MachineId[]>;

export interface AzureWiring extends DoctorWiring {
  readonly queues: BusQueues;
  readonly expand: Expand;
  /** How long an invocation may run (ms). */
  readonly lasts: number;
}

/** Returns the wiring, which is built once per process. */
export type Wired = () => Promise<Omit<AzureWiring, 'log'>>;

const settingsFrom = (settings: string | null): Promise<Configuration> | Configuration =>
  settings === null ? loadSettings(readEnvironment()) : parseConfiguration(settings, 'CLOUDFENCE_SETTINGS');

const senderTo = async (host: string | null): Promise<Send> => {
  if (host === null)
    throw new InvalidConfiguration([
      'the environment variable CLOUDFENCE_BUS__fullyQualifiedNamespace is not set: deploy the function with serverless.azure.yml',
    ]);
  const [{ busSender }, { lazyCredential }] = await Promise.all([
    import('../../providers/azure/service-bus.ts'),
    import('../../providers/azure/lazy-credential.ts'),
  ]);
  return busSender({ host, credential: lazyCredential() });
};

const wire: Wired = async () => {
  const environment = readAzureFunctionEnvironment();
  const { subscription, endpoint } = azurePlace(readVariable);
  const settings = await settingsFrom(readFunctionEnvironment().settings);
  // The import loads the SDK. An instance can start without it.
  const { openAzure } = await import('../../providers/azure/plugin/open.ts');
  const kit = await openAzure({ subscription, endpoint });
  const opened = openClusters(settings.clusters, kit.access, new AbortController().signal);
  const clock = systemClock();
  const served = { subscription, groups: environment.groups };
  return {
    ports: { cloud: kit.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    kit,
    opened,
    policy: policyOf(settings, false),
    foreign: (item) => foreign(item, served),
    queues: busQueues(
      once(() => senderTo(environment.busHost)),
      environment,
      () => clock.now().wall,
    ),
    expand: expandServed(kit.cloud.expand, served),
    measured: metricFields,
    newRunId,
    lasts: environment.lasts,
  };
};

export const wireOnce = (): Wired => once(wire);

interface QueueNames {
  readonly eventsQueue: string | null;
  readonly deadLettersQueue: string | null;
}

/** Both queues. `events` sends any text to the events queue, not only a request to look again at a machine. */
interface BusQueues extends Queues {
  readonly events: (text: string, delaySeconds: number) => Promise<void>;
}

const named = (queue: string | null, variable: string): string => {
  if (queue === null)
    throw new InvalidConfiguration([
      `the environment variable ${variable} is not set: deploy the function with serverless.azure.yml`,
    ]);
  return queue;
};

/**
 * Sends messages with a delay: Service Bus holds a message back until it is due, so the queue is the timer. The sender
 * is loaded only when there is a message to send, because most events need no queue.
 */
export const busQueues = (
  send: () => Promise<Send>,
  { eventsQueue, deadLettersQueue }: QueueNames,
  now: () => number,
): BusQueues => {
  const events: BusQueues['events'] = async (text, delaySeconds) => {
    const notBefore = delaySeconds > 0 ? now() + delaySeconds * 1_000 : null;
    await (
      await send()
    )(named(eventsQueue, 'CLOUDFENCE_EVENTS_QUEUE'), { text, notBefore, properties: {} });
  };
  return {
    events,
    again: (message, delaySeconds) => events(JSON.stringify(message), delaySeconds),
    dead: async ({ reason, body }) => {
      const message = { text: body, notBefore: null, properties: { reason: reason.slice(0, LONGEST_REASON) } };
      await (
        await send()
      )(named(deadLettersQueue, 'CLOUDFENCE_DEAD_LETTERS_QUEUE'), message);
    },
  };
};

/** The subscription and the resource groups whose machines an install serves. */
export interface Served {
  readonly subscription: string | null;
  /** Names of resource groups. An empty list means all groups. */
  readonly groups: readonly string[];
}

type Told = Pick<WorkItem, 'machine' | 'account'>;

/**
 * Returns why this install does not serve the item, or null if it does. A machine id names its subscription and its
 * resource group.
 */
export const foreign = ({ machine, account }: Told, { subscription: served, groups }: Served): string | null => {
  const subject = subjectOf(machine);
  const told = subject?.subscription ?? account?.toLowerCase() ?? null;
  if (served === null || told !== served.toLowerCase())
    return `the machine is in subscription ${told ?? '(unknown)'}, but this install serves only ${served ?? 'none'}: install Cloudfence in that subscription too (docs/azure.md, "Subscriptions")`;
  if (subject === null || groups.length === 0 || groups.some((group) => group.toLowerCase() === subject.group))
    return null;
  return `the machine is in resource group ${subject.group}, but this install serves only ${groups.join(', ')}: to serve it too, add it to resourceGroups (docs/azure.md, "Install")`;
};

const isServed = (machine: Told['machine'], served: Served): boolean =>
  foreign({ machine, account: null }, served) === null;

/**
 * Expands only the scale sets that this install serves, and leaves the others as they are. ARM would deny listing them,
 * and the run of the item reports why this install does not serve it.
 */
export const expandServed =
  (expand: Expand, served: Served): Expand =>
  async (named, signal) => {
    const ours = await expand(
      named.filter((machine) => isServed(machine, served)),
      signal,
    );
    return [...ours, ...named.filter((machine) => !isServed(machine, served))];
  };
