import { randomUUID } from 'node:crypto';
import { readList, readTimeLimit, readVariable, newRunId, systemClock } from '../../config/environment.ts';
import { connectClustersAhead, openClusters } from '../../app/open-clusters.ts';
import { policyOf } from '../../config/schema.ts';
import { loadFunctionSettings } from '../../config/settings.ts';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { readUrl } from '../../providers/plugin.ts';
import { instancePath } from '../../providers/gcp/identity.ts';
import { openGcp } from '../../providers/gcp/plugin/open.ts';
import { readGcpEndpoint, functionsTestChain } from '../../providers/gcp/plugin/register.ts';
import type { Publish } from '../../providers/gcp/publish.ts';
import { MAX_REASON_LENGTH, type Queues } from '../acknowledge.ts';
import type { WorkItem } from '../messages.ts';
import { logDecision, metricFields } from '../metrics.ts';
import { clustersOf, type DoctorDependencies, incidentsAt, memoized } from '../dependencies.ts';

/** What the environment of a function on Google Cloud contains, besides `CLOUDFENCE_SETTINGS`. */
export interface GcpFunctionEnvironment {
  /** The project that the function is deployed in, and other projects whose machines are served. */
  readonly projects: readonly string[];
  /** The audience of the tokens of push requests, and the account that sends those requests. */
  readonly audience: string | null;
  readonly caller: string | null;
  /**
   * The account with which the function doctor sends its questions, and the address to which it sends them. That
   * account has no other permission.
   */
  readonly doctor: string | null;
  readonly askedAt: string | null;
  /** Whether this process runs in Cloud Run, and not on someone's laptop. */
  readonly inCloudRun: boolean;
  /** The URL of the keys that verify tokens, if it is not Google's own. */
  readonly certificatesUrl: string | null;
  /** Whether Cloud Run checks each request before it forwards the request. */
  readonly behindCloudRun: boolean;
  /** Full names of topics. */
  readonly againTopic: string | null;
  readonly deadLetterTopic: string | null;
  /** How often Pub/Sub delivers a failing event before it makes it a dead letter. Null if that is not known. */
  readonly deliveries: number | null;
  /** The bucket of incidents, and the full name of the topic for messages about them. */
  readonly incidentBucket: string | null;
  readonly incidentTopic: string | null;
  /** How long the platform lets a request run, in ms. */
  readonly lasts: number;
}

/** @throws InvalidConfiguration if a variable is invalid */
export const readGcpFunctionEnvironment = (): GcpFunctionEnvironment => ({
  projects: readList('CLOUDFENCE_PROJECTS'),
  audience: readVariable('CLOUDFENCE_AUDIENCE'),
  caller: readVariable('CLOUDFENCE_CALLER'),
  doctor: readVariable('CLOUDFENCE_DOCTOR'),
  askedAt: readUrl(readVariable, 'CLOUDFENCE_ASKED_AT'),
  // https://cloud.google.com/run/docs/container-contract#services-env-vars
  inCloudRun: readVariable('K_SERVICE') !== null,
  certificatesUrl: readUrl(readVariable, 'CLOUDFENCE_CERTIFICATES_URL'),
  behindCloudRun: readVariable('CLOUDFENCE_BEHIND_CLOUD_RUN') === 'true',
  againTopic: readVariable('CLOUDFENCE_AGAIN_TOPIC'),
  deadLetterTopic: readVariable('CLOUDFENCE_DEAD_LETTER_TOPIC'),
  deliveries: Number(readVariable('CLOUDFENCE_DELIVERIES')) || null,
  incidentBucket: readVariable('CLOUDFENCE_INCIDENT_BUCKET'),
  incidentTopic: readVariable('CLOUDFENCE_INCIDENT_TOPIC'),
  lasts: readTimeLimit(),
});

/** The dependencies, with the checks of who may call. */
export interface GcpDependencies extends DoctorDependencies, Pick<GcpFunctionEnvironment, 'deliveries'> {
  /**
   * Checks that the caller may push.
   * @throws PermissionDenied, Unavailable
   */
  readonly letIn: (authorization: string | null) => Promise<void>;
  /**
   * Checks that the caller may ask the doctor's questions.
   * @throws PermissionDenied, Unavailable
   */
  readonly letAsk: (authorization: string | null) => Promise<void>;
}

/** Time limit for checking the token of one request (ms). */
const KEYS_LAST_MS = 10_000;

const callerCheckOf = (
  { audience, certificatesUrl, behindCloudRun }: GcpFunctionEnvironment,
  serviceAccount: string | null,
): (() => Promise<GcpDependencies['letIn']>) =>
  memoized(async () => {
    if (audience === null || serviceAccount === null)
      throw new InvalidConfiguration([
        'the function rejects every caller, because CLOUDFENCE_AUDIENCE or the name of the caller ' +
          '(CLOUDFENCE_CALLER, CLOUDFENCE_DOCTOR) is not set: deploy the function with serverless.gcp.yml',
      ]);
    const { createPushCheck: pushIdentity } = await import('../../providers/gcp/push-identity.ts');
    const rules = {
      audience,
      serviceAccount,
      ...(certificatesUrl !== null && { certificatesUrl }),
      ...(behindCloudRun && { behindCloudRun: { now: Date.now } }),
    };
    const check = pushIdentity(rules);
    return (authorization) => check(authorization, AbortSignal.timeout(KEYS_LAST_MS));
  });

