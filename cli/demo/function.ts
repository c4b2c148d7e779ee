import { z } from 'zod';
import type { Cloud } from '../../fencing/cloud.ts';
import type { Cluster } from '../../fencing/cluster.ts';
import { defaultPolicy } from '../../fencing/policy.ts';
import { sweep } from '../../fencing/sweep.ts';
import { onEvent } from '../../functions/aws/on-event.ts';
import type { Wiring } from '../../functions/aws/wire.ts';
import { SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import type { Queue } from './queue.ts';
import type { Turns } from './turns.ts';

/** Lambda in small: the real handler and the real sweep, with a time limit in virtual time for each invocation. */
export interface DeployedFunction {
  readonly onBatch: (batch: object) => Promise<{ readonly again: boolean; readonly ends: readonly End[] }>;
  readonly sweep: () => Promise<void>;
}

const end = z.object({ decision: z.string(), because: z.string(), says: z.string() });

/** How a run came to its end, as the function logged it. */
export type End = z.infer<typeof end>;

/** Virtual ms. */
const LASTS_MS = 30_000;

const isEnd = (line: object): boolean => !('step' in line) || line.step === null;

interface Parts {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly now: () => number;
  readonly turns: Turns;
  readonly queue: Queue;
}

const wiringOf = ({ cloud, cluster, now, turns, queue }: Parts, log: Wiring['log']): Wiring => {
  let runs = 0;
  return {
    ports: { cloud, clusters: [cluster], clock: { now: () => ({ wall: now(), mono: now() }), sleep: turns.sleep, timeout: () => new AbortController().signal } },
    policy: defaultPolicy,
    territories: [{ account: SANDBOX_ACCOUNT, region: SANDBOX_REGION }],
    queues: {
      again: async (message, delaySeconds) => queue.send(JSON.stringify(message), delaySeconds),
      dead: async ({ reason }) => log({ decision: 'dead-letter', because: 'dead-letter', says: reason }),
    },
    namespace: 'Cloudfence',
    newRunId: () => `demo-${(runs += 1)}`,
    log,
  };
};

export const deploy = (parts: Parts): DeployedFunction => {
  const lines: object[] = [];
  const wiring = wiringOf(parts, (line) => void lines.push(line));
  const handler = onEvent(async () => wiring);
  const { now } = parts;
  return {
    onBatch: async (batch) => {
      const until = now() + LASTS_MS;
      const answered = await handler(batch, { getRemainingTimeInMillis: () => until - now() });
      return { again: 'batchItemFailures' in answered && answered.batchItemFailures.length > 0, ends: lines.splice(0).filter(isEnd).map((line) => end.parse(line)) };
    },
    sweep: async () => {
      const ports = { ...wiring.ports, signal: new AbortController().signal, observe: () => undefined };
      await sweep({ policy: wiring.policy, newRunId: wiring.newRunId, deadline: now() + LASTS_MS }, ports);
    },
  };
};
