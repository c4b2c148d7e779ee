import type { NodeFacts, PodFacts, AttachmentFacts } from '../model/cluster-facts.ts';
import type { Untouched } from '../model/outcome.ts';
import { because, type Reason, listSome } from '../model/reason.ts';
import { isOfThisMachine, attachedDiskOf, detach, volumesToFree } from './volumes.ts';
import { beganWithoutMachine } from './identity.ts';
import { currentRecord, presentGeneration, targetNode } from './mark.ts';
import {
  isHeldByFinalizer,
  isRecurring,
  whyPodIsLeft,
  podsNamedByFence,
  originOf,
  podsToDelete,
  recurringPods,
  podsWanting,
} from './pods.ts';
import { vouchReason } from './proof.ts';
import { type Decision, fenced, refuse, type Rule, takeStep, type View, fail } from './view.ts';
import type { DiskAttachment } from '../model/machine.ts';
import { stepKey, type Step } from '../model/steps.ts';

/** How a fence ends: Cloudfence removes the out-of-service taint, and the Node stays in quarantine or is deleted. */

/**
 * Returns whether the cloud knew the machine when the fence began, but no longer does. The fence has freed the disks,
 * so no disk can confirm that the machine is gone. The machine may have been started, and its kubelet may be cut off.
 */
const mayBeBack = (view: View): boolean => {
  const record = currentRecord(view);
  const known = record !== null && !beganWithoutMachine(record);
  return view.machine.power === 'missing' && known && vouchReason(view) === null;
};

const whyDelete = (view: View): Reason | null => {
  const { policy, machine } = view;
  if (policy.deleteNode === 'always')
    return because('node-delete-by-policy', 'the policy requires that Cloudfence deletes the Node of a fenced machine');
  const forGood = machine.forGood || machine.power === 'missing';
  return forGood && policy.deleteNode === 'when-terminated'
    ? because('machine-gone-for-good', `${machine.machine} is terminated and will not come back`)
    : null;
};

/**
 * Returns why the Node is kept although the machine is gone for good, or null. A NodeClaim that owns the Node would
 * terminate the machine.
 */
const nodeKept = (view: View, node: NodeFacts): string | null => {
  if (mayBeBack(view))
    return (
      `the cloud knew ${view.machine.machine} when the fence began, but no longer does. The fence has freed the ` +
      'disks that could confirm that it is gone: if so, delete the Node yourself'
    );
  if (node.deleting) return 'someone else is deleting it';
  if (node.finalizers.length > 0) return `it has a finalizer: ${node.finalizers.join(', ')}`;
  if (node.owners.includes('NodeClaim')) return 'a NodeClaim owns it, and deleting it would terminate the machine';
  return null;
};

/** Returns a clause that names the skipped pods, or an empty text. */
const whoComesBack = (view: View): string => {
  const pods = recurringPods(view).map(({ namespace, name }) => `pod ${namespace}/${name}`);
  return pods.length === 0
    ? ''
    : `. A controller recreates ${listSome(pods)} on this Node after each deletion, without a volume: remove the ` +
        'Node name from that controller';
};

/** Shadow mode only imagines the deletion of a Node, but it removes our taint. So the removal comes first. */
const isTaintLeftInShadow = ({ policy, memory }: View, { taints }: NodeFacts): boolean =>
  policy.shadow && taints.ours && memory.sinceLook.size === 0;

/**
 * Deletes the Node, as the last step. Deletes only a Node that was read after the proof and still shows the old boot.
 */
export const deleteNode: Rule = (view) => {
  const { node } = view.cluster;
  const reason = whyDelete(view);
  if (!node || !currentRecord(view) || !reason || nodeKept(view, node) !== null) return null;
  if (isTaintLeftInShadow(view, node)) return null;
  return takeStep(
    { do: 'delete-node', node: targetNode(node) },
    because(reason.code, `${reason.says}${whoComesBack(view)}`),
  );
};