const createDependencies = async (): Promise<GcpDependencies> => {
  const environment = readGcpFunctionEnvironment();
  const endpoint = readGcpEndpoint(readVariable);
  const settings = await loadFunctionSettings();
  const onRequestsSent = () => connectClustersAhead(opened);
  const openedCloud = await openGcp({ endpoint, newRequestId: randomUUID, onRequestsSent });
  const opened = openClusters(settings.clusters, openedCloud.access, new AbortController().signal);
  const clock = systemClock();
  const publish = memoized(async () => (await import('../../providers/gcp/publish.ts')).createPublisher({ endpoint }));
  const [pushCheck, doctorCheck] = [
    callerCheckOf(environment, environment.caller),
    callerCheckOf(environment, environment.doctor),
  ];
  return {
    ports: { cloud: openedCloud.cloud, clusters: opened.map(({ cluster }) => cluster), clock },
    openedCloud,
    ...clustersOf(opened),
    policy: policyOf(settings, false),
    whyNotServed: (item) => whyNotServed(item, environment.projects),
    queues: pubSubQueues(publish, environment, () => clock.now().wall),
    ...incidentsIn(environment, endpoint),
    testChain: functionsTestChain(
      async (...message) => (await publish())(...message),
      () => requireTopic(environment.againTopic, 'CLOUDFENCE_AGAIN_TOPIC'),
    ),
    formatMeasurements: metricFields,
    newRunId,
    chance: Math.random,
    deliveries: environment.deliveries,
    log: (line) => console.log(logLine(line)),
    letIn: async (authorization) => (await pushCheck())(authorization),
    letAsk: async (authorization) => (await doctorCheck())(authorization),
  };
};

export const lazyDependencies = (): (() => Promise<GcpDependencies>) => memoized(createDependencies);

/**
 * The attribute of a waiting message with the time before which no look is needed (epoch ms):
 * docs/decisions/0006-waiting-on-pub-sub.md.
 */
export const NOT_BEFORE = 'notBefore';

const incidentsIn = (
  { incidentBucket, incidentTopic: topic }: GcpFunctionEnvironment,
  endpoint: string | null,
): Pick<GcpDependencies, 'incidents'> =>
  incidentsAt(incidentBucket, async (bucket) =>
    (await import('../../providers/gcp/incidents.ts')).createIncidentKeeper({ bucket, topic }, { endpoint }),
  );

interface TopicNames {
  readonly againTopic: string | null;
  readonly deadLetterTopic: string | null;
}

const requireTopic = (topic: string | null, variable: string): string => {
  if (topic === null)
    throw new InvalidConfiguration([
      `the environment variable ${variable} is not set: deploy the function with serverless.gcp.yml`,
    ]);
  return topic;
};

/** Loads the client only when there is a message to send, because most events need no queue. */
export const pubSubQueues = (
  publish: () => Promise<Publish>,
  { againTopic, deadLetterTopic }: TopicNames,
  now: () => number,
): Queues => ({
  again: async (message, delaySeconds) => {
    const attributes = { [NOT_BEFORE]: String(now() + delaySeconds * 1_000) };
    await (
      await publish()
    )(requireTopic(againTopic, 'CLOUDFENCE_AGAIN_TOPIC'), { text: JSON.stringify(message), attributes });
  },
  dead: async ({ reason, body }) => {
    const attributes = { reason: shortened(reason) };
    await (
      await publish()
    )(requireTopic(deadLetterTopic, 'CLOUDFENCE_DEAD_LETTER_TOPIC'), { text: body, attributes });
  },
});

/**
 * Shortens the reason to the limit in bytes, because Pub/Sub measures attributes in bytes.
 * https://cloud.google.com/pubsub/quotas
 */
const shortened = (reason: string): string =>
  Buffer.from(reason)
    .subarray(0, MAX_REASON_LENGTH)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');

/**
 * Returns why this install does not serve the item, or null if it does. An install serves its own project and the
 * configured projects. A machine id contains its project, whatever the source of the event.
 */
export const whyNotServed = (
  { machine, account }: Pick<WorkItem, 'machine' | 'account'>,
  projects: readonly string[],
): string | null => {
  const project = instancePath(machine)?.project ?? account;
  if (project !== null && projects.includes(project)) return null;
  return (
    `the machine is in project ${project ?? '(unknown)'}, but this install serves only ${projects.join(', ')}. ` +
    `To serve it too, add it to \`projects\` (docs/gcp.md, "Other projects")`
  );
};

/**
 * The severity that Cloud Logging reads from a line of JSON.
 * https://cloud.google.com/logging/docs/structured-logging
 */
type Severity = 'INFO' | 'WARNING' | 'ERROR';

const severities: Readonly<Record<string, Severity>> = {
  failed: 'ERROR',
  refused: 'WARNING',
  [logDecision.notUnderstood]: 'WARNING',
  [logDecision.foreign]: 'WARNING',
  [logDecision.handedToSweep]: 'WARNING',
  'not-let-in': 'WARNING',
};

/** Adds the two fields that Cloud Logging shows to a log line. */
const logLine = (line: object): string => {
  const { decision: what, says } = { decision: '', says: '', ...line };
  return JSON.stringify({ severity: severities[what] ?? 'INFO', message: `${what}: ${says}`, ...line });
};
