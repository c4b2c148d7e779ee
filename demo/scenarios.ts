import { InvalidInput } from '../fencing/model/errors.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { writerAs } from '../sandbox/cluster/controllers/object-writer.ts';
import { addNewPod, NEW_POD } from '../sandbox/scenes/database-pods.ts';
import type { World } from '../sandbox/world.ts';
import * as milestone from './milestones.ts';
import {
  type Milestone,
  nudgedAttachments,
  hasOwnOutOfServiceTaint,
  fenceTracesOn,
  hasQuarantine,
  refusalEvent,
} from './milestones.ts';
import { type Machine, oldNode, type Story, databasePod, oldAttachmentExists } from './story.ts';
import { listObjects, getObject } from '../sandbox/cluster/get-objects.ts';
import { isReady } from '../sandbox/cluster/controllers/nodes.ts';
import { isReadyPod } from '../sandbox/cluster/controllers/pods.ts';

/** An action of people in both worlds while time passes. */
interface ScenarioAction {
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
  /** Causes the failure, and advances time until it has happened. The two stories differ from then on. */
  readonly strikes: <P extends ClusterParts>(world: World<P>, story: Story<P>) => void;
  readonly actions: readonly ScenarioAction[];
  /** True if the cloud sends no event, so that only the sweep finds the machine. */
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

const startAgain: ScenarioAction = {
  at: 7 * 60_000,
  says: 'someone starts the instance again, and schedules a new pod on its Node',
  does: (world, { holder, node, demoCloud }) => {
    demoCloud.start(world, holder);
    addNewPod(world, node);
  },
};

/** One check at the end of the story. `wrong` returns what is wrong, or null if everything is as expected. */
interface FinalCheck {
  readonly name: string;
  readonly wrong: <P extends ClusterParts>(world: World<P>, story: Story<P>) => string | null;
}

const question = (name: string, wrong: FinalCheck['wrong']): FinalCheck => ({ name, wrong });

const complainUnless = (right: boolean, complaint: string): string | null => (right ? null : complaint);

const holdersOf = <P extends ClusterParts>(world: World<P>, { volume, demoCloud }: Story<P>): readonly string[] =>
  demoCloud.holders(world, volume).map(({ instance, state }) => `${instance} (${state})`);

const diskIsAt = <P extends ClusterParts>(world: World<P>, story: Story<P>, instance: string): string | null => {
  const holders = holdersOf(world, story);
  return complainUnless(
    holders.join() === `${instance} (attached)`,
    `the disk must be attached to ${instance}, but it is attached to ${holders.join(', ') || 'no instance'}`,
  );
};

const dataUnharmed = question('data-unharmed', (world, { demoCloud }) => {
  const violations = demoCloud.violations(world);
  return complainUnless(violations.length === 0, violations.map(({ what }) => what).join('; '));
});

const diskMoved = question('disk-moved', (world, story) => diskIsAt(world, story, story.spare));
const diskStayed = question('disk-stayed', (world, story) => diskIsAt(world, story, story.holder));

const databaseRuns = question('database-runs', (world, { nodeOf, spare, podUid }) => {
  const pod = databasePod(world);
  const runs =
    pod !== undefined && isReadyPod(pod) && pod.metadata.uid !== podUid && pod.spec.nodeName === nodeOf(spare);
  return complainUnless(runs, `no replacement pod of the database runs on ${nodeOf(spare)}`);
});

const podStayed = question('pod-stayed', (world, { podUid }) =>
  complainUnless(databasePod(world)?.metadata.uid === podUid, 'the pod was removed from a machine that runs'),
);

const oldAttachmentGone = question('old-attachment-gone', (world, story) =>
  complainUnless(!oldAttachmentExists(world, story), `the old VolumeAttachment to ${story.node} still exists`),
);

const nodeFenced = question('node-fenced', (world, story) => {
  const node = oldNode(world, story);
  return complainUnless(
    node !== undefined && hasQuarantine(node) && !hasOwnOutOfServiceTaint(node),
    `Node ${story.node} is not parked: it must have only the quarantine taint`,
  );
});

const nodeDeleted = question('node-deleted', (world, { node }) =>
  complainUnless(
    getObject(world, 'nodes', node) === undefined,
    `Node ${node} still exists, although its machine is terminated`,
  ),
);

const nodeReturned = question('node-returned', (world, story) => {
  const node = oldNode(world, story);
  return complainUnless(
    node !== undefined && isReady(node) && (node.spec.taints ?? []).length === 0,
    `Node ${story.node} is not back in service`,
  );
});

const newPodRuns = question('new-pod-runs', (world, { node }) => {
  const pod = getObject(world, 'pods', NEW_POD.name, NEW_POD.namespace);
  return complainUnless(pod?.spec.nodeName === node && isReadyPod(pod), `no new pod runs on ${node}`);
});

const nothingLeft = question('nothing-left', (world) => {
  const leftBehind = [
    ...listObjects(world, 'nodes').flatMap((node) =>
      fenceTracesOn(node).map((what) => `${what} on ${node.metadata.name}`),
    ),
    ...nudgedAttachments(world),
  ];
  return complainUnless(leftBehind.length === 0, `Cloudfence left behind: ${leftBehind.join(', ')}`);
});

const noNudgeLeft = question('no-nudge-left', (world) => {
  const nudged = nudgedAttachments(world);
  return complainUnless(nudged.length === 0, `a nudge remains on ${nudged.join(', ')}`);
});

const machineRuns = question('machine-runs', (world, { holder, demoCloud }) =>
  complainUnless(demoCloud.machine(world, holder).power === 'running', `${holder} is not running any more`),
);

const refusalSaid = question('refusal-said', (world, { node }) =>
  complainUnless(refusalEvent(world, node) !== undefined, `no Event on Node ${node} says why it was not fenced`),
);

const takeoverMilestones = [
  milestone.podMarked,
  milestone.podGone,
  milestone.attachmentGone,
  milestone.diskDetached,
  milestone.diskAttached,
  milestone.podRuns,
];
const returnMilestones = [milestone.runsAgain, milestone.readyAgain, milestone.quarantineRemoved, milestone.newPodRuns];
const takeoverChecks = [dataUnharmed, oldAttachmentGone, diskMoved, databaseRuns];
const announced = { actions: [], unannounced: false };

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
    asks: [...takeoverChecks, nodeFenced, noNudgeLeft],
  },
  {
    ...announced,
    name: 'terminated',
    shows: 'The instance of a database is terminated.',
    since: 'after the termination',
    strikes: terminateInstance,
    milestones: [milestone.terminated, milestone.marked, ...takeoverMilestones, milestone.nodeGone],
    asks: [...takeoverChecks, nodeDeleted, nothingLeft],
  },
  {
    name: 'partition',
    shows: 'The node of a database is unreachable, but its instance runs and writes, so the disk must stay attached.',
    since: 'after the partition',
    strikes: (world, { node }) => void world.parts.cluster.knobs.partitioned.push(node),
    actions: [],
    unannounced: true,
    milestones: [milestone.cutOff, milestone.notReady, milestone.refused, ...takeoverMilestones],
    asks: [dataUnharmed, machineRuns, diskStayed, podStayed, refusalSaid, nothingLeft],
  },
  {
    name: 'return',
    shows: 'The instance of a database stops, and someone starts it again seven minutes later.',
    since: 'after the stop',
    strikes: stop,
    actions: [startAgain],
    unannounced: false,
    milestones: [
      milestone.stopped,
      milestone.notReady,
      milestone.marked,
      ...takeoverMilestones,
      milestone.outOfServiceRemoved,
      ...returnMilestones,
    ],
    asks: [...takeoverChecks, nodeReturned, newPodRuns, nothingLeft],
  },
  {
    ...announced,
    name: 'node-gone',
    shows: 'The instance of a database stops, and someone deletes its Node before any fence begins.',
    since: 'after the stop',
    strikes: stopAndDeleteNode,
    milestones: [milestone.stopped, milestone.nodeGone, ...takeoverMilestones],
    asks: [...takeoverChecks, nodeDeleted, nothingLeft],
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
