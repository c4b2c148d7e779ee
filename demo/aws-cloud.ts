import { whyNotServed, embeddedMetricLine } from '../functions/aws/dependencies.ts';
import { onEvent } from '../functions/aws/on-event.ts';
import { awsCloud } from '../providers/aws/index.ts';
import { ec2Clients } from '../providers/aws/client.ts';
import {
  type AwsParts,
  type AwsWorld,
  createAwsSandbox,
  SANDBOX_ACCOUNT,
  SANDBOX_REGION,
} from '../sandbox/aws-sandbox.ts';
import { openEc2Server } from '../sandbox/ec2/ec2-server.ts';
import { defaultStop, start, stopByUser, terminate } from '../sandbox/ec2/instances.ts';
import { type Instance, instanceIn, type InstanceState, volumeIn } from '../sandbox/ec2/state.ts';
import { databaseOnTwoNodes } from '../sandbox/scenes/ec2-database.ts';
import { deployFunction, type QueuedMessage, type Platform } from './platform.ts';
import type { DemoCloud, RunCall, Machine } from './story.ts';

const powers: Readonly<Partial<Record<InstanceState, Machine['power']>>> = {
  running: 'running',
  stopped: 'off',
  terminated: 'gone',
};

const machine = (world: AwsWorld, id: string): Machine => {
  const { state, boot = 0 } = instanceIn(world, id) ?? {};
  return { state: state ?? 'unknown', power: state === undefined ? 'gone' : (powers[state] ?? 'between'), boot };
};

const change =
  (apply: (world: AwsWorld, instance: Instance) => unknown) =>
  (world: AwsWorld, id: string): void => {
    const instance = instanceIn(world, id);
    if (instance) apply(world, instance);
  };

/** The states that the EventBridge rule forwards. */
const FORWARDED: ReadonlySet<string> = new Set(['stopped', 'terminated', 'running']);

/** Returns the SDK's own clients. Each of their requests waits for its turn before it is sent. */
const clientsAt = (endpoint: string, inTurn: RunCall) => {
  const clients = ec2Clients({
    region: SANDBOX_REGION,
    endpoint,
    credentials: { accessKeyId: 'demo', secretAccessKey: 'demo' },
  });
  const waiting = (client: typeof clients.reads): typeof clients.reads => {
    client.middlewareStack.add((next) => (request) => inTurn(() => next(request)), {
      step: 'deserialize',
      priority: 'high',
    });
    return client;
  };
  return {
    reads: waiting(clients.reads),
    writes: (passage: Parameters<typeof clients.writes>[0]) => waiting(clients.writes(passage)),
  };
};

/**
 * Returns the batch that Lambda passes to a function.
 * https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
 */
const sqsBatchOf = ({ id, body, received }: QueuedMessage): object => ({
  Records: [{ messageId: id, body, attributes: { ApproximateReceiveCount: String(received) }, eventSource: 'aws:sqs' }],
});

/** Simulates Lambda around the real handler. */
const lambda = (now: () => number): Platform => ({
  whyNotServed: (item) => whyNotServed(item, [{ account: SANDBOX_ACCOUNT, region: SANDBOX_REGION }]),
  formatMeasurements: (measures) => embeddedMetricLine('Cloudfence', now(), measures),
  handle: async (message, dependencies, limit) => {
    const answered = await onEvent(async () => dependencies)(sqsBatchOf(message), limit);
    return 'batchItemFailures' in answered && answered.batchItemFailures.length > 0;
  },
});

export const demoCloud: DemoCloud<AwsParts> = {
  name: 'aws',
  title: 'EC2',
  api: 'ec2',
  create: createAwsSandbox,
  scene: databaseOnTwoNodes,
  machine,
  shortName: (id) => id,
  shortNode: (node) => node.split('.')[0] ?? node,
  showsNothing: {},
  holders: (world, volume) => volumeIn(world, volume)?.attachments ?? [],
  violations: (world) => world.parts.ec2.violations,
  stop: change((world, instance) => stopByUser(world, instance, defaultStop)),
  destroy: change(terminate),
  start: change(start),
  announcements: (world) =>
    world.parts.ec2.events.map((event) =>
      FORWARDED.has(event.detail.state) ? { id: event.id, event, says: event.detail.state } : null,
    ),
  sweeps: false,
  openServer: (world, arrived) => openEc2Server(world, 0, arrived),
  environment: (url) => ({
    AWS_ENDPOINT_URL_EC2: url,
    AWS_REGION: SANDBOX_REGION,
    AWS_ACCESS_KEY_ID: 'sandbox',
    AWS_SECRET_ACCESS_KEY: 'sandbox',
  }),
  connectCloud: (url, inTurn) => awsCloud({ clients: clientsAt(url, inTurn), region: SANDBOX_REGION }),
  deploy: (parts) => deployFunction(parts, lambda(parts.now)),
};
