import { setImmediate as quiet } from 'node:timers/promises';
import { z } from 'zod';
import type { Cloud } from '../fencing/model/cloud.ts';
import type { Cluster } from '../fencing/model/cluster.ts';
import type { ParsedEvent } from '../fencing/model/hint.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { defaultPolicy } from '../fencing/model/policy.ts';
import { sweep } from '../fencing/sweep/sweep.ts';
import { processItems } from '../functions/invocation.ts';
import { acknowledgeAll, parseMessage } from '../functions/messages.ts';
import type { Wiring } from '../functions/wiring.ts';

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
interface Source {
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
      const announced = fresh.flatMap((one) =>
        one ? [{ id: one.id, body: JSON.stringify(one.event), brings: `the event: ${title} says ${one.says}` }] : [],
      );
      messages = [...messages, ...announced.map((one) => ({ ...one, visibleAt: now() + underWay(), received: 0 }))];
    },
    receive: (moment) => {
      const due = messages.find(({ visibleAt }) => visibleAt <= moment);
      messages = messages.filter((message) => message !== due);
      return due ? { ...due, received: due.received + 1 } : null;
    },
    send: (body, delaySeconds) => {
      sent += 1;
      const again = { id: `again-${sent}`, body, brings: "Cloudfence's own message: look again" };
      messages = [...messages, { ...again, visibleAt: now() + delaySeconds * 1_000, received: 0 }];
    },
    giveBack: (message, moment) => {
      if (message.received >= RECEIVED_AT_MOST) return false;
      messages = [...messages, { ...message, visibleAt: moment + VISIBLE_AGAIN_AFTER_MS }];
      return true;
    },
  };
};

/**
 * Virtual time as a function's process meets it over real sockets: a call takes as long as it is told to, calls side by
 * side overlap, and whatever ends first comes first. Only one call is on the wire at a time, so that the speed of this
 * computer has no say in the order of things and one seed is one history.
 */
export interface Turns {
  /** A call that ends `ms` from now; `exchange` has to have its whole answer when it settles. */
  readonly call: <T>(ms: number, exchange: () => Promise<T>) => Promise<T>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** The doors say that the call on the wire has reached them: its time passes now. */
  readonly arrived: () => void;
}

interface Turn {
  readonly at: number;
  readonly take: () => Promise<void>;
}

const earliest = (turns: readonly Turn[]): Turn | undefined =>
  turns.reduce<Turn | undefined>((best, other) => (best && best.at <= other.at ? best : other), undefined);

/** `passUntil` lets the world reach a moment that may be over already. */
export const turnsOver = (now: () => number, passUntil: (at: number) => void): Turns => {
  const waiting = new Set<Turn>();
  let onTheWire = now();
  let taking = false;
  const takeAll = async (): Promise<void> => {
    taking = true;
    // What the last answer set off asks for its own turn before the next is chosen.
    await quiet();
    for (let turn = earliest([...waiting]); turn; turn = earliest([...waiting])) {
      waiting.delete(turn);
      onTheWire = turn.at;
      await turn.take();
      await quiet();
    }
    taking = false;
  };
  const call: Turns['call'] = (ms, exchange) =>
    new Promise((resolve, reject) => {
      waiting.add({ at: now() + ms, take: () => exchange().then(resolve, reject) });
      if (!taking) void takeAll();
    });
  return {
    call,
    sleep: (ms, signal) =>
      call(ms, async () => {
        passUntil(onTheWire);
        signal.throwIfAborted();
      }),
    arrived: () => passUntil(onTheWire),
  };
};

/** What a deployed function is made of. */
export interface Parts {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly now: () => number;
  readonly turns: Turns;
  readonly queue: Queue;
}

/** A function in small, with a time limit in virtual time for each invocation. */
export interface DeployedFunction {
  readonly onMessage: (message: Message) => Promise<{ readonly again: boolean; readonly ends: readonly End[] }>;
  readonly sweep: () => Promise<void>;
}

const end = z.object({ decision: z.string(), because: z.string(), says: z.string() });

/** How a run came to its end, as the function logged it. */
export type End = z.infer<typeof end>;

/** Virtual ms. */
const LASTS_MS = 30_000;

const isEnd = (line: object): boolean => !('step' in line) || line.step === null;

/** What differs from platform to platform. */
export interface Platform extends Pick<Wiring, 'foreign' | 'measured'> {
  /** The platform's own handler: true when the message has to come again. */
  readonly handle: (
    message: Message,
    wiring: Wiring,
    limit: { readonly getRemainingTimeInMillis: () => number },
  ) => Promise<boolean>;
}

const wiringOf = (
  { cloud, cluster, now, turns, queue }: Parts,
  { foreign, measured }: Platform,
  log: Wiring['log'],
): Wiring => {
  let runs = 0;
  return {
    ports: {
      cloud,
      clusters: [cluster],
      clock: {
        now: () => ({ wall: now(), mono: now() }),
        sleep: turns.sleep,
        timeout: () => new AbortController().signal,
      },
    },
    policy: defaultPolicy,
    foreign,
    queues: {
      again: async (message, delaySeconds) => queue.send(JSON.stringify(message), delaySeconds),
      dead: async ({ reason }) => log({ decision: 'dead-letter', because: 'dead-letter', says: reason }),
    },
    measured,
    newRunId: () => `demo-${(runs += 1)}`,
    log,
  };
};

export const deploy = (parts: Parts, platform: Platform): DeployedFunction => {
  const lines: object[] = [];
  const wiring = wiringOf(parts, platform, (line) => void lines.push(line));
  const { now } = parts;
  return {
    onMessage: async (message) => {
      const until = now() + LASTS_MS;
      const again = await platform.handle(message, wiring, { getRemainingTimeInMillis: () => until - now() });
      return {
        again,
        ends: lines
          .splice(0)
          .filter(isEnd)
          .map((line) => end.parse(line)),
      };
    },
    sweep: async () => {
      const ports = { ...wiring.ports, signal: new AbortController().signal, observe: () => undefined };
      await sweep({ policy: wiring.policy, newRunId: wiring.newRunId, deadline: now() + LASTS_MS }, ports);
    },
  };
};

interface Reader {
  readonly readHints: (raw: unknown) => ParsedEvent;
  readonly owns: (machine: MachineId) => boolean;
}

/** What every platform's handler comes down to, without the envelopes of any. */
export const plainPlatform = ({ readHints, owns }: Reader): Platform => ({
  foreign: ({ machine }) => (owns(machine) ? null : 'it is a machine of another place'),
  measured: () => ({}),
  handle: async ({ id, body }, wiring, limit) => {
    const message = parseMessage(id, body, () => readHints(body));
    const outcomes = await processItems(
      message.items,
      { policy: wiring.policy, queued: true, vouched: null },
      wiring,
      limit,
    );
    return (await acknowledgeAll([message], outcomes, wiring)).length > 0;
  },
});