/**
 * Removes our out-of-service taint after its work is done. The quarantine stays until a fresh boot is proven. If
 * someone removed the label of the fence, it is written again.
 */
const park = (view: View, phase: 'fencing' | 'fenced', reason: Reason): Decision | null => {
  const { node } = view.cluster;
  const record = currentRecord(view);
  if (!node || !record || (record.phase === phase && !node.taints.ours && node.label !== null)) return null;
  const released = new Date(view.now.wall).toISOString();
  const recurring = [...new Set(recurringPods(view).map(originOf))];
  return takeStep(
    {
      do: 'park',
      node: targetNode(node),
      record: {
        ...record,
        phase,
        ...(view.machine.generation !== null && presentGeneration(view)),
        released,
        recurring,
      },
    },
    reason,
  );
};

/**
 * Removes the taint although the fence is not finished. The remaining work was rejected or waits for a finalizer. The
 * taint cannot help with that, so it is removed.
 */
export const retireTaint: Rule = (view) => {
  const stays = stillDeclined(view).size > 0 || podsToDelete(view).some((pod) => isHeldByFinalizer(view, pod));
  return stays && volumesToFree(view).length === 0
    ? park(
        view,
        'fencing',
        because(
          'fenced',
          'no volume is left to free; the remaining pods cannot be deleted, because the API server ' +
            'rejects it or finalizers keep them',
        ),
      )
    : null;
};

export const parkNode: Rule = (view) =>
  park(view, 'fenced', because('fenced', 'everything that the machine held is free'));

/**
 * Lists the old attachments of a reused Node name. They cannot be deleted, because the attacher would detach from the
 * new machine.
 */
const oldAttachments = (view: View): readonly string[] =>
  view.cluster.volumes.flatMap(({ attachment, nameTaken }) =>
    attachment && nameTaken && isOfThisMachine(view, attachment) ? [attachment.name] : [],
  );

/** Lists the volumes that stay attached because a pod that stays still uses them, each with its pods. */
const keptVolumes = (view: View): readonly string[] =>
  view.cluster.volumes.flatMap(({ key, attachment }) => {
    const pods = attachment && isOfThisMachine(view, attachment) ? podsWanting(view, key) : [];
    return pods.length === 0
      ? []
      : [`${key} for ${pods.map(({ namespace, name }) => `pod ${namespace}/${name}`).join(' and ')}`];
  });

const whatIsFree = (view: View): string => {
  const { machine, cluster } = view;
  const who = cluster.node ? `Node ${cluster.node.name}` : 'it';
  const keeps = keptVolumes(view);
  if (keeps.length > 0)
    return `${machine.machine} is off; ${who} keeps only ${listSome(keeps)}, which Cloudfence leaves alone`;
  return cluster.node
    ? `${machine.machine} is off and ${who} holds no volume any more`
    : `${machine.machine} is off and holds nothing any more`;
};

export const endFenced: Rule = (view) => {
  const { machine } = view;
  const old = oldAttachments(view);
  if (old.length > 0)
    return refuse(
      because(
        'name-reused',
        `${machine.machine} holds no disk any more, but VolumeAttachment ${old.join(', ')} still names a Node ` +
          'whose name is in use again: delete the VolumeAttachment yourself',
      ),
    );
  return fenced(because('fenced', `${whatIsFree(view)}${whoComesBack(view)}`));
};

const whyStays = (view: View, pod: PodFacts): string | null => {
  if (isHeldByFinalizer(view, pod)) return 'it is deleted, but its finalizers keep it';
  return isRecurring(view, pod) ? 'a controller recreates it after each deletion, and it uses no volume' : null;
};

const pods = (view: View): readonly Untouched[] => {
  const named = podsNamedByFence(view);
  return view.cluster.pods.flatMap((pod) => {
    const why = whyPodIsLeft(pod, named) ?? whyStays(view, pod);
    return why === null ? [] : [{ what: `pod/${pod.namespace}/${pod.name}`, why }];
  });
};

