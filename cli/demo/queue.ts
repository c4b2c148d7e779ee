/** All that is between the cloud and the function, with what they may do to a message: wait, and deliver it again. */

/** Something that the cloud tells whoever listens. */
export interface Announcement {
  readonly id: string;
  /** The event itself. */
  readonly event: object;
  /** In a word or two. */
  readonly says: string;
}

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
  /** Takes in what the cloud has announced since the last time. */
  readonly collect: () => void;
  readonly receive: (now: number) => Message | null;
  /** Takes in a message of the function's own. */
  readonly send: (body: string, delaySeconds: number) => void;
  /** Gives a message back; false when it has been received too often and goes to the dead-letter queue. */
  readonly giveBack: (message: Message, now: number) => boolean;
}

const VISIBLE_AGAIN_AFTER_MS = 5_000;
const RECEIVED_AT_MOST = 5;
const UNDER_WAY_MS = { least: 400, most: 1_200 } as const;

/** Where announcements come from. */
export interface Source {
  readonly title: string;
  readonly now: () => number;
  /** All so far; null for what nobody listens to. */
  readonly announcements: () => readonly (Announcement | null)[];
}

/** Only what is announced from `since` on (an index into the announcements) is delivered. */
export const queueFrom = ({ title, now, announcements }: Source, since: number, random: () => number): Queue => {
  let collected = since;
  let sent = 0;
  let messages: readonly Message[] = [];
  const underWay = (): number => Math.round(UNDER_WAY_MS.least + random() * (UNDER_WAY_MS.most - UNDER_WAY_MS.least));
  return {
    collect: () => {
      const fresh = announcements().slice(collected);
      collected += fresh.length;
      const announced = fresh.flatMap((one) => (one ? [{ id: one.id, body: JSON.stringify(one.event), brings: `the event: ${title} says ${one.says}` }] : []));
      messages = [...messages, ...announced.map((message) => ({ ...message, visibleAt: now() + underWay(), received: 0 }))];
    },
    receive: (moment) => {
      const due = messages.find(({ visibleAt }) => visibleAt <= moment);
      messages = messages.filter((message) => message !== due);
      return due ? { ...due, received: due.received + 1 } : null;
    },
    send: (body, delaySeconds) => {
      sent += 1;
      messages = [...messages, { id: `again-${sent}`, body, brings: "Cloudfence's own message: look again", visibleAt: now() + delaySeconds * 1_000, received: 0 }];
    },
    giveBack: (message, moment) => {
      if (message.received >= RECEIVED_AT_MOST) return false;
      messages = [...messages, { ...message, visibleAt: moment + VISIBLE_AGAIN_AFTER_MS }];
      return true;
    },
  };
};
