import type { SQSClient } from '@aws-sdk/client-sqs';
import { readEnvironment, readList, readVariable, newRunId, systemClock } from '../../config/environment.ts';
import { connectClustersAhead, openClusters } from '../../app/open-clusters.ts';
import { policyOf } from '../../config/schema.ts';
import { loadFunctionSettings } from '../../config/settings.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { readUrl } from '../../providers/plugin.ts';
import type { PutEvent } from '../../providers/aws/signed-calls.ts';
import { testChainOver } from '../../providers/aws/test-chain.ts';
import { openAws } from '../../providers/aws/plugin/open.ts';
import { permissionTags } from '../../providers/cluster-entries.ts';
import { MAX_REASON_LENGTH, type Queues } from '../acknowledge.ts';
import type { WorkItem } from '../messages.ts';
import { type Measurement, metricFields } from '../metrics.ts';
import { clustersOf, type DoctorDependencies, incidentsAt, memoized } from '../dependencies.ts';
import { functionsWithOwnRole } from './lambda.ts';

/** What the environment of a deployed function contains, besides its settings. */
interface AwsFunctionEnvironment {
  readonly region: string | null;
  readonly account: string | null;
  readonly queueUrl: string | null;
  readonly deadLetterQueueUrl: string | null;
  readonly archiveArn: string | null;
  /**
   * The bucket of incidents, the ARN of the topic for messages about them, and an endpoint that replaces the services'
   * own.
   */
  readonly incidentBucket: string | null;
  readonly incidentTopic: string | null;
  readonly endpoint: string | null;
  readonly busArn: string | null;
  /** The rules that receive a replay. Without them, a replay would trigger everyone's rules. */
  readonly ruleArns: readonly string[];
  /** The namespace of the metrics. */
  readonly namespace: string;
  /** Names of the functions that fence, and of those that only read. The doctor uses them. */
  readonly fencers: readonly string[];
  readonly readers: readonly string[];
  /** The name of the install, `<service>-<stage>`, for the doctor's test events. */
  readonly install: string | null;
  /** The tags on which the role's permissions depend, as written in the parameter `onlyTagged`; null when unknown. */
  readonly onlyTagged: string | null;
}

export const readAwsFunctionEnvironment = (): AwsFunctionEnvironment => ({
  region: readEnvironment().region,
  account: readVariable('CLOUDFENCE_ACCOUNT'),
  queueUrl: readVariable('CLOUDFENCE_QUEUE_URL'),
  deadLetterQueueUrl: readVariable('CLOUDFENCE_DEAD_LETTER_QUEUE_URL'),
  archiveArn: readVariable('CLOUDFENCE_ARCHIVE_ARN'),
  incidentBucket: readVariable('CLOUDFENCE_INCIDENT_BUCKET'),
  incidentTopic: readVariable('CLOUDFENCE_INCIDENT_TOPIC'),
  endpoint: readUrl(readVariable, 'AWS_ENDPOINT_URL'),
  busArn: readVariable('CLOUDFENCE_BUS_ARN'),
  ruleArns: readList('CLOUDFENCE_RULE_ARNS'),
  namespace: readVariable('CLOUDFENCE_NAMESPACE') ?? 'Cloudfence',
  fencers: readList('CLOUDFENCE_FENCERS'),
  readers: readList('CLOUDFENCE_READERS'),
  install: readVariable('CLOUDFENCE_INSTALL'),
  onlyTagged: readVariable('CLOUDFENCE_ONLY_TAGGED'),
});

/**
 * Limits each request to a queue (ms). Without a limit, the SDK waits forever for an answer that a broken connection
 * has lost. The platform would then end the function, and its whole batch would come back only after the visibility
 * timeout.
 */
const queueLimits = {
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  maxAttempts: 2,
} as const;

