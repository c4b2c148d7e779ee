import { listObjects, getObject } from '../sandbox/cluster/get-objects.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { isReady } from '../sandbox/cluster/controllers/nodes.ts';
import { isReadyPod } from '../sandbox/cluster/controllers/pods.ts';
import { NEW_POD } from '../sandbox/scenes/database-pods.ts';
import type { World } from '../sandbox/world.ts';
import { nudgedAttachments, hasOwnOutOfServiceTaint, fenceTracesOn, hasQuarantine, refusalEvent } from './traces.ts';
import { databasePod, oldAttachmentExists, oldNode, type Story } from './story.ts';

/** One question about the end of the story. `wrong` returns what is wrong, or null if everything is as expected. */
export interface FinalCheck {
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

export const dataUnharmed = question('data-unharmed', (world, { demoCloud }) => {
  const violations = demoCloud.violations(world);
  return complainUnless(violations.length === 0, violations.map(({ what }) => what).join('; '));
});

export const diskMoved = question('disk-moved', (world, story) => diskIsAt(world, story, story.spare));
export const diskStayed = question('disk-stayed', (world, story) => diskIsAt(world, story, story.holder));

export const databaseRuns = question('database-runs', (world, { nodeOf, spare, podUid }) => {
  const pod = databasePod(world);
  const runs =
    pod !== undefined && isReadyPod(pod) && pod.metadata.uid !== podUid && pod.spec.nodeName === nodeOf(spare);
  return complainUnless(runs, `no replacement pod of the database runs on ${nodeOf(spare)}`);
});

export const podStayed = question('pod-stayed', (world, { podUid }) =>
  complainUnless(databasePod(world)?.metadata.uid === podUid, 'the pod was removed from a machine that runs'),
);

export const oldAttachmentGone = question('old-attachment-gone', (world, story) =>
  complainUnless(!oldAttachmentExists(world, story), `the old VolumeAttachment to ${story.node} still exists`),
);

export const nodeFenced = question('node-fenced', (world, story) => {
  const node = oldNode(world, story);
  return complainUnless(
    node !== undefined && hasQuarantine(node) && !hasOwnOutOfServiceTaint(node),
    `Node ${story.node} is not parked: it must have only the quarantine taint`,
  );
});

export const nodeDeleted = question('node-deleted', (world, { node }) =>
  complainUnless(
    getObject(world, 'nodes', node) === undefined,
    `Node ${node} still exists, although its machine is terminated`,
  ),
);

export const nodeReturned = question('node-returned', (world, story) => {
  const node = oldNode(world, story);
  return complainUnless(
    node !== undefined && isReady(node) && (node.spec.taints ?? []).length === 0,
    `Node ${story.node} is not back in service`,
  );
});

export const newPodRuns = question('new-pod-runs', (world, { node }) => {
  const pod = getObject(world, 'pods', NEW_POD.name, NEW_POD.namespace);
  return complainUnless(pod?.spec.nodeName === node && isReadyPod(pod), `no new pod runs on ${node}`);
});

export const nothingLeft = question('nothing-left', (world) => {
  const leftBehind = [
    ...listObjects(world, 'nodes').flatMap((node) =>
      fenceTracesOn(node).map((what) => `${what} on ${node.metadata.name}`),
    ),
    ...nudgedAttachments(world),
  ];
  return complainUnless(leftBehind.length === 0, `Cloudfence left behind: ${leftBehind.join(', ')}`);
});

export const noNudgeLeft = question('no-nudge-left', (world) => {
  const nudged = nudgedAttachments(world);
  return complainUnless(nudged.length === 0, `a nudge remains on ${nudged.join(', ')}`);
});

export const machineRuns = question('machine-runs', (world, { holder, demoCloud }) =>
  complainUnless(demoCloud.machine(world, holder).power === 'running', `${holder} is not running any more`),
);

export const refusalSaid = question('refusal-said', (world, { node }) =>
  complainUnless(refusalEvent(world, node) !== undefined, `no Event on Node ${node} says why it was not fenced`),
);
