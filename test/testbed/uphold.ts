import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from './program.ts';

const PAUSE_MS = 1_000;

/**
 * Restarts a program whenever it has ended by itself, as the kubelet does with the pods of a control plane. Controllers
 * rely on that: the scheduler ends itself if its cache contradicts the API server, for example after an outage. A
 * program that was killed is not restarted.
 */
export const uphold = async (
  { exit }: Pick<Program, 'exit'>,
  begin: () => Pick<Program, 'exit'>,
  pauseMs = PAUSE_MS,
): Promise<void> => {
  if ((await exit) === 'killed') return;
  await delay(pauseMs, null, { ref: false });
  await uphold(begin(), begin, pauseMs);
};
