import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from './program.ts';

const PAUSE_MS = 1_000;

/**
 * Begins a program anew whenever it has ended by itself, as the kubelet does with a control plane's pods. Controllers
 * count on that: the scheduler ends itself when its cache contradicts what it is told, such as after an outage of the
 * API server. One that is killed stays dead.
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
