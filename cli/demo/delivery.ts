import type { DeployedFunction, End } from './function.ts';
import type { Lanes, Tell } from './lanes.ts';
import type { Message, Queue } from './queue.ts';

/** One delivery of a message, and what the function made of it. */
export interface Delivery {
  /** Ms after the start. */
  readonly at: number;
  readonly brings: string;
  readonly received: number;
  readonly after: 'deleted' | 'visible-again' | 'dead-letter';
  readonly ends: readonly End[];
}

/** Where messages are handed over. */
export interface Counter {
  readonly lanes: Lanes;
  readonly queue: Queue;
  readonly deployed: DeployedFunction;
  readonly tell: Tell;
}

/** Hands one message to the function, and does with it what a queue does with the function's answer. */
export const deliver = async (message: Message, { lanes, queue, deployed, tell }: Counter, before: Delivery | undefined): Promise<Delivery> => {
  const say = (says: string): void => tell({ at: lanes.elapsed(), lane: 'with cloudfence', says });
  const { received, brings } = message;
  const arrived = { at: lanes.elapsed(), brings, received };
  say(received > 1 ? `the queue delivers it again, for the ${ordinal(received)} time` : `the queue delivers ${brings}`);
  const { again, ends } = await deployed.onMessage(message);
  const delivery = { ...arrived, ends };
  if (!again) return { ...delivery, after: 'deleted' };
  for (const { decision, says } of ends) say(`the function wants it again (${decision}): ${saidIn(before, says) ? 'the same as before' : says}`);
  if (queue.giveBack(message, lanes.fenced.world.now())) return { ...delivery, after: 'visible-again' };
  say('the message goes to the dead-letter queue');
  return { ...delivery, after: 'dead-letter' };
};

const saidIn = (delivery: Delivery | undefined, says: string): boolean => delivery?.ends.some((end) => end.says === says) ?? false;

const ordinal = (n: number): string => ['', 'first', 'second', 'third', 'fourth', 'fifth'][n] ?? `${n}th`;
