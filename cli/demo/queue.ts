import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';

/** EventBridge and SQS between EC2 and the function, with what they may do to a message: wait, and deliver it again. */

export interface Message {
  readonly id: string;
  readonly body: string;
  /** What it brings, in words. */
  readonly brings: string;
  /** When it may be received (epoch ms). */
  readonly visibleAt: number;
  /** How often it has been received. */
  readonly received: number;
}

export interface Queue {
  /** Takes in what EC2 has announced since the last time. */
  readonly collect: () => void;
  readonly receive: (now: number) => Message | null;
  /** Takes in a message of the function's own. */
  readonly send: (body: string, delaySeconds: number) => void;
  /** Gives a message back; false when it has been received too often and goes to the dead-letter queue. */
  readonly giveBack: (message: Message, now: number) => boolean;
}

/** The states that the rule in EventBridge lets through. */
const FORWARDED: ReadonlySet<string> = new Set(['stopped', 'terminated', 'running']);
const VISIBLE_AGAIN_AFTER_MS = 5_000;
const RECEIVED_AT_MOST = 5;
const UNDER_WAY_MS = { least: 400, most: 1_200 } as const;

/** Only what is announced from `since` on (an index into EC2's events) is delivered. */
export const queueFrom = (world: AwsWorld, since: number, random: () => number): Queue => {
  let collected = since;
  let sent = 0;
  let messages: readonly Message[] = [];
  const underWay = (): number => Math.round(UNDER_WAY_MS.least + random() * (UNDER_WAY_MS.most - UNDER_WAY_MS.least));
  return {
    collect: () => {
      const { events } = world.parts.ec2;
      const fresh = events.slice(collected).filter(({ detail }) => FORWARDED.has(detail.state));
      collected = events.length;
      const announced = fresh.map((event) => ({ id: event.id, body: JSON.stringify(event), brings: `the event: EC2 says ${event.detail.state}` }));
      messages = [...messages, ...announced.map((message) => ({ ...message, visibleAt: world.now() + underWay(), received: 0 }))];
    },
    receive: (now) => {
      const due = messages.find(({ visibleAt }) => visibleAt <= now);
      messages = messages.filter((message) => message !== due);
      return due ? { ...due, received: due.received + 1 } : null;
    },
    send: (body, delaySeconds) => {
      sent += 1;
      messages = [...messages, { id: `again-${sent}`, body, brings: "Cloudfence's own message: look again", visibleAt: world.now() + delaySeconds * 1_000, received: 0 }];
    },
    giveBack: (message, now) => {
      if (message.received >= RECEIVED_AT_MOST) return false;
      messages = [...messages, { ...message, visibleAt: now + VISIBLE_AGAIN_AFTER_MS }];
      return true;
    },
  };
};

/** The record as Lambda hands it to a function: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html */
export const sqsBatchOf = ({ id, body, received }: Message): object => ({
  Records: [{ messageId: id, body, attributes: { ApproximateReceiveCount: String(received) }, eventSource: 'aws:sqs' }],
});