const whyWanted = ({ volumes, unresolved }: PodFacts, key: string): string =>
  volumes.includes(key)
    ? `still uses ${key}`
    : `may still use ${key}: Cloudfence cannot read the volume behind ${unresolved.join(', ')}`;

const attachments = (view: View): readonly Untouched[] =>
  view.cluster.volumes.flatMap((volume) => {
    const [pod] = podsWanting(view, volume.key);
    if (!volume.attachment || !pod) return [];
    return [
      {
        what: `volumeattachment/${volume.attachment.name}`,
        why: `pod ${pod.namespace}/${pod.name} ${whyWanted(pod, volume.key)}`,
      },
    ];
  });

const volumeOf = (view: View, disk: string): View['cluster']['volumes'][number] | undefined =>
  view.cluster.volumes.find((volume) => view.identityRules.diskOf(volume) === disk);

const whyDiskStays = (view: View, disk: View['machine']['disks'][number]): string | null => {
  const volume = volumeOf(view, disk.disk);
  if (disk.keep !== null) return disk.keep;
  if (!volume || volume.persistentVolume === null) return 'it belongs to no PersistentVolume of this Node';
  if (view.policy.detach === 'never' && attachedDiskOf(view, volume))
    return 'the policy does not allow detaching disks';
  return null;
};

const disks = (view: View): readonly Untouched[] =>
  view.machine.disks.flatMap((disk) => {
    const why = whyDiskStays(view, disk);
    return why === null ? [] : [{ what: `disk/${disk.disk}`, why }];
  });

const node = (view: View): readonly Untouched[] => {
  const why = view.cluster.node && whyDelete(view) ? nodeKept(view, view.cluster.node) : null;
  return why === null || !view.cluster.node ? [] : [{ what: `node/${view.cluster.node.name}`, why }];
};

/** Lists everything that was not touched, with the reason. The outcome includes this list for people. */
export const listUntouched = (view: View): readonly Untouched[] => [
  ...pods(view),
  ...attachments(view),
  ...disks(view),
  ...node(view),
];

type Scene = Pick<View, 'memory' | 'machine' | 'cluster'>;
type Declined = View['memory']['declined'];

const stepsOnPod = (pod: PodFacts): readonly Step[] => [
  { do: 'fail-pod', pod },
  { do: 'delete-pod', pod },
];

const stepsOnAttachment = (attachment: AttachmentFacts): readonly Step[] => [
  { do: 'delete-attachment', attachment },
  { do: 'nudge', attachment, on: true },
  { do: 'nudge', attachment, on: false },
];

const stepsOnDisk = (scene: Scene, disk: DiskAttachment): readonly Step[] => [
  detach(scene, disk, 'plain'),
  detach(scene, disk, 'forced'),
];

const standingAttachments = ({ cluster }: Scene): readonly AttachmentFacts[] =>
  cluster.volumes.flatMap(({ attachment, successor }) => [attachment, successor]).filter((one) => one !== null);

/**
 * Returns the steps that were rejected and still need to be done. If an object is gone by now, the rejected step is no
 * longer needed, and the run does not fail because of it.
 */
export const stillDeclined = (scene: Scene): Declined => {
  const open = new Set(
    [
      ...scene.cluster.pods.flatMap(stepsOnPod),
      ...standingAttachments(scene).flatMap(stepsOnAttachment),
      ...scene.machine.disks.flatMap((disk) => stepsOnDisk(scene, disk)),
    ].map(stepKey),
  );
  return new Map([...scene.memory.declined].filter(([key]) => open.has(key)));
};

export const describeDeclined = (declined: Declined): string => `declined: ${[...declined.values()].join('; ')}`;

/** Fails the run if a step is still rejected at the end. Everything else is done. */
export const failIfDeclined: Rule = (view) => {
  const declined = stillDeclined(view);
  return declined.size > 0 ? fail(because('step-refused', describeDeclined(declined))) : null;
};
