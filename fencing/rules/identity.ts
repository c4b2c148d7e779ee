import type { Cloud } from '../model/cloud.ts';
import {
  type AttachmentFacts,
  hasOwnLabelOrTaint,
  isForged,
  type NodeFacts,
  type VolumeFacts,
} from '../model/cluster-facts.ts';
import type { DiskId, MachineFacts, MachineTarget } from '../model/machine.ts';
import { because } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { refuse, type Rule, type View } from './view.ts';

/** Whether the Node, its record, and its volumes belong to this machine. Names are reused, so a name proves nothing. */

type Identity = 'proven' | 'contradicted' | 'silent';

type IdentityRules = Pick<Cloud, 'machineOf' | 'immutableIdsOf'>;
type Named = Pick<NodeFacts, 'identitySources' | 'created'>;

/**
 * Compares the machine with the machines that the identity sources name. A source that names no machine of this cloud
 * neither confirms nor contradicts.
 */
const byMachine = ({ identitySources }: Named, { machine }: MachineFacts, { machineOf }: IdentityRules): Identity => {
  const named = identitySources.map(machineOf).filter((id) => id !== null);
  if (named.some((id) => id !== machine)) return 'contradicted';
  return named.length > 0 ? 'proven' : 'silent';
};

/**
 * Compares the incarnation if the cloud reuses names. A source with the immutable id must name the machine that has the
 * name now. If there is no such source, the Node must be newer than this machine, because it cannot belong to an
 * earlier machine then.
 */
const byIncarnation = (
  { identitySources, created }: Named,
  { incarnation }: MachineFacts,
  { immutableIdsOf: incarnationsOf }: IdentityRules,
): Identity => {
  if (incarnation === null) return 'proven';
  const namings = identitySources.map(incarnationsOf).filter((ids) => ids.length > 0);
  if (namings.some((ids) => !ids.includes(incarnation.id))) return 'contradicted';
  const madeBefore = incarnation.made !== null && incarnation.made <= created;
  return namings.length > 0 || madeBefore ? 'proven' : 'silent';
};

/**
 * Returns whether an identity source names the machine and none names another. It does not check which of several
 * machines with the same name is meant.
 */
export const namesOnlyThisMachine = (node: Named, machine: MachineFacts, identityRules: IdentityRules): boolean =>
  byMachine(node, machine, identityRules) === 'proven';

/**
 * Returns whether the Node belongs to the machine. Because Node names are reused, a source with the immutable id must
 * name the machine, and no source may name another.
 */
export const proveIdentity = (node: Named, machine: MachineFacts, identityRules: IdentityRules): Identity => {
  const machines = byMachine(node, machine, identityRules);
  return machines === 'proven' ? byIncarnation(node, machine, identityRules) : machines;
};

/** Returns the command with which a person ends the fence of a Node that Cloudfence cannot decide on. */
export const acceptCommand = ({ name }: Pick<NodeFacts, 'name'>): string =>
  `\`cloudfence release ${name} --accept "<what you checked>"\``;

/** Returns a clause with the command that ends our fence on this Node, or an empty text if there is no fence. */
export const acceptHint = (node: NodeFacts | null): string =>
  node && hasOwnLabelOrTaint(node) && node.tombstone === null
    ? `. Check the machine, then run ${acceptCommand(node)} to end the fence`
    : '';

/** Returns the machine as the target of a call. The call never affects a later machine with the same name. */
export const targetMachine = ({ machine }: Pick<View, 'machine'>): MachineTarget => ({
  machine: machine.machine,
  incarnation: machine.incarnation?.id ?? null,
});

const inWords = ({ machine, incarnation }: MachineFacts): string =>
  incarnation === null ? machine : `${machine} (${incarnation.id})`;

const spelledOut = ({ identitySources }: NodeFacts, identityRules: IdentityRules): string =>
  identitySources
    .map(
      (source) =>
        `${source.source}${source.driver ? ` (${source.driver})` : ''}: ` +
        (identityRules.machineOf(source) ?? source.value),
    )
    .join(', ');

export const doubtfulIdentity: Rule = (view) => {
  const { node } = view.cluster;
  if (!node) return null;
  switch (proveIdentity(node, view.machine, view.identityRules)) {
    case 'proven':
      return null;
    case 'contradicted':
      return refuse(
        because(
          'identity-contradicted',
          `Node ${node.name} names other machines besides ${inWords(view.machine)}: ` +
            spelledOut(node, view.identityRules) +
            acceptHint(node),
        ),
      );
    case 'silent':
      return refuse(
        because(
          'identity-unproven',
          `nothing on Node ${node.name} names ${inWords(view.machine)}; run cloudfence doctor for the ` +
            `remedy${acceptHint(node)}`,
        ),
      );
  }
};

/** Refuses to act on any Node if several Nodes name the machine. */
export const ambiguousIdentity: Rule = ({ ambiguity }) => (ambiguity ? refuse(ambiguity) : null);

/**
 * Refuses the record of a fence if it cannot be read or names another machine. Such a record was not written for this
 * fence, so a person must check the machine.
 */
export const doubtfulRecord: Rule = ({ cluster: { node }, machine }) => {
  if (!node || node.recordText === null || isForged(node) || !hasOwnLabelOrTaint(node)) return null;
  const remedy = `check the machine, then run ${acceptCommand(node)} to end the fence`;
  if (!node.record)
    return refuse(
      because(
        'record-unreadable',
        `the fence record on Node ${node.name} cannot be read, or is of another fence: ${remedy}`,
      ),
    );
  if (node.record.machine === machine.machine) return null;
  return refuse(
    because(
      'record-of-another-machine',
      `the fence record on Node ${node.name} names ${node.record.machine}: ${remedy}`,
    ),
  );
};

