import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { deployed } from './programs.ts';
import type { Batch } from './events.ts';
import { entryOf } from './functions.ts';
import type { TestbedAccess } from '../../testbed/installation.ts';

/** The packaged AWS handler in a process that continues: its first batch starts cold, and each later one is warm. */
export interface WarmHandler {
  /** @throws Error if it ends instead of answering, or requests the batch again */
  readonly deliver: (batch: Batch) => Promise<Delivered>;
  readonly close: () => Promise<void>;
}

export interface Delivered {
  /** How long after its start (ms) the process had loaded the function. */
  readonly loadedAfter: number;
}

const answered = z.object({
  loadedAfter: z.number(),
  answer: z.strictObject({ batchItemFailures: z.array(z.looseObject({})).max(0) }),
});

export const startWarmHandler = async (testbed: TestbedAccess): Promise<WarmHandler> => {
  const script = fileURLToPath(new URL('serve-handler.ts', import.meta.url));
  const child = fork(script, [entryOf(testbed.aws.functions, 'on-event')], {
    env: await deployed(testbed, null),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const broken = ended.then(([code]): never => {
    throw new Error(`the warm handler ended with ${code} and no answer`);
  });
  broken.catch(() => undefined);
  return {
    deliver: async (batch) => {
      const answer = once(child, 'message');
      child.send(batch);
      const [message]: unknown[] = await Promise.race([answer, broken]);
      return answered.parse(message);
    },
    close: async () => {
      child.disconnect();
      child.kill();
      await ended;
    },
  };
};
