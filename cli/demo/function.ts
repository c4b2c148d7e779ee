import { z } from 'zod';
import type { Cloud } from '../../fencing/cloud.ts';
import type { Cluster } from '../../fencing/cluster.ts';
import { defaultPolicy } from '../../fencing/policy.ts';
import { sweep } from '../../fencing/sweep.ts';
import type { Wiring } from '../../functions/wiring.ts';
import type { Message, Queue } from './queue.ts';
import type { Turns } from './turns.ts';

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
  readonly handle: (message: Message, wiring: Wiring, limit: { readonly getRemainingTimeInMillis: () => number }) => Promise<boolean>;
}

const wiringOf = ({ cloud, cluster, now, turns, queue }: Parts, { foreign, measured }: Platform, log: Wiring['log']): Wiring => {
  let runs = 0;
  return {
    ports: { cloud, clusters: [cluster], clock: { now: () => ({ wall: now(), mono: now() }), sleep: turns.sleep, timeout: () => new AbortController().signal } },
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
      return { again, ends: lines.splice(0).filter(isEnd).map((line) => end.parse(line)) };
    },
    sweep: async () => {
      const ports = { ...wiring.ports, signal: new AbortController().signal, observe: () => undefined };
      await sweep({ policy: wiring.policy, newRunId: wiring.newRunId, deadline: now() + LASTS_MS }, ports);
    },
  };
};
