import { startRun } from '../../../fencing/loop/state.ts';
import { defaultPolicy, type Policy } from '../../../fencing/model/policy.ts';
import { run } from '../../../fencing/loop/run.ts';
import type { Ports } from '../../../fencing/loop/ports.ts';
import { createCluster } from '../../../kubernetes/cluster.ts';
import { apiOf, createGceSandbox, type WholeGceWorld } from '../../../sandbox/gce-sandbox.ts';
import { inProcessFetch, type InProcessFetch } from '../../../sandbox/gce/in-process-fetch.ts';
import { gceDatabaseOnTwoNodes } from '../../../sandbox/scenes/gce-database.ts';
import { clockOf, clusterIn, never } from '../in-process.ts';
import { clientsOf, cloudOf, MINUTE } from './gce-world.ts';

/** The loop, the real adapters, and the real SDK on one world. Virtual time passes only with calls and sleeps. */

const GCE_CALL_TAKES = 80;

/** `call` replaces Compute Engine itself. */
export const portsOver = (world: WholeGceWorld, call: InProcessFetch = inProcessFetch(world)): Ports => {
  const slowly: InProcessFetch = (...request) => {
    world.advance(GCE_CALL_TAKES);
    return call(...request);
  };
  return {
    cloud: cloudOf(world, clientsOf(world, slowly)),
    clusters: [createCluster(clusterIn(world, apiOf(world)))],
    clock: clockOf(world),
    signal: never(),
    observe: () => undefined,
  };
};

export const scene = () => {
  const world = createGceSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  return { world, ...gceDatabaseOnTwoNodes(world) };
};

/** The result of an event about that machine. */
export const react = (world: WholeGceWorld, machine: string, policy: Partial<Policy> = {}) => {
  const ports = portsOver(world);
  const request = { machine, intent: 'fence', accepted: null, vouched: null } as const;
  return run(
    startRun({
      request,
      policy: { ...defaultPolicy, ...policy },
      identityRules: ports.cloud,
      runId: 'run',
      deadline: world.now() + 5 * MINUTE,
    }),
    ports,
  );
};
