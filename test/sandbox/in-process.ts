import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../fencing/loop/ports.ts';
import type { ClusterOptions } from '../../kubernetes/cluster.ts';
import { transportLink, type Transport } from '../../kubernetes/exchange.ts';
import { handleApi } from '../../sandbox/cluster/api/handle.ts';
import { ADMIN_TOKEN, type ApiServer } from '../../sandbox/cluster/api/server.ts';

/** The real adapters on a world in this process. Virtual time passes only with calls and sleeps. */

interface Moving {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

/** The duration of an API server call (ms of virtual time). */
const API_CALL_TAKES = 8;

export const never = (): AbortSignal => new AbortController().signal;

export const inProcess =
  (server: ApiServer): Transport =>
  async (request) => {
    const answer = handleApi(server, request);
    if (answer === 'drop') throw new Error('socket hang up');
    return answer;
  };

/**
 * A sleep lets time pass once everything else in this process also waits. Otherwise, a run that sleeps often would be
 * ahead of others.
 */
const sleepIn = (world: Moving) => async (ms: number) => {
  await nextTurn();
  world.advance(ms);
};

/** For the loop. */
export const clockOf = (world: Moving): Clock => ({
  now: () => ({ wall: world.now(), mono: world.now() }),
  sleep: sleepIn(world),
  timeout: never,
});

/** A cluster named `sandbox`, as its administrator sees it. */
export const clusterIn = (world: Moving, server: ApiServer): ClusterOptions => {
  const transport = inProcess(server);
  const link = transportLink(async (...request) => {
    world.advance(API_CALL_TAKES);
    return transport(...request);
  }, ADMIN_TOKEN);
  return { name: 'sandbox', link, clock: { now: world.now, sleep: sleepIn(world), deadline: never } };
};
