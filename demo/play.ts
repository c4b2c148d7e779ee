import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import type { World } from '../sandbox/world.ts';
import { connectCloud, cloudfenceUser, connectCluster, type SimulatedServers, openServers, TOKEN } from './cluster.ts';
import {
  type DeployedFunction,
  type LoggedOutcome,
  type QueuedMessage,
  type Queue,
  createQueue,
  type CallSchedule,
  createCallSchedule,
} from './platform.ts';
import type { Scenario } from './scenarios.ts';
import { type DemoCloud, type Story, beginStory } from './story.ts';

export interface Demo {
  readonly scenario: Scenario;
  readonly seed: number;
  /** False if Cloudfence's identity may not patch Nodes. */
  readonly mayMark: boolean;
}

export interface PlayedDemo<P extends ClusterParts = ClusterParts> {
  readonly demo: Demo;
  readonly story: Story<P>;
  readonly lanes: Lanes<P>;
  readonly deliveries: readonly DeliveredMessage[];
  readonly requests: ReturnType<SimulatedServers['requests']>;
  readonly verdict: Verdict;
}

/** How long the demo watches both worlds (ms of virtual time). */
export const DEMO_LASTS_MS = 620_000;
const STARTS_AT = Date.UTC(2026, 0, 5, 3);
const WAIT_MS = 250;
const SWEEP_EVERY_MS = 60_000;

interface Run extends Counter {
  readonly turns: CallSchedule;
}

/**
 * Creates a cluster at rest that behaves like a real one: its cloud controller deletes Nodes whose machines are gone.
 */
const worldAtRest = <P extends ClusterParts>(demoCloud: DemoCloud<P>, seed: number) => {
  const world = demoCloud.create({ seed, now: STARTS_AT });
  world.parts.cluster.knobs.cloudController = true;
  const scene = demoCloud.scene(world);
  world.advance(Math.round(world.random() * 60_000));
  return { world, story: beginStory(world, scene, demoCloud) };
};

/** Plays the scenario in both worlds until the watch ends, and reports each event as it happens. */
export const playScenario = async <P extends ClusterParts>(
  demoCloud: DemoCloud<P>,
  demo: Demo,
  tell: ReportNews,
): Promise<PlayedDemo<P>> => {
  const { world, story } = worldAtRest(demoCloud, demo.seed);
  const announcements = () => demoCloud.announcements(world);
  const since = announcements().length;
  demo.scenario.strikes(world, story);
  const lanes = lanesFrom(world, story, demo.scenario, tell);
  const turns = createCallSchedule(world.now, lanes.passUntil);
  const servers = await openServers(world, demoCloud, { [TOKEN]: cloudfenceUser(demo) }, turns.arrived);
  const { cluster, close } = connectCluster('demo', servers, turns, world.now, world.random);
  const queue = createQueue({ title: demoCloud.title, now: world.now, announcements }, since, world.random);
  const cloud = connectCloud(servers, demoCloud, turns, world.random);
  const deployed = demoCloud.deploy({ cloud, cluster, now: world.now, turns, queue });
  try {
    const sweeps = demo.scenario.unannounced || demoCloud.sweeps;
    const deliveries = await watchToTheEnd(world, sweeps, { lanes, turns, deployed, tell, queue });
    const verdict = checkFindings(world, story, demo.scenario);
    return { demo, story, lanes, deliveries, requests: servers.requests(), verdict };
  } finally {
    await close();
    await servers.close();
  }
};

const watchToTheEnd = async (
  world: World<ClusterParts>,
  sweeps: boolean,
  run: Run,
): Promise<readonly DeliveredMessage[]> => {
  const { lanes, turns, queue, deployed } = run;
  const never = new AbortController().signal;
  const deliveries: DeliveredMessage[] = [];
  let nextSweep = sweeps ? Math.round(world.random() * SWEEP_EVERY_MS) : Number.POSITIVE_INFINITY;
  while (lanes.elapsed() < DEMO_LASTS_MS) {
    queue.collect();
    const message = queue.receive(world.now());
    if (message) deliveries.push(await deliver(message, run, deliveries.at(-1)));
    if (lanes.elapsed() >= nextSweep) {
      nextSweep += SWEEP_EVERY_MS;
      await deployed.sweep();
    }
    await turns.sleep(Math.min(WAIT_MS, Math.max(0, DEMO_LASTS_MS - lanes.elapsed())), never);
  }
  return deliveries;
};

type LaneName = 'kubernetes alone' | 'with cloudfence';

/** One of the two worlds, and when it reached each milestone (ms after the start). */
export interface DemoRun<P extends ClusterParts = ClusterParts> {
  readonly name: LaneName;
  readonly world: World<P>;
  readonly reached: ReadonlyMap<string, number>;
}

/** An event that is shown immediately. */
export interface DemoNews {
  /** Ms after the start. */
  readonly at: number;
  readonly lane: LaneName | 'both';
  readonly says: string;
}

export type ReportNews = (news: DemoNews) => void;

