import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import type { World } from '../sandbox/world.ts';
import type { FunctionDependencies } from '../functions/dependencies.ts';
import { connectCloud, connectCluster, type SimulatedServers } from './cluster.ts';
import { type CallSchedule, createQueue, type LoggedOutcome, type Queue } from './platform.ts';
import type { DemoCloud } from './story.ts';

/** The functions of Cloudfence in a practice world: the real handlers get its events, and sweep once a minute. */
export interface PracticeFunctions {
  /** Runs until the signal ends. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The name of the simulated cluster. */
export const SANDBOX_CLUSTER = 'sandbox';

const WAIT_MS = 250;
const SWEEP_EVERY_MS = 60_000;

/** What the functions run in. `since` is the index of the first announcement that they get. */
export interface PracticeSetting<P extends ClusterParts> {
  readonly world: World<P>;
  readonly demoCloud: DemoCloud<P>;
  readonly servers: SimulatedServers;
  readonly turns: Pick<CallSchedule, 'call' | 'sleep' | 'arrived'>;
  readonly now: () => number;
  readonly since: number;
  /** Where the functions keep incidents. Absent where they keep none. */
  readonly incidents?: NonNullable<FunctionDependencies['incidents']>;
  /** Gets how each run ended. */
  readonly tell?: (outcome: LoggedOutcome) => void;
}

/** Deploys the functions in this process. */
export const deployPractice = <P extends ClusterParts>(setting: PracticeSetting<P>): PracticeFunctions => {
  const { world, demoCloud, servers, turns, now, since, incidents, tell } = setting;
  const { cluster, aftermath, close } = connectCluster(SANDBOX_CLUSTER, servers, turns, now, world.random);
  const announcements = () => demoCloud.announcements(world);
  const queue: Queue = createQueue({ title: demoCloud.title, now, announcements }, since, world.random);
  const cloud = connectCloud(servers, demoCloud, turns, world.random);
  const keeping = incidents && { incidents, aftermath: async () => aftermath };
  const deployed = demoCloud.deploy({ cloud, cluster, now, turns, queue, ...(keeping && { keeping }) });
  const report = (outcomes: readonly LoggedOutcome[]): void => outcomes.forEach((outcome) => tell?.(outcome));
  const deliver = async (): Promise<void> => {
    queue.collect();
    const message = queue.receive(now());
    if (!message) return;
    const { again, outcomes } = await deployed.onMessage(message);
    report(outcomes);
    if (again) queue.giveBack(message, now());
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    let nextSweep = now() + SWEEP_EVERY_MS;
    while (!signal.aborted) {
      await deliver();
      if (now() >= nextSweep) {
        nextSweep = now() + SWEEP_EVERY_MS;
        report(await deployed.sweep());
      }
      await turns.sleep(WAIT_MS, signal);
    }
  };
  return { run, close };
};
