import { messageLine } from '../decision-line.ts';
import type { Received, Retry } from './batch.ts';
import type { AzureWiring } from './wiring.ts';

/** Waits of 5 s to 15 minutes, an hour in all: an outage of the cloud or of a cluster makes no dead letters. */
const MOST_FAILURES = 10;
const SHORTEST_WAIT_S = 5;
const LONGEST_WAIT_S = 900;

const waitAfter = (failures: number): number => Math.min(LONGEST_WAIT_S, SHORTEST_WAIT_S * 2 ** (failures - 1));

/** Sends a failed message once more, later each time, and in the end to the dead letters. */
export const tryAgain = async ({ delivery: { body }, failures }: Received, why: string, { queues, log }: Pick<AzureWiring, 'queues' | 'log'>): Promise<void> => {
  const failed = failures + 1;
  if (failed > MOST_FAILURES) return queues.dead({ body, reason: `failed ${failed} times: ${why}` });
  const message: Retry = { cloudfence: 'retry', failures: failed, body };
  const seconds = waitAfter(failed);
  await queues.events(JSON.stringify(message), seconds);
  log(messageLine('retry', 'failed', `in ${seconds} s, after failing ${failed} times: ${why}`, null));
};
