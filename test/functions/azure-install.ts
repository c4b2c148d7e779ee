import { z } from 'zod';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import { onEvent } from '../../functions/azure/on-event.ts';
import {
  serviceBusQueues,
  expandServed,
  whyNotServed,
  type ServedScope,
  type GetDependencies,
} from '../../functions/azure/dependencies.ts';
import { metricFields } from '../../functions/metrics.ts';
import { azureCloud } from '../../providers/azure/index.ts';
import { azureClients } from '../../providers/azure/client.ts';
import { readHints } from '../../providers/azure/events/read-hints.ts';
import type { OutgoingMessage } from '../../providers/azure/rest.ts';
import { apiOf, type AzureWorld, SANDBOX_SUBSCRIPTION } from '../../sandbox/azure-sandbox.ts';
import { inProcessClient } from '../../sandbox/azure/in-process-client.ts';
import { createStatusReading } from '../../kubernetes/readings/status.ts';
import { createDoctor } from '../../kubernetes/doctor.ts';
import { createDiagnosisReading } from '../../kubernetes/readings/diagnosis.ts';
import { openConnection, createCluster } from '../../kubernetes/cluster.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { portsOver } from '../sandbox/azure/azure-runs.ts';
import { credential } from '../sandbox/azure/azure-world.ts';

/** A small deployed app. Its queues are lists, and its clock is that of the sandbox. */
export interface AzureInstall {
  readonly getDependencies: GetDependencies;
  readonly context: {
    readonly log: (text: string) => void;
    readonly warn: (text: string) => void;
    readonly error: (text: string) => void;
  };
  /** Each line of the log, with its level. */
  readonly lines: Record<string, unknown>[];
  readonly queues: Record<string, OutgoingMessage[]>;
  /** Nothing can be sent while this is set. */
  readonly outage: { bus: boolean };
}

const line = z.record(z.string(), z.unknown());
const never = new AbortController().signal;

const cloudOver = (world: AzureWorld) =>
  azureCloud(
    azureClients({
      subscription: SANDBOX_SUBSCRIPTION,
      credential,
      httpClient: inProcessClient(world),
      polling: { everyMs: 0, times: 10 },
    }),
  );

const wiredOver = (
  world: AzureWorld,
  policy: Partial<Policy>,
  served: ServedScope,
  { queues, outage }: Pick<AzureInstall, 'queues' | 'outage'>,
): GetDependencies => {
  const { signal: _signal, observe: _observe, ...ports } = portsOver(world, 100);
  const send = async (queue: string, message: OutgoingMessage) => {
    if (outage.bus) throw new Error('Service Bus cannot be reached');
    (queues[queue] ??= []).push(message);
  };
  const cloud = cloudOver(world);
  const cluster = clusterIn(world, apiOf(world));
  const unused = () => Promise.reject(new Error('this test never drills'));
  let runs = 0;
  return async () => ({
    ports,
    openedCloud: {
      cloud,
      readHints,
      viewDisks: async () => [],
      driverFaultOf: () => null,
      probes: [{ where: 'azure', ask: async () => 'all well', destructiveCalls: async () => [] }],
      access: { managedCluster: unused, secret: unused },
    },
    openClusters: [
      {
        cluster: createCluster(cluster),
        doctor: async () => createDoctor(openConnection(cluster), cluster.link),
        cap: unused,
        status: async () => createStatusReading('sandbox', openConnection(cluster)),
        connection: () => Promise.reject(new Error('this test never drills')),
        diagnosis: async () => (faultOf, signal) => createDiagnosisReading(openConnection(cluster), faultOf, signal),
        aftermath: unused,
        open: async () => undefined,
        close: async () => undefined,
      },
    ],
    policy: { ...defaultPolicy, ...policy },
    whyNotServed: (item) => whyNotServed(item, served),
    queues: serviceBusQueues(async () => send, { eventsQueue: 'events', deadLettersQueue: 'dead-letters' }, world.now),
    expand: expandServed((named) => cloud.expand(named, never), served),
    formatMeasurements: metricFields,
    newRunId: () => `run-${(runs += 1)}`,
    chance: () => 0,
    lasts: 60_000,
  });
};

export const azureInstall = (
  world: AzureWorld,
  policy: Partial<Policy> = {},
  groups: ServedScope['groups'] = [],
): AzureInstall => {
  const state = {
    lines: [] as Record<string, unknown>[],
    queues: {} as Record<string, OutgoingMessage[]>,
    outage: { bus: false },
  };
  const at = (level: string) => (text: string) => void state.lines.push({ level, ...line.parse(JSON.parse(text)) });
  return {
    ...state,
    getDependencies: wiredOver(world, policy, { subscription: SANDBOX_SUBSCRIPTION, groups }, state),
    context: { log: at('log'), warn: at('warn'), error: at('error') },
  };
};

/** The content of a queue: text, and the seconds for which it is delayed. */
export const waiting = (world: AzureWorld, { queues }: AzureInstall, queue = 'events') =>
  (queues[queue] ?? []).map(({ text, notBefore, properties }) => ({
    message: JSON.parse(text) as unknown,
    seconds: notBefore === null ? 0 : Math.round((notBefore - world.now()) / 1_000),
    ...properties,
  }));

/** Removes everything from the queue of events. */
export const takeAll = ({ queues }: AzureInstall): readonly string[] =>
  (queues['events'] ?? []).splice(0).map(({ text }) => text);

/** Delivers messages, and then everything that was sent meanwhile, each when it is due, until nothing is left. */
export const drainQueue = async (
  world: AzureWorld,
  install: AzureInstall,
  ...messages: readonly unknown[]
): Promise<void> => {
  await onEvent(install.getDependencies)(messages, install.context);
  while ((install.queues['events'] ?? []).length > 0) {
    const due = Math.max(...waiting(world, install).map(({ seconds }) => seconds));
    world.advance(Math.max(0, due) * 1_000);
    await onEvent(install.getDependencies)(takeAll(install), install.context);
  }
  world.advance(60_000);
};

const operation = (resource: string, verb: string) => ({
  operationName: `Microsoft.Compute/${/virtualmachinescalesets/i.test(resource) ? 'virtualMachineScaleSets' : 'virtualMachines'}${/virtualmachinescalesets\/[^/]+\/virtualmachines/i.test(resource) ? '/virtualMachines' : ''}/${verb}/action`,
  resourceUri: resource,
  status: 'Succeeded',
});

/** The two schemas of Event Grid. */
export const gridEvent = (resource: string, verb = 'deallocate') => ({
  id: 'e-1',
  eventType: 'Microsoft.Resources.ResourceActionSuccess',
  subject: resource,
  eventTime: '2026-11-21T00:00:00Z',
  data: operation(resource, verb),
  dataVersion: '2',
  metadataVersion: '1',
  topic: `/subscriptions/${SANDBOX_SUBSCRIPTION}`,
});

export const cloudEvent = (resource: string, verb = 'deallocate') => ({
  id: 'e-1',
  type: 'Microsoft.Resources.ResourceActionSuccess',
  specversion: '1.0',
  source: `/subscriptions/${SANDBOX_SUBSCRIPTION}`,
  subject: resource,
  time: '2026-11-21T00:00:00Z',
  data: operation(resource, verb),
});

export const post = (
  body: unknown,
  more: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
) => ({
  method: more.method ?? 'POST',
  headers: Object.entries(more.headers ?? {}),
  text: async () => (typeof body === 'string' ? body : JSON.stringify(body)),
});
