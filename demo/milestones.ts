import { getObject, listObjects } from '../sandbox/cluster/get-objects.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { isReady } from '../sandbox/cluster/controllers/nodes.ts';
import { isReadyPod } from '../sandbox/cluster/controllers/pods.ts';
import { NEW_POD } from '../sandbox/scenes/database-pods.ts';
import type { World } from '../sandbox/world.ts';
import { databasePod, type Machine, oldAttachmentExists, oldNode, type Story } from './story.ts';
import {
  FENCED_LABEL,
  NUDGE_ANNOTATION,
  QUARANTINE,
  RECORD_ANNOTATION,
  EVENT_REPORTER,
  TAINT_LABEL,
} from '../kubernetes/names.ts';
import { hasOwnTaint } from '../kubernetes/node-facts.ts';
import { hasTaint } from '../sandbox/cluster/controllers/taints.ts';
import type { EventObject, NodeObject } from '../sandbox/cluster/objects.ts';

/** Traces of Cloudfence in a cluster, as anyone with kubectl can see them. */

/** Ignores a taint with the same key that someone else set. */
export const hasOwnOutOfServiceTaint = (node: NodeObject): boolean => hasOwnTaint(node);
export const hasQuarantine = (node: NodeObject): boolean => hasTaint(node, QUARANTINE.key);

/** Lists what Cloudfence left on a Node, one word each. */
export const fenceTracesOn = (node: NodeObject): readonly string[] => [
  ...(hasOwnOutOfServiceTaint(node) ? ['out-of-service'] : []),
  ...(hasQuarantine(node) ? ['quarantine'] : []),
  ...([FENCED_LABEL, TAINT_LABEL].some((key) => node.metadata.labels?.[key] !== undefined) ? ['label'] : []),
  ...(node.metadata.annotations?.[RECORD_ANNOTATION] === undefined ? [] : ['record']),
];

export const nudgedAttachments = (world: World<ClusterParts>): readonly string[] =>
  listObjects(world, 'volumeattachments')
    .filter(({ metadata }) => metadata.annotations?.[NUDGE_ANNOTATION] !== undefined)
    .map(({ metadata }) => metadata.name);

/** Returns the first Event in which Cloudfence reports that it refused to fence this Node. */
export const refusalEvent = (world: World<ClusterParts>, node: string): EventObject | undefined =>
  listObjects(world, 'events').find(
    (event) =>
      event.reportingController === EVENT_REPORTER &&
      event.reason === 'FencingRefused' &&
      event.regarding?.name === node,
  );

/**
 * Something that happens once. It is read from the world's objects, never from what Cloudfence reports about itself.
 */
export interface Milestone {
  readonly name: string;
  /** Returns the title for the named cloud. */
  readonly title: (cloud: string) => string;
  /** True if only Cloudfence does this. Without Cloudfence, it never happens, so the demo does not wait for it. */
  readonly ours: boolean;
  readonly reached: <P extends ClusterParts>(world: World<P>, story: Story<P>, earlier: ReadonlySet<string>) => boolean;
  /** Returns a longer text for the moment at which it happens. */
  readonly says?: (world: World<ClusterParts>, story: Pick<Story, 'node'>) => string;
}

type Reached = Milestone['reached'];

const milestone = (name: string, title: string, reached: Reached): Milestone => ({
  name,
  title: () => title,
  reached,
  ours: false,
});
const ourMilestone = (name: string, title: string, reached: Reached): Milestone => ({
  name,
  title: () => title,
  reached,
  ours: true,
});

const machineIs =
  (power: Machine['power']): Reached =>
  (world, { holder, demoCloud }) =>
    demoCloud.machine(world, holder).power === power;

export const stopped = milestone('instance-stopped', 'instance stopped', machineIs('off'));
export const terminated = milestone('instance-terminated', 'instance terminated', machineIs('gone'));

export const cutOff = milestone('node-cut-off', 'node cut off, machine still runs', (world, { node }) =>
  world.parts.cluster.knobs.partitioned.includes(node),
);

export const notReady = milestone('node-not-ready', 'Node NotReady', (world, story) => {
  const node = oldNode(world, story);
  return node !== undefined && !isReady(node);
});

export const nodeGone = milestone(
  'node-gone',
  'Node object gone',
  (world, story) => oldNode(world, story) === undefined,
);

const MARKED = 'node-marked';

export const marked = ourMilestone(MARKED, 'Node marked by Cloudfence', (world, story) => {
  const node = oldNode(world, story);
  return node !== undefined && hasOwnOutOfServiceTaint(node);
});

export const refused = {
  ...ourMilestone(
    'refused',
    'Cloudfence refused, with a reason',
    (world, { node }) => refusalEvent(world, node) !== undefined,
  ),
  says: (world: World<ClusterParts>, { node }: Pick<Story, 'node'>) =>
    `Cloudfence refuses: ${refusalEvent(world, node)?.note ?? ''}`,
} satisfies Milestone;

const oldPod = (world: World<ClusterParts>, { podUid }: Pick<Story, 'podUid'>) => {
  const pod = databasePod(world);
  return pod?.metadata.uid === podUid ? pod : undefined;
};

export const podMarked = milestone('pod-marked', 'pod marked for deletion', (world, story) => {
  const pod = oldPod(world, story);
  return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
});

export const podGone = milestone('old-pod-gone', 'old pod gone', (world, story) => oldPod(world, story) === undefined);

export const attachmentGone = milestone(
  'old-attachment-gone',
  'old VolumeAttachment deleted',
  (world, story) => !oldAttachmentExists(world, story),
);

export const diskDetached: Milestone = {
  ...milestone(
    'disk-detached',
    '',
    (world, { volume, holder, demoCloud }) =>
      !demoCloud.holders(world, volume).some(({ instance }) => instance === holder),
  ),
  title: (cloud) => `disk detached at ${cloud}`,
};

export const diskAttached = milestone(
  'disk-attached',
  'disk attached to the other instance',
  (world, { volume, spare, demoCloud }) =>
    demoCloud.holders(world, volume).some(({ instance, state }) => instance === spare && state === 'attached'),
);

export const podRuns = milestone('new-pod-running', 'new pod Running', (world, { podUid }) => {
  const pod = databasePod(world);
  return pod !== undefined && pod.metadata.uid !== podUid && isReadyPod(pod);
});

export const runsAgain = milestone('instance-running', 'instance runs again', (world, { holder, boot, demoCloud }) => {
  const machine = demoCloud.machine(world, holder);
  return machine.power === 'running' && machine.boot > boot;
});

export const readyAgain = milestone('node-ready', 'Node Ready again, fresh boot', (world, story) => {
  const node = oldNode(world, story);
  return node !== undefined && isReady(node) && node.status.nodeInfo?.bootID !== story.bootID;
});

const takenOff =
  (isOn: typeof hasOwnOutOfServiceTaint): Reached =>
  (world, story, earlier) => {
    const node = oldNode(world, story);
    return earlier.has(MARKED) && node !== undefined && !isOn(node);
  };

export const outOfServiceRemoved = ourMilestone(
  'out-of-service-off',
  'out-of-service taint off',
  takenOff(hasOwnOutOfServiceTaint),
);
export const quarantineRemoved = ourMilestone('quarantine-off', 'quarantine taint off', takenOff(hasQuarantine));

export const newPodRuns = milestone('new-pod-running-there', 'a new pod runs on that node', (world, { node }) => {
  const pod = getObject(world, 'pods', NEW_POD.name, NEW_POD.namespace);
  return pod !== undefined && pod.spec.nodeName === node && isReadyPod(pod);
});
