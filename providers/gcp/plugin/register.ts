import { randomUUID } from 'node:crypto';
import { diskOf, immutableIdsOf, INSTANCE_PATH, machineOf, identityRulesFor } from '../identity.ts';
import { driverFaultOf } from '../errors.ts';
import { readHints } from '../events/read-hints.ts';
import {
  readUrl,
  type ReadVariable,
  type CloudPlugin,
  type OpenIncidentPlace,
  type OpenTestChain,
  type TestChain,
} from '../../plugin.ts';
import type { Publish } from '../publish.ts';

/** Returns the URL of another endpoint. Google's SDK has no variable for it. */
export const readGcpEndpoint = (variable: ReadVariable): string | null => readUrl(variable, 'CLOUDFENCE_GCP_ENDPOINT');

const BUCKET = /^gs:\/\/([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/incidents)?\/?$/;

const openBucket =
  (bucket: string): OpenIncidentPlace =>
  async ({ variable }) => {
    const { openObjectStore } = await import('../incidents.ts');
    const options = { endpoint: readGcpEndpoint(variable) };
    return { where: `the bucket ${bucket}`, objects: openObjectStore(bucket, options) };
  };

const TOPIC = /^projects\/[a-z0-9.:-]+\/topics\/[\w.~+%-]+$/i;

const chainBehind =
  (topic: string): OpenTestChain =>
  async ({ variable }) => {
    const { createPublisher } = await import('../publish.ts');
    return topicTestChain(topic, createPublisher({ endpoint: readGcpEndpoint(variable) }));
  };

export const gcp: CloudPlugin = {
  name: 'gcp',
  machineOf,
  immutableIdsOf,
  diskOf,
  identityRulesFor,
  readHints,
  driverFaultOf,
  ownsId: (id) => INSTANCE_PATH.test(id),
  incidents: {
    form: 'gs://<bucket>',
    at: (address) => {
      const bucket = BUCKET.exec(address)?.[1];
      return bucket === undefined ? null : openBucket(bucket);
    },
  },
  testChains: {
    form: 'projects/<project>/topics/<service>-<stage>-events',
    at: (entrance) => (TOPIC.test(entrance) ? chainBehind(entrance) : null),
  },
  access: async ({ variable }) => (await import('./access.ts')).gcpAccess({ endpoint: readGcpEndpoint(variable) }),
  open: async ({ variable, onRequestsSent }) =>
    (await import('./open.ts')).openGcp({
      endpoint: readGcpEndpoint(variable),
      newRequestId: randomUUID,
      onRequestsSent,
    }),
  stageWriter: async () => (await import('./stage.ts')).stage,
};

/** The chains for test events on Google Cloud, which begin at a topic of the install. */

const chainFrom = (topic: () => string, publish: Publish): Pick<TestChain, 'next' | 'send'> => ({
  next: 'npx serverless logs -c serverless.gcp.yml --stage <stage> -f on-event',
  send: (event) => publish(topic(), { text: JSON.stringify(event), attributes: {} }),
});

/**
 * Returns the chain that the functions can use. The account that fences may publish to the topic of waiting messages,
 * but not to the topic of the log sink.
 */
export const functionsTestChain = (publish: Publish, topic: () => string): TestChain => ({
  path: 'topic again → push → on-event',
  notTried: 'the log sink and the topic events, because only Cloud Logging may publish there',
  remedy:
    'look at the log of on-event, at the topic dead-letters, and at the push subscription of the topic again; ' +
    '`serverless deploy` restores all of them',
  ...chainFrom(topic, publish),
});

/** Returns the chain of a topic to which a person may publish, such as that of the log sink. */
export const topicTestChain = (topic: string, publish: Publish): TestChain => ({
  path: `topic ${topic.split('/').at(-1) ?? topic} → push → on-event`,
  notTried: 'the log sink, because only Google can write entries of the audit logs',
  remedy:
    'look at the log of on-event, at the topic dead-letters, and at the push subscription of that topic; ' +
    '`serverless deploy` restores all of them',
  ...chainFrom(() => topic, publish),
});
