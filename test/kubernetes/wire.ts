import type { CallClock } from '../../kubernetes/connection.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import type { Transport } from '../../kubernetes/exchange.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { FENCE_TOKEN, adminOf, sandboxServer } from '../contract/cluster/sandbox-harness.ts';
import { inProcess } from '../sandbox/in-process.ts';

/** A clock on which sleep takes no time. It records the sleeps. */
export const patientClock = (slept: number[] = []): CallClock => {
  let now = Date.UTC(2026, 10, 21, 10);
  return {
    now: () => now,
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
    deadline: () => new AbortController().signal,
  };
};

export const clusterOver = (transport: Transport, clock: CallClock = patientClock()): Cluster =>
  createCluster({ name: 'test', link: transportLink(transport, FENCE_TOKEN), clock });

/** A cluster whose API server fails as the test says. */
export const faultyCluster = (faults: Faults) => {
  const slept: number[] = [];
  const clock = patientClock(slept);
  const server = sandboxServer({ now: clock.now, faults });
  const sound = { ...server, faults: {} };
  return { cluster: clusterOver(inProcess(server), clock), admin: adminOf(sound), now: clock.now, slept, server };
};

/** Answers the first matching requests, this many of them, with a fault. */
export const first = <T>(
  times: number,
  fault: T,
  matches: (request: { readonly method: string; readonly path: string }) => boolean = () => true,
) => {
  let left = times;
  return (request: { readonly method: string; readonly path: string }): T | undefined => {
    if (!matches(request) || left === 0) return undefined;
    left -= 1;
    return fault;
  };
};