interface Lanes<P extends ClusterParts = ClusterParts> {
  readonly alone: DemoRun<P>;
  readonly fenced: DemoRun<P>;
  /** Ms since the two stories began to differ. */
  readonly elapsed: () => number;
  /** Advances time equally in both worlds, and reports what happens. */
  readonly passUntil: (at: number) => void;
}

/** How often the demo reads the worlds (ms). The times of milestones have this precision. */
const LOOK_EVERY_MS = 50;

type OpenLane<P extends ClusterParts> = DemoRun<P> & { readonly reached: Map<string, number> };

const stopwatch = (now: () => number): (() => number) => {
  const start = now();
  return () => now() - start;
};

/** Forks the world. The given world continues with Cloudfence. The fork continues with Kubernetes alone. */
const lanesFrom = <P extends ClusterParts>(
  world: World<P>,
  story: Story<P>,
  { milestones, actions }: Scenario,
  tell: ReportNews,
): Lanes<P> => {
  const elapsed = stopwatch(world.now);
  const fenced: OpenLane<P> = { name: 'with cloudfence', world, reached: new Map() };
  const alone: OpenLane<P> = { name: 'kubernetes alone', world: world.fork(), reached: new Map() };
  const lookAt = (lane: OpenLane<P>): void => {
    for (const { name, title, reached, says } of milestones) {
      if (lane.reached.has(name) || !reached(lane.world, story, new Set(lane.reached.keys()))) continue;
      lane.reached.set(name, elapsed());
      tell({ at: elapsed(), lane: lane.name, says: says?.(lane.world, story) ?? title(story.demoCloud.title) });
    }
  };
  const toCome = [...actions];
  const actIfDue = (): void => {
    for (let [act] = toCome; act && act.at <= elapsed(); [act] = toCome) {
      for (const lane of [alone, fenced]) act.does(lane.world, story);
      tell({ at: elapsed(), lane: 'both', says: act.says });
      toCome.shift();
    }
  };
  const passUntil = (at: number): void => {
    while (world.now() < at) {
      const step = Math.min(LOOK_EVERY_MS, at - world.now());
      for (const lane of [alone, fenced]) lane.world.advance(step);
      actIfDue();
      [alone, fenced].forEach(lookAt);
    }
  };
  [alone, fenced].forEach(lookAt);
  return { alone, fenced, elapsed, passUntil };
};

/** One delivery of a message, and how the function handled it. */
interface DeliveredMessage {
  /** Ms after the start. */
  readonly at: number;
  readonly brings: string;
  readonly received: number;
  readonly after: 'deleted' | 'visible-again' | 'dead-letter';
  readonly outcomes: readonly LoggedOutcome[];
}

/** What `deliver` needs. */
interface Counter {
  readonly lanes: Lanes;
  readonly queue: Queue;
  readonly deployed: DeployedFunction;
  readonly tell: ReportNews;
}

/**
 * Passes one message to the function, and then handles the message as a queue would, according to the function's
 * answer.
 */
const deliver = async (
  message: QueuedMessage,
  { lanes, queue, deployed, tell }: Counter,
  before: DeliveredMessage | undefined,
): Promise<DeliveredMessage> => {
  const say = (says: string): void => tell({ at: lanes.elapsed(), lane: 'with cloudfence', says });
  const { received, brings } = message;
  const arrived = { at: lanes.elapsed(), brings, received };
  say(received > 1 ? `the queue delivers it again, for the ${ordinal(received)} time` : `the queue delivers ${brings}`);
  const { again, outcomes } = await deployed.onMessage(message);
  const delivery = { ...arrived, outcomes };
  if (!again) return { ...delivery, after: 'deleted' };
  for (const { decision, says } of outcomes)
    say(`the function returns it to the queue (${decision}): ${wasSaid(before, says) ? 'the same as before' : says}`);
  if (queue.giveBack(message, lanes.fenced.world.now())) return { ...delivery, after: 'visible-again' };
  say('the message goes to the dead-letter queue');
  return { ...delivery, after: 'dead-letter' };
};

const wasSaid = (delivery: DeliveredMessage | undefined, says: string): boolean =>
  delivery?.outcomes.some((outcome) => outcome.says === says) ?? false;

const ordinal = (n: number): string => ['', 'first', 'second', 'third', 'fourth', 'fifth'][n] ?? `${n}th`;

interface Finding {
  readonly finding: string;
  /** What is wrong, or null if everything is as expected. */
  readonly wrong: string | null;
}

interface Verdict {
  readonly right: boolean;
  readonly findings: readonly Finding[];
}

/** Judges the end only by the objects in the world. Pure. */
export const checkFindings = <P extends ClusterParts>(
  world: World<P>,
  story: Story<P>,
  { asks }: Pick<Scenario, 'asks'>,
): Verdict => {
  const findings = asks.map(({ name, wrong }) => ({ finding: name, wrong: wrong(world, story) }));
  return { right: findings.every(({ wrong }) => wrong === null), findings };
};
