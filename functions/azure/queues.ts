import { InvalidConfiguration } from '../../fencing/errors.ts';
import type { Send } from '../../providers/azure/service-bus.ts';
import { LONGEST_REASON, type Queues } from '../queues.ts';

export interface QueueNames {
  readonly eventsQueue: string | null;
  readonly deadLettersQueue: string | null;
}

/** Both queues, and the first of them for what is no look at a machine. */
export interface BusQueues extends Queues {
  readonly events: (text: string, delaySeconds: number) => Promise<void>;
}

const named = (queue: string | null, variable: string): string => {
  if (queue === null) throw new InvalidConfiguration([`the function has no ${variable}: it was not deployed by serverless.azure.yml`]);
  return queue;
};

/**
 * The queue is the timer: Service Bus holds a message back until it is due. The sender is loaded when something has to be
 * sent, as most events need no queue.
 */
export const busQueues = (send: () => Promise<Send>, { eventsQueue, deadLettersQueue }: QueueNames, now: () => number): BusQueues => {
  const events: BusQueues['events'] = async (text, delaySeconds) => {
    const notBefore = delaySeconds > 0 ? now() + delaySeconds * 1_000 : null;
    await (await send())(named(eventsQueue, 'CLOUDFENCE_EVENTS_QUEUE'), { text, notBefore, properties: {} });
  };
  return {
    events,
    again: (message, delaySeconds) => events(JSON.stringify(message), delaySeconds),
    dead: async ({ reason, body }) => {
      const message = { text: body, notBefore: null, properties: { reason: reason.slice(0, LONGEST_REASON) } };
      await (await send())(named(deadLettersQueue, 'CLOUDFENCE_DEAD_LETTERS_QUEUE'), message);
    },
  };
};
