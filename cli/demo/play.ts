import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { World } from '../../sandbox/world.ts';
import { cloudBehind, clusterBehind } from './clients.ts';
import { deliver, type Counter, type Delivery } from './delivery.ts';
import { openDoors, type Doors } from './doors.ts';
import { cloudfenceUser } from './identity.ts';
import { lanesFrom, type Lanes, type Tell } from './lanes.ts';
import { queueFrom } from './queue.ts';
import type { Scenario } from './scenario.ts';
import type { CloudStage } from './stage.ts';
import { storyOf, type Story } from './story.ts';
import { turnsOver, type Turns } from './turns.ts';
import { verdict, type Verdict } from './verdict.ts';

export interface Demo {
  readonly scenario: Scenario;
  readonly seed: number;
  /** False: Cloudfence's identity is not allowed to patch Nodes. */
  readonly mayMark: boolean;
}

export interface Played<P extends ClusterParts = ClusterParts> {
  readonly demo: Demo;
  readonly story: Story<P>;
  readonly lanes: Lanes<P>;
  readonly deliveries: readonly Delivery[];
  readonly requests: ReturnType<Doors['requests']>;
  readonly verdict: Verdict;
}

/** Ms of virtual time. */
export const WATCHED_MS = 620_000;
const NIGHT = Date.UTC(2026, 0, 5, 3);
const WAIT_MS = 250;
const SWEEP_EVERY_MS = 60_000;

interface Run extends Counter {
  readonly turns: Turns;
}

/** A cluster at rest, on a real cluster's terms: its cloud controller looks after Nodes whose machines are gone. */
const worldAtRest = <P extends ClusterParts>(stage: CloudStage<P>, seed: number) => {
  const world = stage.create({ seed, now: NIGHT });
  world.parts.cluster.knobs.cloudController = true;
  const scene = stage.scene(world);
  world.advance(Math.round(world.random() * 60_000));
  return { world, story: storyOf(world, scene, stage) };
};

/** Plays the scenario in both worlds to the end of the watch, telling what happens as it happens. */
export const play = async <P extends ClusterParts>(stage: CloudStage<P>, demo: Demo, tell: Tell): Promise<Played<P>> => {
  const { world, story } = worldAtRest(stage, demo.seed);
  const announcements = () => stage.announcements(world);
  const since = announcements().length;
  demo.scenario.strikes(world, story);
  const lanes = lanesFrom(world, story, demo.scenario, tell);
  const turns = turnsOver(world.now, lanes.passUntil);
  const doors = await openDoors(world, stage, cloudfenceUser(demo), turns.arrived);
  const { cluster, close } = clusterBehind(doors, turns, world.now, world.random);
  const queue = queueFrom({ title: stage.title, now: world.now, announcements }, since, world.random);
  const deployed = stage.deploy({ cloud: cloudBehind(doors, stage, turns, world.random), cluster, now: world.now, turns, queue });
  try {
    const sweeps = demo.scenario.unannounced || stage.sweeps;
    const deliveries = await untilWatched(world, sweeps, { lanes, turns, deployed, tell, queue });
    return { demo, story, lanes, deliveries, requests: doors.requests(), verdict: verdict(world, story, demo.scenario) };
  } finally {
    await close();
    await doors.close();
  }
};

const untilWatched = async (world: World<ClusterParts>, sweeps: boolean, run: Run): Promise<readonly Delivery[]> => {
  const { lanes, turns, queue, deployed } = run;
  const never = new AbortController().signal;
  const deliveries: Delivery[] = [];
  let nextSweep = sweeps ? Math.round(world.random() * SWEEP_EVERY_MS) : Number.POSITIVE_INFINITY;
  while (lanes.elapsed() < WATCHED_MS) {
    queue.collect();
    const message = queue.receive(world.now());
    if (message) deliveries.push(await deliver(message, run, deliveries.at(-1)));
    if (lanes.elapsed() >= nextSweep) {
      nextSweep += SWEEP_EVERY_MS;
      await deployed.sweep();
    }
    await turns.sleep(Math.min(WAIT_MS, Math.max(0, WATCHED_MS - lanes.elapsed())), never);
  }
  return deliveries;
};