/**
 * The functions below find the witnesses for a machine that the cloud does not know. Only a disk that Kubernetes saw
 * attached to exactly this machine is a witness. A disk that a pod only requested was never attached, so it shows
 * nothing.
 */

type EvidenceView = Pick<View, 'cluster' | 'identityRules' | 'machine' | 'remembered'>;

/**
 * Returns whether the attacher wrote this machine's id, or the name of this Node. Null if it wrote neither an id nor a
 * name. An attachment that is older than the Node may be of a former machine with that id or name.
 */
const notedHere = ({ cluster, machine, identityRules }: EvidenceView, { source }: AttachmentFacts): boolean | null => {
  if (source === null) return null;
  const noted = identityRules.machineOf(source);
  return noted === null ? source.value === cluster.nodeName : noted === machine.machine;
};

const recordOf = ({ cluster: { node }, remembered }: EvidenceView): NodeFacts['record'] =>
  node ? (node.label === null ? null : node.record) : remembered;

const isRecorded = (view: EvidenceView, { attachmentName }: VolumeFacts): boolean => {
  const record = recordOf(view);
  return (
    record?.machine === view.machine.machine &&
    record.volumes.some(({ attachment, attached }) => attachment === attachmentName && attached === true)
  );
};

/**
 * Returns whether Kubernetes has attached the volume's disk to exactly this machine, and nobody has asked it to detach
 * the disk. Kubernetes deletes an attachment before it detaches the disk, and Cloudfence detaches no disk before that.
 */
const isAttachedHere = (view: EvidenceView, { attachment }: VolumeFacts): boolean =>
  attachment !== null &&
  attachment.attached &&
  attachment.deletingSince === null &&
  notedHere(view, attachment) === true;

/**
 * Returns whether the volume's disk is attached to exactly this machine, or was when our fence began. The status of the
 * Node does not count, because its kubelet can write it, and it may still name a disk that was detached long ago.
 */
export const wasAttachedToMachine = (view: EvidenceView, volume: VolumeFacts): boolean => {
  const isElsewhere = volume.attachment !== null && notedHere(view, volume.attachment) === false;
  return isAttachedHere(view, volume) || (!isElsewhere && isRecorded(view, volume));
};

/** Returns whether the Node shows another boot than the one that this run saw first. */
export const nodeShowsAnotherBoot = ({ cluster: { node }, memory: { firstBoot } }: View): boolean =>
  node !== null && firstBoot !== undefined && firstBoot !== node.bootID;

/**
 * Returns whether a volume has neither an attachment nor a PersistentVolume any more. In that case, Kubernetes has
 * allowed the deletion of its disk.
 */
export const isVolumeGone = ({ attachment, persistentVolume }: VolumeFacts): boolean =>
  attachment === null && persistentVolume === null;

/**
 * Returns whether the machine was already gone when this fence began: the cloud did not know it, and its disks
 * confirmed that before a fence could free them. A person's statement is no such confirmation.
 */
export const beganWithoutMachine = ({ generation, phase, vouched }: FenceRecord): boolean =>
  generation === null && vouched === null && (phase === 'fencing' || phase === 'fenced');

/**
 * Returns whether the Node may have a fence that began while the cloud knew the machine. Such a fence frees the disks,
 * and the machine may have been started since. So a disk that it may have freed is no longer a witness, even if someone
 * has removed the fence's label or its record.
 */
export const mayHaveFreed = ({ cluster: { node } }: EvidenceView): boolean =>
  node !== null && (node.record ? !beganWithoutMachine(node.record) : hasOwnLabelOrTaint(node));

interface WitnessDisk {
  readonly disk: DiskId;
  readonly volume: VolumeFacts;
}

/**
 * Returns whether the volume was attached since this Node exists. The disk of an older attachment may be free because a
 * former machine with the same id or name is gone.
 */
const isSinceNode = (view: EvidenceView, volume: VolumeFacts): boolean =>
  (volume.attachment !== null && volume.attachment.created >= (view.cluster.node?.created ?? 0)) ||
  (!mayHaveFreed(view) && isRecorded(view, volume));

/**
 * Returns the disks that can show whether the machine is gone. All of them can show that it exists. But they cannot
 * confirm that it is gone if each of their attachments is older than the Node.
 */
const witnesses = (view: EvidenceView): readonly WitnessDisk[] => {
  const isWitness = mayHaveFreed(view) ? isAttachedHere : wasAttachedToMachine;
  const attached = view.cluster.volumes.flatMap((volume) => {
    const disk = view.identityRules.diskOf(volume);
    return disk !== null && isWitness(view, volume) && !isVolumeGone(volume) ? [{ disk, volume }] : [];
  });
  return attached.some(({ volume }) => isSinceNode(view, volume)) ? attached : [];
};

/** Returns the known disks that can show whether the machine is gone. Cloudfence asks all of them. */
export const witnessDisks = (view: EvidenceView): readonly DiskId[] => [
  ...new Set(witnesses(view).map(({ disk }) => disk)),
];

/** Returns the uids of the attachments that show that these disks were attached. */
export const witnessAttachments = (view: EvidenceView): readonly string[] =>
  witnesses(view).flatMap(({ volume }) => volume.attachment?.uid ?? []);
