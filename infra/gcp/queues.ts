import type { Resource } from './ensure.ts';
import { seconds, type Install } from './install.ts';

const DAY_S = 86_400;
/** Pub/Sub waits that long for an answer, at the most: a function that takes longer is called twice, which does no harm. */
const LONGEST_ACK_S = 600;

export const topicNames = ['events', 'again', 'dead-letters'] as const;

export const topics = ({ names }: Install): readonly Resource[] =>
  topicNames.map((name) => ({
    what: `topic ${names.topic(name)}`,
    host: 'pubsub',
    path: `v1/${names.topic(name)}`,
    wanted: { name: names.topic(name) },
    create: { method: 'PUT', path: `v1/${names.topic(name)}`, body: {} },
    change: null,
  }));

const subscription = ({ names }: Install, name: string, topic: string, rest: Readonly<Record<string, unknown>>): Resource => {
  const path = `v1/${names.subscription(name)}`;
  const body = { topic: names.topic(topic), expirationPolicy: {}, ...rest };
  return {
    what: `subscription ${names.subscription(name)}`,
    host: 'pubsub',
    path,
    wanted: body,
    create: { method: 'PUT', path, body },
    ...('pushConfig' in rest && { namesAccount: true }),
    change: { method: 'PATCH', path, body: { subscription: { name: names.subscription(name), ...body }, updateMask: ['expirationPolicy', ...Object.keys(rest)].join(',') } },
  };
};

const pushed = ({ names, parameters }: Install, pushEndpoint: string) => ({
  pushConfig: { pushEndpoint, oidcToken: { serviceAccountEmail: names.caller, audience: names.address('on-event') } },
  ackDeadlineSeconds: Math.min(LONGEST_ACK_S, parameters.timeout / 1_000 + 10),
  messageRetentionDuration: `${parameters.retentionDays * DAY_S}s`,
});

/**
 * Events are given back only when something failed, and kept for a replay by time. Messages that wait are given back until
 * their time has come, and so have a subscription of their own: docs/decisions/0006-waiting-on-pub-sub.md.
 */
export const subscriptions = (install: Install, pushEndpoint: string): readonly Resource[] => {
  const { names, parameters } = install;
  const deadLetterTopic = names.topic('dead-letters');
  return [
    subscription(install, 'events', 'events', {
      ...pushed(install, pushEndpoint),
      retainAckedMessages: true,
      retryPolicy: { minimumBackoff: seconds(10_000), maximumBackoff: seconds(300_000) },
      deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: parameters.deliveries },
    }),
    subscription(install, 'again', 'again', {
      ...pushed(install, pushEndpoint),
      retryPolicy: { minimumBackoff: seconds(5_000), maximumBackoff: seconds(30_000) },
      deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: 100 },
    }),
    subscription(install, 'dead-letters', 'dead-letters', { ackDeadlineSeconds: 60, messageRetentionDuration: `${parameters.retentionDays * DAY_S}s` }),
  ];
};
