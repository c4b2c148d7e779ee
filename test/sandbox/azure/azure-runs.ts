import { startRun, type RunState } from '../../../fencing/loop/state.ts';
import { defaultPolicy, type Policy } from '../../../fencing/model/policy.ts';
import { run } from '../../../fencing/loop/run.ts';
import { sweep } from '../../../fencing/sweep/sweep.ts';
import type { Ports } from '../../../fencing/loop/ports.ts';
import { createCluster } from '../../../kubernetes/cluster.ts';
import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { apiOf, createAzureSandbox, SANDBOX_SUBSCRIPTION, type AzureWorld } from '../../../sandbox/azure-sandbox.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import type { Wanted } from '../../../sandbox/azure/scenario.ts';
import { machineIn, type Machine } from '../../../sandbox/azure/state.ts';
import { azureDatabaseOnTwoNodes, nodeNameOf } from '../../../sandbox/scenes/azure-database.ts';
import { clockOf, clusterIn, never } from '../in-process.ts';
import { credential } from './azure-world.ts';

/** The real adapters and the real SDK on one world, in this process. Virtual time passes only with calls and sleeps. */

const ARM_CALL_TAKES = 100;
/** The time between two requests about an operation. The clock of the SDK itself is real, and does not have to pass. */
const OPERATION_PACE = 2_000;

const cloudOver = (world: AzureWorld, armTakes: number) => {
  const arrived = (url: string): void => world.advance(url.includes('/locations/') ? OPERATION_PACE : armTakes);
  const polling = { everyMs: 0, times: 10 };
  return azureCloud(
    azureClients({
      subscription: SANDBOX_SUBSCRIPTION,
      credential,
      httpClient: inProcessClient(world, arrived),
      polling,
    }),
  );
};

export const portsOver = (world: AzureWorld, armTakes: number): Ports => ({
  cloud: cloudOver(world, armTakes),
  clusters: [createCluster(clusterIn(world, apiOf(world)))],
  clock: clockOf(world),
  signal: never(),
  observe: () => undefined,
});

/** The result of an event about that machine. A call to ARM takes this long (ms), and calls never overlap. */
export const react = (world: AzureWorld, machine: string, armTakes = ARM_CALL_TAKES, policy: Partial<Policy> = {}) => {
  const ports = portsOver(world, armTakes);
  const known: RunState = startRun({
    request: { machine, intent: 'fence', accepted: null, vouched: null },
    policy: { ...defaultPolicy, ...policy },
    identityRules: ports.cloud,
    runId: 'run',
    deadline: world.now() + 300_000,
  });
  return run(known, ports);
};

/** The result of a person's `release --accept` for the Node of this machine. */
export const accept = (world: AzureWorld, machine: string) => {
  const ports = portsOver(world, ARM_CALL_TAKES);
  const known = startRun({
    request: { machine, intent: 'release', accepted: 'checked the portal', vouched: null },
    policy: defaultPolicy,
    identityRules: ports.cloud,
    runId: 'release',
    deadline: world.now() + 300_000,
    location: { cluster: ports.clusters[0]?.name ?? '', node: nodeNameOf(world, machine) },
    statedAt: world.now(),
  });
  return run(known, ports);
};

/** The result of one sweep. */
export const sweepOnce = async (world: AzureWorld, policy: Partial<Policy> = {}) => {
  const runOptions = {
    policy: { ...defaultPolicy, ...policy },
    deadline: world.now() + 60_000,
    newRunId: () => `sweep-${world.now()}`,
  };
  return (await sweep(runOptions, portsOver(world, ARM_CALL_TAKES))).outcomes;
};

export const scene = (machines?: readonly Wanted[]) => {
  const world = createAzureSandbox({ seed: 1, now: Date.UTC(2026, 10, 21) });
  return { world, ...azureDatabaseOnTwoNodes(world, machines) };
};

export const change = (
  world: AzureWorld,
  id: string,
  apply: (world: AzureWorld, machine: Machine) => unknown,
  wait = 60_000,
): void => {
  const machine = machineIn(world, id);
  if (machine) apply(world, machine);
  world.advance(wait);
};
