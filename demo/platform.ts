import { setImmediate as quiet } from 'node:timers/promises';
import { z } from 'zod';
import type { Cloud, ParsedEvent } from '../fencing/model/cloud.ts';
import type { Cluster } from '../fencing/model/cluster.ts';
import type { MachineId } from '../fencing/model/machine.ts';
import { defaultPolicy } from '../fencing/model/policy.ts';
import { processItems } from '../functions/invocation.ts';
import { acknowledgeAll } from '../functions/acknowledge.ts';
import { parseMessage } from '../functions/messages.ts';
import type { FunctionDependencies } from '../functions/dependencies.ts';
import { sweep } from '../functions/sweep.ts';

/** Simulates everything between the cloud and the function. A message can wait and can be delivered again. */

/** An event that the cloud publishes. */
export interface CloudEvent {
  readonly id: string;
  /** The event itself. */
  readonly event: object;
  /** A summary in a word or two. */
  readonly says: string;
}

export interface QueuedMessage {
  readonly id: string;
  readonly body: string;
  /** Describes the content of the message. */
  readonly brings: string;
  /** When the message becomes visible (epoch ms). */
  readonly visibleAt: number;
  /** How many times the message was received. */
  readonly received: number;
}

export interface Queue {
  /** Takes in the announcements since the last call. */
  readonly collect: () => void;
  readonly receive: (now: number) => QueuedMessage | null;
  /** Adds a message that the function sends. */
  readonly send: (body: string, delaySeconds: number) => void;
  /** Returns a message to the queue. False if it was received too often and is moved to the dead-letter queue. */
  readonly giveBack: (message: QueuedMessage, now: number) => boolean;
}

const VISIBLE_AGAIN_AFTER_MS = 5_000;
const RECEIVED_AT_MOST = 5;
const DELIVERY_TAKES_MS = { least: 400, most: 1_200 } as const;

/** The source of announcements. */
interface Source {
  readonly title: string;
  readonly now: () => number;
  /** All announcements so far. An entry is null if nobody subscribes to it. */
  readonly announcements: () => readonly (CloudEvent | null)[];
}

