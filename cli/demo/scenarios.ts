import { InvalidInput } from '../../fencing/errors.ts';
import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { deskOf } from '../../sandbox/cluster/controllers/desk.ts';
import { plainStop, start, stopByUser, terminate } from '../../sandbox/ec2/instances.ts';
import { instanceIn, type InstanceState } from '../../sandbox/ec2/state.ts';
import { addNewcomer } from '../../sandbox/scenes/database.ts';
import * as ask from './findings.ts';
import * as milestone from './milestones.ts';
import type { Act, Scenario } from './scenario.ts';
import { oldNode, type Story } from './story.ts';

const LOOK_EVERY_MS = 50;

const untilIn = (world: AwsWorld, instance: string, state: InstanceState): void => {
  while (instanceIn(world, instance)?.state !== state) world.advance(LOOK_EVERY_MS);
};

const stop = (world: AwsWorld, { holder }: Story): void => {
  const instance = instanceIn(world, holder);
  if (instance) stopByUser(world, instance, plainStop);
  untilIn(world, holder, 'stopped');
};

const terminateInstance = (world: AwsWorld, { holder }: Story): void => {
  const instance = instanceIn(world, holder);
  if (instance) terminate(world, instance);
  untilIn(world, holder, 'terminated');
};

const stopAndDeleteNode = (world: AwsWorld, story: Story): void => {
  stop(world, story);
  const node = oldNode(world, story);
  if (node) deskOf(world, 'somebody').remove('nodes', node);
};

const startAgain: Act = {
  at: 7 * 60_000,
  says: 'somebody starts the instance again, and wants a new pod on its node',
  does: (world, { holder, node }) => {
    const instance = instanceIn(world, holder);
    if (instance) start(world, instance);
    addNewcomer(world, node);
  },
};

const takeover = [
  milestone.podMarked,
  milestone.podGone,
  milestone.attachmentGone,
  milestone.diskDetached,
  milestone.diskAttached,
  milestone.podRuns,
];
const comeback = [
  milestone.runsAgain,
  milestone.readyAgain,
  milestone.volumesReadmitted,
  milestone.podsReadmitted,
  milestone.newcomerRuns,
];
const tookOver = [ask.dataUnharmed, ask.oldAttachmentGone, ask.diskMoved, ask.databaseRuns];
const announced = { acts: [], unannounced: false };

export const scenarios: readonly Scenario[] = [
  {
    ...announced,
    name: 'stopped',
    shows: 'The instance under a database is stopped, and stays so.',
    since: 'after the stop',
    strikes: stop,
    milestones: [milestone.stopped, milestone.notReady, milestone.marked, ...takeover],
    asks: [...tookOver, ask.nodeFenced, ask.noNudgeLeft],
  },
  {
    ...announced,
    name: 'terminated',
    shows: 'The instance under a database is terminated.',
    since: 'after the termination',
    strikes: terminateInstance,
    milestones: [milestone.terminated, milestone.marked, ...takeover, milestone.nodeGone],
    asks: [...tookOver, ask.nodeDeleted, ask.nothingLeft],
  },
  {
    name: 'partition',
    shows: 'The node under a database is cut off while its instance runs on and writes: nobody may take the disk.',
    since: 'after the cut',
    strikes: (world, { node }) => void world.parts.cluster.knobs.partitioned.push(node),
    acts: [],
    unannounced: true,
    milestones: [milestone.cutOff, milestone.notReady, milestone.refused, ...takeover],
    asks: [ask.dataUnharmed, ask.machineRuns, ask.diskStayed, ask.podStayed, ask.refusalSaid, ask.nothingLeft],
  },
  {
    name: 'return',
    shows: 'The instance under a database is stopped, and somebody starts it again seven minutes later.',
    since: 'after the stop',
    strikes: stop,
    acts: [startAgain],
    unannounced: false,
    milestones: [milestone.stopped, milestone.notReady, milestone.marked, ...takeover, ...comeback],
    asks: [...tookOver, ask.nodeReturned, ask.newcomerRuns, ask.nothingLeft],
  },
  {
    ...announced,
    name: 'node-gone',
    shows: 'The instance under a database is stopped, and somebody deletes its Node before anybody else comes.',
    since: 'after the stop',
    strikes: stopAndDeleteNode,
    milestones: [milestone.stopped, milestone.nodeGone, ...takeover],
    asks: [...tookOver, ask.nodeDeleted, ask.nothingLeft],
  },
];

/** @throws InvalidInput */
export const scenarioNamed = (name: string): Scenario => {
  const known = scenarios.find((scenario) => scenario.name === name);
  if (!known) throw new InvalidInput(`there is no scenario "${name}"; there is ${scenarios.map((scenario) => scenario.name).join(', ')}`);
  return known;
};
