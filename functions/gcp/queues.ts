import { InvalidConfiguration } from '../../fencing/errors.ts';
import type { Publish } from '../../providers/gcp/publish.ts';
import { LONGEST_REASON, type Queues } from '../queues.ts';

/** Epoch ms, as an attribute of a message that waits: docs/decisions/0006-waiting-on-pub-sub.md. */
export const NOT_BEFORE = 'notBefore';

export interface TopicNames {
  readonly againTopic: string | null;
  readonly deadLetterTopic: string | null;
}

const named = (topic: string | null, variable: string): string => {
  if (topic === null) throw new InvalidConfiguration([`the function has no ${variable}: it was not deployed by serverless.gcp.yml`]);
  return topic;
};

/** The client is loaded when something has to be sent: most events need no queue. */
export const topicQueues = (publish: () => Promise<Publish>, { againTopic, deadLetterTopic }: TopicNames, now: () => number): Queues => ({
  again: async (message, delaySeconds) => {
    const attributes = { [NOT_BEFORE]: String(now() + delaySeconds * 1_000) };
    await (await publish())(named(againTopic, 'CLOUDFENCE_AGAIN_TOPIC'), { text: JSON.stringify(message), attributes });
  },
  dead: async ({ reason, body }) => {
    const attributes = { reason: shortened(reason) };
    await (await publish())(named(deadLetterTopic, 'CLOUDFENCE_DEAD_LETTER_TOPIC'), { text: body, attributes });
  },
});

/** Attributes are measured in bytes: https://cloud.google.com/pubsub/quotas */
const shortened = (reason: string): string => Buffer.from(reason).subarray(0, LONGEST_REASON).toString('utf8').replace(/\uFFFD+$/, '');
