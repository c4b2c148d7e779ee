import type { TestChain } from '../plugin.ts';
import type { Publish } from './publish.ts';

/** The chains for test events on Google Cloud, which begin at a topic of the install. */

const chainFrom = (topic: () => string, publish: Publish): Pick<TestChain, 'next' | 'send'> => ({
  next: 'npx serverless logs -c serverless.gcp.yml --stage <stage> -f on-event',
  send: (event) => publish(topic(), { text: JSON.stringify(event), attributes: {} }),
});

/**
 * Returns the chain that the functions can use. The account that fences may publish to the topic of waiting messages,
 * but not to the topic of the log sink.
 */
export const waitingChain = (publish: Publish, topic: () => string): TestChain => ({
  path: 'topic again → push → on-event',
  notTried: 'the log sink and the topic events, because only Cloud Logging may publish there',
  remedy:
    'look at the log of on-event, at the topic dead-letters, and at the push subscription of the topic again; `serverless deploy` restores all of them',
  ...chainFrom(topic, publish),
});

/** Returns the chain of a topic to which a person may publish, such as that of the log sink. */
export const chainOf = (topic: string, publish: Publish): TestChain => ({
  path: `topic ${topic.split('/').at(-1) ?? topic} → push → on-event`,
  notTried: 'the log sink, because only Google can write entries of the audit logs',
  remedy:
    'look at the log of on-event, at the topic dead-letters, and at the push subscription of that topic; `serverless deploy` restores all of them',
  ...chainFrom(() => topic, publish),
});