const createDependencies = async (): Promise<DoctorDependencies> => {
  const environment = readAwsFunctionEnvironment();
  const settings = await loadFunctionSettings();
  const { account } = environment;
  const region = settings.region ?? environment.region;
  const openedCloud = await openAws({
    region,
    account,
    territories: settings.territories,
    tags: permissionTags(environment.onlyTagged, settings.clusters),
    onRequestsSent: () => connectClustersAhead(opened),
  });
  const opened = openClusters(settings.clusters, openedCloud.access, new AbortController().signal);
  const sqs = async () => new (await import('@aws-sdk/client-sqs')).SQSClient({ region: region ?? '', ...queueLimits });
  const clock = systemClock();
  // The install's own territory comes first.
  const territories = [{ account, region }, ...settings.territories];
  return {
    ports: { cloud: openedCloud.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    openedCloud,
    ...clustersOf(opened),
    ...functionsWithOwnRole(region, environment),
    policy: policyOf(settings, false),
    whyNotServed: (item) => whyNotServed(item, territories),
    queues: sqsQueues(memoized(sqs), environment),
    ...inSignedCalls(memoized(sqs), environment, region, clock),
    formatMeasurements: (measures) => embeddedMetricLine(environment.namespace, clock.now().wall, measures),
    newRunId,
    chance: Math.random,
    log: (line) => console.log(JSON.stringify(line)),
  };
};

export const lazyDependencies = (): (() => Promise<DoctorDependencies>) => memoized(createDependencies);

/** The SQS client finds the credentials with which these calls are signed. Its code is loaded in any case. */
const inSignedCalls = (
  client: () => Promise<SQSClient>,
  environment: AwsFunctionEnvironment,
  region: string | null,
  clock: DoctorDependencies['ports']['clock'],
): Pick<DoctorDependencies, 'incidents' | 'testChain'> => ({
  ...incidentsIn(client, environment, region),
  ...testChainIn(client, environment, region, clock),
});

const incidentsIn = (
  client: () => Promise<SQSClient>,
  { incidentBucket, incidentTopic: topic, endpoint }: AwsFunctionEnvironment,
  region: string | null,
): Pick<DoctorDependencies, 'incidents'> =>
  incidentsAt(incidentBucket, async (bucket) => {
    const { createIncidentKeeper } = await import('../../providers/aws/incidents.ts');
    const { credentials } = (await client()).config;
    return createIncidentKeeper({ bucket, topic }, { region: region ?? '', credentials, endpoint });
  });

const testChainIn = (
  client: () => Promise<SQSClient>,
  { install, endpoint }: AwsFunctionEnvironment,
  region: string | null,
  { now }: DoctorDependencies['ports']['clock'],
): Pick<DoctorDependencies, 'testChain'> => {
  if (install === null) return {};
  const put: PutEvent = async (event, signal) => {
    const { putEventOn } = await import('../../providers/aws/signed-calls.ts');
    const { credentials } = (await client()).config;
    await putEventOn({ region: region ?? '', credentials, endpoint })(event, signal);
  };
  return { testChain: testChainOver(install, put, () => now().wall) };
};

interface QueueUrls {
  readonly queueUrl: string | null;
  readonly deadLetterQueueUrl: string | null;
}

const requireQueueUrl = (url: string | null, variable: string): string => {
  if (url === null)
    throw new InvalidConfiguration([
      `the environment variable ${variable} is not set: deploy the function with serverless.yml`,
    ]);
  return url;
};

/** Loads the SDK only when there is a message to send, because most events need no queue. */
const sqsQueues = (client: () => Promise<SQSClient>, { queueUrl, deadLetterQueueUrl }: QueueUrls): Queues => ({
  again: async (message, delaySeconds) => {
    const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const input = {
      QueueUrl: requireQueueUrl(queueUrl, 'CLOUDFENCE_QUEUE_URL'),
      MessageBody: JSON.stringify(message),
      DelaySeconds: delaySeconds,
    };
    await (await client()).send(new SendMessageCommand(input));
  },
  postpone: async (receipt, delaySeconds) => {
    const { ChangeMessageVisibilityCommand } = await import('@aws-sdk/client-sqs');
    const input = {
      QueueUrl: requireQueueUrl(queueUrl, 'CLOUDFENCE_QUEUE_URL'),
      ReceiptHandle: receipt,
      VisibilityTimeout: delaySeconds,
    };
    await (await client()).send(new ChangeMessageVisibilityCommand(input));
  },
  dead: async ({ reason, body }) => {
    const { SendMessageCommand } = await import('@aws-sdk/client-sqs');
    const MessageAttributes = { reason: { DataType: 'String', StringValue: reason.slice(0, MAX_REASON_LENGTH) } };
    await (
      await client()
    ).send(
      new SendMessageCommand({
        QueueUrl: requireQueueUrl(deadLetterQueueUrl, 'CLOUDFENCE_DEAD_LETTER_QUEUE_URL'),
        MessageBody: body,
        MessageAttributes,
      }),
    );
  },
});

/** An account and region whose machines this install serves. A field is null if the environment does not set it. */
interface ServedTerritory {
  readonly account: string | null;
  readonly region: string | null;
}

/** Matches an account number. Samples and documentation have words in its place. */
const ACCOUNT = /^\d{12}$/;

const isServedOrUnknown = (named: string | null, served: string | null): boolean =>
  named === null || served === null || named === served;

const describeTerritory = ({ account, region }: ServedTerritory): string =>
  `account ${account ?? '(unknown)'} in ${region ?? 'any region'}`;

/**
 * Returns why this install does not serve the item, or null if it does. An install serves its own region of its own
 * account, and the configured territories. In other accounts and regions, the same id is not found, and "not found"
 * must never contribute to a proof.
 */
export const whyNotServed = (
  { account, region }: Pick<WorkItem, 'account' | 'region'>,
  territories: readonly ServedTerritory[],
): string | null => {
  const accountId = account !== null && ACCOUNT.test(account) ? account : null;
  if (
    territories.some(
      (served) => isServedOrUnknown(accountId, served.account) && isServedOrUnknown(region, served.region),
    )
  )
    return null;
  const event = [accountId === null ? [] : `account ${accountId}`, region === null ? [] : `region ${region}`]
    .flat()
    .join(', ');
  return (
    `the event is from ${event}, but this install serves only ${territories.map(describeTerritory).join(', ')}. ` +
    `To serve it too, add it to \`territories\` with a role to assume (docs/aws.md, "Accounts and regions")`
  );
};

interface MetricLine {
  readonly _aws: {
    readonly Timestamp: number;
    readonly CloudWatchMetrics: readonly {
      readonly Namespace: string;
      readonly Dimensions: readonly (readonly string[])[];
      readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[];
    }[];
  };
}

/**
 * Returns a log line in CloudWatch's embedded metric format, which is also a metric. One line contains all measures of
 * one moment, each with its own dimensions.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const embeddedMetricLine = (
  namespace: string,
  at: number,
  measured: readonly Measurement[],
): MetricLine & Readonly<Record<string, unknown>> => ({
  _aws: {
    Timestamp: at,
    CloudWatchMetrics: measured.map(({ name, unit, by = {} }) => ({
      Namespace: namespace,
      Dimensions: [Object.keys(by)],
      Metrics: [{ Name: name, Unit: unit }],
    })),
  },
  ...metricFields(measured),
});
