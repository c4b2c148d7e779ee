import { begin } from '../../../fencing/known.ts';
import { defaultPolicy, type Policy } from '../../../fencing/policy.ts';
import { run } from '../../../fencing/run.ts';
import type { Ports } from '../../../fencing/ports.ts';
import { clusterOf } from '../../../kubernetes/cluster.ts';
import { transportLink } from '../../../kubernetes/link.ts';
import { computeClients, gcpCloud } from '../../../providers/gcp/index.ts';
import { handleApi } from '../../../sandbox/cluster/api/handle.ts';
import { ADMIN_TOKEN } from '../../../sandbox/cluster/api/server.ts';
import { apiOf, createGceSandbox, type WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { inProcessFetch, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { gceDatabaseOnTwoNodes } from '../../../sandbox/scenes/gce-database.ts';
import { MINUTE, requestIds } from './gce-world.ts';

/** The loop, the real adapters and the real SDK over one world: virtual time passes only with calls and sleeps. */

const never = (): AbortSignal => new AbortController().signal;

const present: { fetch: InProcessFetch | null } = { fetch: null };
const clients = computeClients({
  newRequestId: requestIds(),
  endpoint: 'http://sandbox.invalid',
  fetch: (input, init) => {
    if (!present.fetch) throw new Error('no world yet');
    return present.fetch(input, init);
  },
});

export const portsOver = (world: WholeGceWorld): Ports => {
  const through = inProcessFetch(world);
  present.fetch = (input, init) => {
    world.advance(80);
    return through(input, init);
  };
  const server = apiOf(world);
  const link = transportLink(async (request) => {
    world.advance(8);
    const answer = handleApi(server, request);
    if (answer === 'drop') throw new Error('the connection was dropped');
    return answer;
  }, ADMIN_TOKEN);
  const sleep = async (ms: number) => world.advance(ms);
  const cluster = clusterOf({ name: 'sandbox', link, clock: { now: world.now, sleep, deadline: never } });
  const clock = { now: () => ({ wall: world.now(), mono: world.now() }), sleep, timeout: never };
  return { cloud: gcpCloud(clients), clusters: [cluster], clock, signal: never(), observe: () => undefined };
};

export const scene = () => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  return { world, ...gceDatabaseOnTwoNodes(world) };
};

/** What comes of an event about that machine. */
export const react = (world: WholeGceWorld, machine: string, policy: Partial<Policy> = {}) => {
  const ports = portsOver(world);
  const request = { machine, intent: 'react', accepted: null, vouched: null } as const;
  return run(begin({ request, policy: { ...defaultPolicy, ...policy }, reading: ports.cloud, runId: 'run', deadline: world.now() + 5 * MINUTE }), ports);
};
