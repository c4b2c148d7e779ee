import { createAwsSandbox, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { databaseOnTwoNodes } from '../../sandbox/scenes/database.ts';
import { cloudBehind, clusterBehind } from './clients.ts';
import { openDoors, type Doors } from './doors.ts';
import { deploy, type DeployedFunction, type End } from './function.ts';
import { cloudfenceUser } from './identity.ts';
import { lanesFrom, type Lanes, type Tell } from './lanes.ts';
import { queueFrom, sqsBatchOf, type Message, type Queue } from './queue.ts';
import type { Scenario } from './scenario.ts';
import { storyOf, type Story } from './story.ts';
import { turnsOver, type Turns } from './turns.ts';
import { verdict, type Verdict } from './verdict.ts';

export interface Demo {
  readonly scenario: Scenario;
  readonly seed: number;
  /** False: Cloudfence's identity is not allowed to patch Nodes. */
  readonly mayMark: boolean;
}

/** One delivery of a message, and what the function made of it. */
export interface Delivery {
  readonly at: number;
  readonly state: string;
  readonly received: number;
  readonly after: 'deleted' | 'visible-again' | 'dead-letter';
  readonly ends: readonly End[];
}

export interface Played {
  readonly demo: Demo;
  readonly story: Story;
  readonly lanes: Lanes;
  readonly deliveries: readonly Delivery[];
  readonly requests: ReturnType<Doors['requests']>;
  readonly verdict: Verdict;
}

/** Ms of virtual time. */
export const WATCHED_MS = 620_000;
const NIGHT = Date.UTC(2026, 0, 5, 3);
const WAIT_MS = 250;
const SWEEP_EVERY_MS = 60_000;

interface Stage {
  readonly lanes: Lanes;
  readonly turns: Turns;
  readonly queue: Queue;
  readonly deployed: DeployedFunction;
  readonly tell: Tell;
}

/** A cluster at rest, on a real cluster's terms: its cloud controller looks after Nodes whose machines are gone. */
const worldAtRest = (seed: number) => {
  const world = createAwsSandbox({ seed, now: NIGHT });
  world.parts.cluster.knobs.cloudController = true;
  const scene = databaseOnTwoNodes(world);
  world.advance(Math.round(world.random() * 60_000));
  return { world, story: storyOf(world, scene) };
};

/** Plays the scenario in both worlds to the end of the watch, telling what happens as it happens. */
export const play = async (demo: Demo, tell: Tell): Promise<Played> => {
  const { world, story } = worldAtRest(demo.seed);
  const since = world.parts.ec2.events.length;
  demo.scenario.strikes(world, story);
  const lanes = lanesFrom(world, story, demo.scenario, tell);
  const turns = turnsOver(world.now, lanes.passUntil);
  const doors = await openDoors(world, cloudfenceUser(demo), turns.arrived);
  const { cluster, close } = clusterBehind(doors, turns, world.now, world.random);
  const deployed = deploy({ cloud: cloudBehind(doors, turns, world.random), cluster, now: world.now, turns });
  const stage = { lanes, turns, deployed, tell, queue: queueFrom(world, since, world.random) };
  try {
    const deliveries = await untilWatched(world, demo.scenario, stage);
    return { demo, story, lanes, deliveries, requests: doors.requests(), verdict: verdict(world, story, demo.scenario) };
  } finally {
    await close();
    await doors.close();
  }
};

const untilWatched = async (world: AwsWorld, { unannounced }: Scenario, stage: Stage): Promise<readonly Delivery[]> => {
  const { lanes, turns, queue, deployed } = stage;
  const never = new AbortController().signal;
  const deliveries: Delivery[] = [];
  let nextSweep = unannounced ? Math.round(world.random() * SWEEP_EVERY_MS) : Number.POSITIVE_INFINITY;
  while (lanes.elapsed() < WATCHED_MS) {
    queue.collect();
    const message = queue.receive(world.now());
    if (message) deliveries.push(await deliver(message, world, stage, deliveries.at(-1)));
    if (lanes.elapsed() >= nextSweep) {
      nextSweep += SWEEP_EVERY_MS;
      await deployed.sweep();
    }
    await turns.sleep(Math.min(WAIT_MS, Math.max(0, WATCHED_MS - lanes.elapsed())), never);
  }
  return deliveries;
};

const deliver = async (message: Message, world: AwsWorld, { lanes, queue, deployed, tell }: Stage, before: Delivery | undefined): Promise<Delivery> => {
  const say = (says: string): void => tell({ at: lanes.elapsed(), lane: 'with cloudfence', says });
  const at = lanes.elapsed();
  const { received } = message;
  const { state } = message.event.detail;
  say(received > 1 ? `the queue delivers it again, for the ${ordinal(received)} time` : `the queue delivers the event: EC2 says ${state}`);
  const { again, ends } = await deployed.onBatch(sqsBatchOf(message));
  const delivery = { at, state, received, ends };
  if (!again) return { ...delivery, after: 'deleted' };
  for (const { decision, says } of ends) say(`the function wants it again (${decision}): ${saidIn(before, says) ? 'the same as before' : says}`);
  if (queue.giveBack(message, world.now())) return { ...delivery, after: 'visible-again' };
  say('the message goes to the dead-letter queue');
  return { ...delivery, after: 'dead-letter' };
};

const saidIn = (delivery: Delivery | undefined, says: string): boolean => delivery?.ends.some((end) => end.says === says) ?? false;

const ordinal = (n: number): string => ['', 'first', 'second', 'third', 'fourth', 'fifth'][n] ?? `${n}th`;
