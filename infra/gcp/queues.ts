import { harmlessSystemEvents, powerCalls } from '../../providers/gcp/events/read-hints.ts';
import type { Resource } from './ensure.ts';
import { type Install, durationText } from './install.ts';

const DAY_S = 86_400;
/**
 * The longest time that Pub/Sub waits for an answer (s). A function that takes longer is called twice, which is
 * harmless.
 */
const LONGEST_ACK_S = 600;

const topicNames = ['events', 'again', 'dead-letters'] as const;

/** The topic that gets a message for each fence, refusal, and release. The install itself has no subscription on it. */
export const INCIDENT_TOPIC = 'incidents';

export const topics = ({ names, parameters }: Install): readonly Resource[] =>
  [...topicNames, ...(parameters.incidentTopic === null ? [INCIDENT_TOPIC] : [])].map((name) => ({
    what: `topic ${names.topic(name)}`,
    host: 'pubsub',
    path: `v1/${names.topic(name)}`,
    wanted: { name: names.topic(name) },
    create: { method: 'PUT', path: `v1/${names.topic(name)}`, body: {} },
    change: null,
  }));

const subscription = (
  { names }: Install,
  name: string,
  topic: string,
  rest: Readonly<Record<string, unknown>>,
): Resource => {
  const path = `v1/${names.subscription(name)}`;
  const body = { topic: names.topic(topic), expirationPolicy: {}, ...rest };
  return {
    what: `subscription ${names.subscription(name)}`,
    host: 'pubsub',
    path,
    wanted: body,
    create: { method: 'PUT', path, body },
    ...('pushConfig' in rest && { namesAccount: true }),
    change: {
      method: 'PATCH',
      path,
      body: {
        subscription: { name: names.subscription(name), ...body },
        updateMask: ['expirationPolicy', ...Object.keys(rest)].join(','),
      },
    },
  };
};

const pushTo = ({ names, parameters }: Install, pushEndpoint: string) => ({
  pushConfig: { pushEndpoint, oidcToken: { serviceAccountEmail: names.caller, audience: names.address('on-event') } },
  ackDeadlineSeconds: Math.min(LONGEST_ACK_S, parameters.timeout / 1_000 + 10),
  messageRetentionDuration: `${parameters.retentionDays * DAY_S}s`,
});

/**
 * Events return to the queue only after a failure, and are kept for a replay by time. Waiting messages return to the
 * queue until they are due, and therefore have their own subscription: docs/decisions/0006-waiting-on-pub-sub.md.
 */
export const subscriptions = (install: Install, pushEndpoint: string): readonly Resource[] => {
  const { names, parameters } = install;
  const deadLetterTopic = names.topic('dead-letters');
  return [
    subscription(install, 'events', 'events', {
      ...pushTo(install, pushEndpoint),
      retainAckedMessages: true,
      retryPolicy: { minimumBackoff: durationText(10_000), maximumBackoff: durationText(300_000) },
      deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: parameters.deliveries },
    }),
    subscription(install, 'again', 'again', {
      ...pushTo(install, pushEndpoint),
      retryPolicy: { minimumBackoff: durationText(5_000), maximumBackoff: durationText(30_000) },
      deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: 100 },
    }),
    subscription(install, 'dead-letters', 'dead-letters', {
      ackDeadlineSeconds: 60,
      messageRetentionDuration: `${parameters.retentionDays * DAY_S}s`,
    }),
  ];
};

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const cron = (every: number): string => (every === HOUR ? '0 * * * *' : `*/${every / MINUTE} * * * *`);

/** Returns the schedule of the sweep. A failed sweep is not retried, because the next one follows soon. */
export const sweepSchedule = ({ names, parameters }: Install, uri: string): Resource => {
  const wanted = {
    schedule: cron(parameters.sweepEvery),
    timeZone: 'Etc/UTC',
    attemptDeadline: durationText(Math.max(15_000, parameters.timeout)),
    httpTarget: {
      uri,
      httpMethod: 'POST',
      oidcToken: { serviceAccountEmail: names.caller, audience: names.address('sweep') },
    },
  };
  const body = { name: names.job, description: 'Finds what events missed', ...wanted };
  return {
    what: `schedule ${names.job}`,
    host: 'scheduler',
    path: `v1/${names.job}`,
    wanted,
    namesAccount: true,
    create: { method: 'POST', path: `v1/${names.region}/jobs`, body },
    change: { method: 'PATCH', path: `v1/${names.job}?updateMask=schedule,timeZone,attemptDeadline,httpTarget`, body },
  };
};

/**
 * The filter of the log sink. It selects the end of every call that starts or stops an instance, and events that Google
 * or the guest causes, for example at the end of a time limit or if a key is missing. Google adds more of these events
 * over time, so the filter selects all of them except those that leave an instance running. Each entry is a hint to
 * look. It also selects entries that can lead to the release of a fence.
 *
 * In the query language OR binds tighter than AND, so every parenthesis is needed. A backslash has a meaning in its
 * texts, so the filter contains none. https://cloud.google.com/logging/docs/view/logging-query-language
 */
export const logFilter = [
  'resource.type="gce_instance" AND (',
  `(protoPayload.methodName=~"^(v1|beta|alpha)[.]compute[.]instances[.](${[...powerCalls].join('|')})$" AND ` +
    'operation.last=true)',
  `OR (protoPayload.methodName=~"^compute[.]instances[.][a-zA-Z.]+$" AND protoPayload.methodName!~"[.](` +
    `${[...harmlessSystemEvents].join('|')})$"))`,
].join(' ');

/** Publishes every log entry about a machine that starts or stops to the events topic. */
export const logSink = ({ names, prefix }: Install): Resource => {
  const body = {
    name: `${prefix}-events`,
    destination: `pubsub.googleapis.com/${names.topic('events')}`,
    filter: logFilter,
  };
  return {
    what: `log sink ${names.sink}`,
    host: 'logging',
    path: `v2/${names.sink}`,
    wanted: body,
    create: { method: 'POST', path: `v2/${names.project}/sinks?uniqueWriterIdentity=true`, body },
    change: { method: 'PATCH', path: `v2/${names.sink}?uniqueWriterIdentity=true&updateMask=destination,filter`, body },
  };
};