/** Returns a queue that delivers only announcements from `since` on (an index into the announcements). */
export const createQueue = ({ title, now, announcements }: Source, since: number, random: () => number): Queue => {
  let collected = since;
  let sent = 0;
  let messages: readonly QueuedMessage[] = [];
  const underWay = (): number =>
    Math.round(DELIVERY_TAKES_MS.least + random() * (DELIVERY_TAKES_MS.most - DELIVERY_TAKES_MS.least));
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
      const again = { id: `again-${sent}`, body, brings: 'an internal message of Cloudfence: look again' };
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
 * Virtual time for a function's process behind real sockets: each call takes the time that it is given, concurrent
 * calls overlap, and the call that ends first completes first. Only one call is in progress at a time, so the speed of
 * this computer does not affect the order, and the same seed always gives the same history.
 */
export interface CallSchedule {
  /** Makes a call that ends `ms` from now. The whole answer must be available when `exchange` settles. */
  readonly call: <T>(ms: number, exchange: () => Promise<T>) => Promise<T>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Reports that the call in flight has reached its socket. The call's time passes at that moment. */
  readonly arrived: () => void;
}

interface Turn {
  readonly at: number;
  readonly take: () => Promise<void>;
}

const earliest = (turns: readonly Turn[]): Turn | undefined =>
  turns.reduce<Turn | undefined>((best, other) => (best && best.at <= other.at ? best : other), undefined);

/** Orders calls by virtual time. `passUntil` advances the world to a time, which may already be in the past. */
export const createCallSchedule = (now: () => number, passUntil: (at: number) => void): CallSchedule => {
  const waiting = new Set<Turn>();
  let onTheWire = now();
  let taking = false;
  const takeAll = async (): Promise<void> => {
    taking = true;
    // Work that the last answer triggers requests its turn before the next turn is chosen.
    await quiet();
    for (let turn = earliest([...waiting]); turn; turn = earliest([...waiting])) {
      waiting.delete(turn);
      onTheWire = turn.at;
      await turn.take();
      await quiet();
    }
    taking = false;
  };
  const call: CallSchedule['call'] = (ms, exchange) =>
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

/** What a deployed function is built from. */
export interface FunctionParts {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly now: () => number;
  readonly turns: CallSchedule;
  readonly queue: Queue;
  /** Where the functions store incidents, and how they watch them. Absent if they store none. */
  readonly keeping?: Required<Pick<FunctionDependencies, 'incidents' | 'aftermath'>>;
}

/** A simulated deployment of the function. Each invocation has a time limit in virtual time. */
export interface DeployedFunction {
  readonly onMessage: (
    message: QueuedMessage,
  ) => Promise<{ readonly again: boolean; readonly outcomes: readonly LoggedOutcome[] }>;
  readonly sweep: () => Promise<readonly LoggedOutcome[]>;
}

const loggedOutcome = z.object({ decision: z.string(), because: z.string(), says: z.string() });

/** How a run ended, as the function logged it. */
export type LoggedOutcome = z.infer<typeof loggedOutcome>;

/** The time limit of an invocation (virtual ms). */
const INVOCATION_LASTS_MS = 30_000;

const isOutcome = (line: object): boolean => !('step' in line) || line.step === null;

/** The differences between platforms. */
export interface Platform extends Pick<FunctionDependencies, 'whyNotServed' | 'formatMeasurements'> {
  /** Calls the platform's own handler. Returns true if the message must be delivered again. */
  readonly handle: (
    message: QueuedMessage,
    dependencies: FunctionDependencies,
    limit: { readonly getRemainingTimeInMillis: () => number },
  ) => Promise<boolean>;
}

const functionDependenciesOf = (
  { cloud, cluster, now, turns, queue, keeping }: FunctionParts,
  { whyNotServed, formatMeasurements }: Platform,
  log: FunctionDependencies['log'],
): FunctionDependencies => {
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
    whyNotServed,
    queues: {
      again: async (message, delaySeconds) => queue.send(JSON.stringify(message), delaySeconds),
      dead: async ({ reason }) => log({ decision: 'dead-letter', because: 'dead-letter', says: reason }),
    },
    ...keeping,
    formatMeasurements,
    newRunId: () => `demo-${(runs += 1)}`,
    chance: () => 0,
    log,
  };
};

const outcomesIn = (lines: readonly object[]): readonly LoggedOutcome[] =>
  lines.filter(isOutcome).map((line) => loggedOutcome.parse(line));

export const deployFunction = (parts: FunctionParts, platform: Platform): DeployedFunction => {
  const lines: object[] = [];
  const dependencies = functionDependenciesOf(parts, platform, (line) => void lines.push(line));
  const { now } = parts;
  const limit = () => {
    const until = now() + INVOCATION_LASTS_MS;
    return { getRemainingTimeInMillis: () => until - now() };
  };
  return {
    onMessage: async (message) => {
      const again = await platform.handle(message, dependencies, limit());
      return { again, outcomes: outcomesIn(lines.splice(0)) };
    },
    sweep: async () => {
      const swept: object[] = [];
      await sweep(async () => ({ ...dependencies, log: (line) => void swept.push(line) }))({}, limit());
      return outcomesIn(swept);
    },
  };
};

interface Reader {
  readonly readHints: (raw: unknown) => ParsedEvent;
  readonly owns: (machine: MachineId) => boolean;
}

/** Returns a platform with everything that all handlers share, without a platform's envelopes. */
export const createPlatform = ({ readHints, owns }: Reader): Platform => ({
  whyNotServed: ({ machine }) => (owns(machine) ? null : 'the machine is in another account or region'),
  formatMeasurements: () => ({}),
  handle: async ({ id, body }, dependencies, limit) => {
    const message = parseMessage(id, body, () => readHints(body));
    return processItems(
      message.items,
      { policy: dependencies.policy, queued: true, vouched: null },
      dependencies,
      limit,
      async (outcomes) => (await acknowledgeAll([message], outcomes, dependencies)).length > 0,
    );
  },
});
