import type { NodeFacts, PodFacts, VolumeFacts } from '../model/cluster-facts.ts';
import type { FenceRecord, NamedVolume, OutOfServiceTaint } from '../model/record.ts';
import { because, type Reason } from '../model/reason.ts';
import type { NodeTarget } from '../model/steps.ts';
import { type Decision, type Rule, takeStep, type View } from './view.ts';
import { isDeletionDeclined, isKnownToRecur, isRecurring, podsToDelete, podsWanting } from './pods.ts';
import { wasAttachedToMachine } from './identity.ts';

/** When a fence begins, what its record contains, and whether the present record applies to this boot. */

export const targetNode = (node: NodeFacts): NodeTarget => ({
  name: node.name,
  uid: node.uid,
  bootID: node.bootID,
  resourceVersion: node.resourceVersion,
  recordText: node.recordText,
  label: node.label,
  unmatchedSeal: node.unmatchedSeal,
  quarantined: node.taints.quarantine,
});

/**
 * Returns whether the record is for the machine's present generation. If either generation drifts, Cloudfence's own
 * detach or that of the driver has changed it, or the cloud names the same boot differently, unless the kubelet has
 * shown a sign of life since the fence began. With a sign of life, the machine may have been started, and the fence
 * begins again.
 */
export const isSameGeneration = (
  { generation, generationDrifts, lease }: FenceRecord,
  { machine, cluster }: View,
): boolean =>
  generation === machine.generation ||
  ((machine.generationDrifts === true || generationDrifts === true) && generation !== null && lease === cluster.lease);

/** The part of a record that names the machine's boot, as the cloud names it now. */
export const presentGeneration = ({
  machine: { generation, generationDrifts },
}: Pick<View, 'machine'>): Pick<FenceRecord, 'generation' | 'generationDrifts'> => ({ generation, generationDrifts });

/**
 * Returns the Node's record if it is valid for this proof, or else null. A valid record names the same bootID and
 * generation, and its mark is neither lifted nor being released.
 */
export const currentRecord = (view: View): FenceRecord | null => {
  const {
    cluster: { node },
    machine,
  } = view;
  const record = node?.record;
  if (!record || record.phase === 'releasing' || record.phase === 'lifted' || record.bootID !== node.bootID)
    return null;
  // A machine that the cloud no longer knows cannot have another boot.
  return machine.generation === null || isSameGeneration(record, view) ? record : null;
};

/** Returns whether the taint of this boot's fence was removed, but something on the dead Node needs it again. */
export const hasWorkReturned = (view: View): boolean => {
  const record = currentRecord(view);
  return record !== null && workCameBack(view, record);
};

/** Returns whether the fence has not begun yet: there is a Node without a record for this boot. */
export const isUnmarked = (view: View): boolean => view.cluster.node !== null && currentRecord(view) === null;

const taintOrigin = ({ cluster }: View, node: NodeFacts): OutOfServiceTaint => {
  if (!cluster.taintSupported) return 'unsupported';
  return node.taints.outOfService && !node.taints.ours ? 'foreign' : 'ours';
};

const namedVolume = (view: View, volume: VolumeFacts): NamedVolume => {
  const { driver, handle, persistentVolume, attachmentName } = volume;
  return {
    driver,
    handle,
    persistentVolume,
    attachment: attachmentName,
    ...(wasAttachedToMachine(view, volume) && { attached: true }),
  };
};

const namedVolumes = (view: View, before: FenceRecord | null): readonly NamedVolume[] => {
  const current = view.cluster.volumes.map((volume) => namedVolume(view, volume));
  const stillThere = new Set(current.map((volume) => volume.attachment));
  return [...current, ...(before?.volumes ?? []).filter((volume) => !stillThere.has(volume.attachment))];
};

const namedPods = (pods: readonly PodFacts[]): FenceRecord['pods'] =>
  pods.map(({ namespace, name, uid }) => ({ namespace, name, uid }));

export const newRecord = (view: View, node: NodeFacts): FenceRecord => ({
  version: 1,
  fence: `${view.runId}.${view.memory.marks + 1}`,
  phase: 'fencing',
  cloud: view.identityRules.name,
  machine: view.machine.machine,
  ...presentGeneration(view),
  node: node.name,
  nodeUid: node.uid,
  bootID: node.bootID,
  lease: view.memory.lease ?? view.cluster.lease,
  outOfService: taintOrigin(view, node),
  begun: new Date(view.now.wall).toISOString(),
  released: null,
  renewed: null,
  vouched: view.request.vouched,
  evidence: view.machine.evidence,
  volumes: namedVolumes(view, node.record),
  pods: namedPods(podsToDelete(view)),
  recurring: [],
});

/**
 * Writes the taint, the quarantine, the label, and the record in one conditional patch. If the process dies right after
 * it, redelivery continues from here. Without it, Kubernetes would finish by itself five minutes after NotReady. No pod
 * is force-deleted before the mark, because the scheduler would place the replacement on the dead machine again.
 */
export const mark: Rule = (view) => {
  const { node } = view.cluster;
  if (!node) return null;
  if (isUnmarked(view)) return markWith(node, newRecord(view, node), whyMark(view, node));
  const record = currentRecord(view);
  return record && workCameBack(view, record)
    ? markWith(
        node,
        again(view, node, record),
        because('work-came-back', `${view.machine.machine} is still off, and holds a volume or pod again`),
      )
    : null;
};

const markWith = (node: NodeFacts, record: FenceRecord, reason: Reason): Decision => {
  const addOutOfService = record.outOfService === 'ours' && !node.taints.outOfService;
  return takeStep({ do: 'mark', node: targetNode(node), record, addOutOfService }, reason);
};

/**
 * Returns whether the taint was removed although this pod exists, because its deletion was rejected. Cloudfence tries
 * the deletion again, and the taint cannot help with it.
 */
const isKnownToStay = ({ phase, pods }: FenceRecord, { uid }: PodFacts): boolean =>
  phase === 'fencing' && pods.some((pod) => pod.uid === uid);

/**
 * Returns whether the mark is needed again: for a pod that was bound to the dead Node by name, or for an attachment
 * that no pod uses.
 */
const workCameBack = (view: View, record: FenceRecord): boolean => {
  if (record.released === null) return false;
  const idle = view.cluster.volumes.some(
    ({ key, attachment }) => attachment !== null && podsWanting(view, key).length === 0,
  );
  return (
    idle ||
    podsToDelete(view).some(
      (pod) =>
        !isDeletionDeclined(view, pod) &&
        !isKnownToStay(record, pod) &&
        !isKnownToRecur(record, pod) &&
        !isRecurring(view, pod),
    )
  );
};

/**
 * Returns the new record of a fence that continues. The volumes and pods of the old record stay in it. The origin of
 * the out-of-service taint is determined again, because someone else may have set or removed a taint while ours was
 * off.
 */
const again = (view: View, node: NodeFacts, record: FenceRecord): FenceRecord => {
  const pods = namedPods(podsToDelete(view).filter((pod) => !isRecurring(view, pod)));
  const stillThere = new Set(pods.map(({ uid }) => uid));
  return {
    ...record,
    phase: 'fencing',
    outOfService: taintOrigin(view, node),
    released: null,
    volumes: namedVolumes(view, record),
    pods: [...pods, ...record.pods.filter(({ uid }) => !stillThere.has(uid))],
  };
};

const whyMark = ({ machine }: View, node: NodeFacts): Reason =>
  node.record
    ? because('started-in-between', `${machine.machine} started after fence ${node.record.fence} and is off again`)
    : because('off-proven', `${machine.machine} is off, so its guest cannot write any more`);
