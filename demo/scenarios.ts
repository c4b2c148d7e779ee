import { InvalidInput } from '../fencing/model/errors.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { writerAs } from '../sandbox/cluster/controllers/object-writer.ts';
import { addNewPod } from '../sandbox/scenes/database-pods.ts';
import type { World } from '../sandbox/world.ts';
import * as ask from './findings.ts';
import type { FinalCheck } from './findings.ts';
import * as milestone from './milestones.ts';
import type { Milestone } from './milestones.ts';
import { type Machine, oldNode, type Story } from './story.ts';

/** Something that people do in both worlds while time passes. */
interface Act {
  /** Ms after the start of the story. */
  readonly at: number;
  readonly says: string;
  readonly does: <P extends ClusterParts>(world: World<P>, story: Story<P>) => void;
}

export interface Scenario {
  readonly name: string;
  /** Says in one sentence what the scenario shows. */
  readonly shows: string;
  /** The moment from which all times are counted, such as `after the stop`. */
  readonly since: string;
  /** Causes the trouble and advances time until it has happened. The two stories differ from that moment on. */
  readonly strikes: <P extends ClusterParts>(world: World<P>, story: Story<P>) => void;
  readonly acts: readonly Act[];
  /** True if the cloud announces nothing, so that only the sweep finds it. */
  readonly unannounced: boolean;
  readonly milestones: readonly Milestone[];
  /** What must be true at the end. */
  readonly asks: readonly FinalCheck[];
}

const LOOK_EVERY_MS = 50;

const untilIs = <P extends ClusterParts>(
  world: World<P>,
  { holder, demoCloud }: Story<P>,
  power: Machine['power'],
): void => {
  while (demoCloud.machine(world, holder).power !== power) world.advance(LOOK_EVERY_MS);
};

const stop: Scenario['strikes'] = (world, story) => {
  story.demoCloud.stop(world, story.holder);
  untilIs(world, story, 'off');
};

const terminateInstance: Scenario['strikes'] = (world, story) => {
  story.demoCloud.destroy(world, story.holder);
  untilIs(world, story, 'gone');
};

const stopAndDeleteNode: Scenario['strikes'] = (world, story) => {
  stop(world, story);
  const node = oldNode(world, story);
  if (node) writerAs(world, 'somebody').remove('nodes', node);
};

const startAgain: Act = {
  at: 7 * 60_000,
  says: 'someone starts the instance again, and schedules a new pod on its Node',
  does: (world, { holder, node, demoCloud }) => {
    demoCloud.start(world, holder);
    addNewPod(world, node);
  },
};

const takeoverMilestones = [
  milestone.podMarked,
  milestone.podGone,
  milestone.attachmentGone,
  milestone.diskDetached,
  milestone.diskAttached,
  milestone.podRuns,
];
const returnMilestones = [milestone.runsAgain, milestone.readyAgain, milestone.quarantineRemoved, milestone.newPodRuns];
const takeoverChecks = [ask.dataUnharmed, ask.oldAttachmentGone, ask.diskMoved, ask.databaseRuns];
const announced = { acts: [], unannounced: false };

export const scenarios: readonly Scenario[] = [
  {
    ...announced,
    name: 'stopped',
    shows: 'The instance of a database stops and stays off.',
    since: 'after the stop',
    strikes: stop,
    milestones: [
      milestone.stopped,
      milestone.notReady,
      milestone.marked,
      ...takeoverMilestones,
      milestone.outOfServiceRemoved,
    ],
    asks: [...takeoverChecks, ask.nodeFenced, ask.noNudgeLeft],
  },
  {
    ...announced,
    name: 'terminated',
    shows: 'The instance of a database is terminated.',
    since: 'after the termination',
    strikes: terminateInstance,
    milestones: [milestone.terminated, milestone.marked, ...takeoverMilestones, milestone.nodeGone],
    asks: [...takeoverChecks, ask.nodeDeleted, ask.nothingLeft],
  },
  {
    name: 'partition',
    shows: 'The node of a database is unreachable, but its instance runs and writes, so the disk must stay attached.',
    since: 'after the partition',
    strikes: (world, { node }) => void world.parts.cluster.knobs.partitioned.push(node),
    acts: [],
    unannounced: true,
    milestones: [milestone.cutOff, milestone.notReady, milestone.refused, ...takeoverMilestones],
    asks: [ask.dataUnharmed, ask.machineRuns, ask.diskStayed, ask.podStayed, ask.refusalSaid, ask.nothingLeft],
  },
  {
    name: 'return',
    shows: 'The instance of a database stops, and someone starts it again seven minutes later.',
    since: 'after the stop',
    strikes: stop,
    acts: [startAgain],
    unannounced: false,
    milestones: [
      milestone.stopped,
      milestone.notReady,
      milestone.marked,
      ...takeoverMilestones,
      milestone.outOfServiceRemoved,
      ...returnMilestones,
    ],
    asks: [...takeoverChecks, ask.nodeReturned, ask.newPodRuns, ask.nothingLeft],
  },
  {
    ...announced,
    name: 'node-gone',
    shows: 'The instance of a database stops, and someone deletes its Node before any fence begins.',
    since: 'after the stop',
    strikes: stopAndDeleteNode,
    milestones: [milestone.stopped, milestone.nodeGone, ...takeoverMilestones],
    asks: [...takeoverChecks, ask.nodeDeleted, ask.nothingLeft],
  },
];

/**
 * Returns the scenario of that name.
 * @throws InvalidInput if there is none
 */
export const scenarioNamed = (name: string): Scenario => {
  const known = scenarios.find((scenario) => scenario.name === name);
  if (!known)
    throw new InvalidInput(
      `"${name}" is not a scenario: use one of ${scenarios.map((scenario) => scenario.name).join(', ')}`,
    );
  return known;
};
