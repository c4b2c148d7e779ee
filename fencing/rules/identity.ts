import type { Cloud } from '../model/cloud.ts';
import { type AttachmentFacts, bearsFence, type NodeFacts, type VolumeFacts } from '../model/cluster-facts.ts';
import type { DiskId, MachineFacts, MachineTarget } from '../model/machine.ts';
import { because } from '../model/reason.ts';
import type { FenceRecord } from '../model/record.ts';
import { refuse, type Rule, type View } from './view.ts';

/**
 * Whether the Node, its record, and its volumes belong to this machine. Names are reused, so a name proves nothing.
 */

type Identity = 'proven' | 'contradicted' | 'silent';

type IdentityRules = Pick<Cloud, 'machineOf' | 'immutableIdsOf'>;
type Named = Pick<NodeFacts, 'identitySources' | 'created'>;

/**
 * Compares the machine with those that the identity sources name. Sources that name no machine of this cloud say
 * nothing either way.
 */
const byMachine = ({ identitySources }: Named, { machine }: MachineFacts, { machineOf }: IdentityRules): Identity => {
  const named = identitySources.map(machineOf).filter((id) => id !== null);
  if (named.some((id) => id !== machine)) return 'contradicted';
  return named.length > 0 ? 'proven' : 'silent';
};

/**
 * Compares the incarnation where names are reused. An identity source of the immutable id has to name the machine that
 * has the name now. Without such a source, a Node that was created later than this machine cannot be that of an earlier
 * machine.
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
 * Returns whether an identity source names the machine and none names another. It leaves open which of several machines
 * of the same name is meant.
 */
export const namesOnlyThisMachine = (node: Named, machine: MachineFacts, identityRules: IdentityRules): boolean =>
  byMachine(node, machine, identityRules) === 'proven';

/**
 * Returns whether the Node is the machine's. Node names are reused, so an identity source of the immutable id has to
 * name the machine, and none may name another.
 */
export const proveIdentity = (node: Named, machine: MachineFacts, identityRules: IdentityRules): Identity => {
  const machines = byMachine(node, machine, identityRules);
  return machines === 'proven' ? byIncarnation(node, machine, identityRules) : machines;
};

/** Returns the command with which a person ends the fence of a Node that Cloudfence cannot judge. */
export const acceptCommand = ({ name }: Pick<NodeFacts, 'name'>): string =>
  `\`cloudfence release ${name} --accept "<what you checked>"\``;

/** Returns the clause with the command that ends a fence of ours on this Node, or an empty text if there is none. */
export const acceptHint = (node: NodeFacts | null): string =>
  node && bearsFence(node) && node.tombstone === null
    ? `. Look at the machine, then ${acceptCommand(node)} ends the fence`
    : '';

/** Returns the machine, as it was looked at, as the target of a call. The call reaches no later machine of its name. */
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
        `${source.source}${source.driver ? ` (${source.driver})` : ''}: ${identityRules.machineOf(source) ?? source.value}`,
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
          `Node ${node.name} names other machines besides ${inWords(view.machine)}: ${spelledOut(node, view.identityRules)}`,
        ),
      );
    case 'silent':
      return refuse(
        because(
          'identity-unproven',
          `nothing on Node ${node.name} names ${inWords(view.machine)}; run cloudfence doctor for the remedy${acceptHint(node)}`,
        ),
      );
  }
};

/** Refuses to act on any Node if more than one names the machine. */
export const ambiguousIdentity: Rule = ({ ambiguity }) => (ambiguity ? refuse(ambiguity) : null);

/**
 * Refuses the record of a fence if it cannot be read or names another machine. It was not written for this fence: a
 * person must look.
 */
export const doubtfulRecord: Rule = ({ cluster: { node }, machine }) => {
  if (!node || node.recordText === null || !bearsFence(node)) return null;
  const remedy = `look at the machine, then ${acceptCommand(node)} ends the fence`;
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
 * The functions below find the witnesses for a machine that its cloud does not know. Only a disk that Kubernetes saw
 * attached to exactly this machine is a witness. A disk that a pod merely wants was never there and knows nothing.
 */

type EvidenceView = Pick<View, 'cluster' | 'identityRules' | 'machine' | 'remembered'>;

/**
 * Returns whether an attachment belongs to this machine if its attacher noted the Node's name and no machine. It does
 * if it belongs to this Node and is not older than the Node. If no Node exists, the disks have already been asked for
 * the owner.
 */
const isOfThisNode = ({ cluster: { node, nodeName } }: EvidenceView, noted: string, created: number): boolean =>
  noted === nodeName && created >= (node?.created ?? 0);

/** Returns whether the attacher noted this machine. Null if the attacher noted nothing, and so names no machine. */
const notedHere = (view: EvidenceView, { source, created }: AttachmentFacts): boolean | null => {
  if (source === null) return null;
  const noted = view.identityRules.machineOf(source);
  return noted === null ? isOfThisNode(view, source.value, created) : noted === view.machine.machine;
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
 * Returns whether Kubernetes saw the volume's disk attached to exactly this machine: by its attachment, by the Node's
 * status, or when our fence began.
 */
export const wasAttachedToMachine = (view: EvidenceView, volume: VolumeFacts): boolean => {
  const { attachment, reported } = volume;
  const here = attachment && notedHere(view, attachment);
  if (here === false) return false;
  if (attachment?.attached && (here || reported)) return true;
  return (attachment === null && reported) || isRecorded(view, volume);
};

/**
 * Returns whether a volume is neither attached nor a PersistentVolume any more. Kubernetes has then allowed the
 * deletion of its disk.
 */
export const isVolumeGone = ({ attachment, persistentVolume }: VolumeFacts): boolean =>
  attachment === null && persistentVolume === null;

/**
 * Returns whether the machine was gone when this fence began: the cloud did not know it, and its disks confirmed that
 * before anything freed them. A person's statement confirms nothing of that kind.
 */
export const beganWithoutMachine = ({ generation, phase, vouched }: FenceRecord): boolean =>
  generation === null && vouched === null && (phase === 'fencing' || phase === 'fenced');

/**
 * Returns whether the Node has the fence of a machine that was there when the fence began. Such a fence frees the disks,
 * and the machine may have been started since. So a disk that it may have freed is no witness any more, also if someone
 * has removed the fence's label.
 */
export const mayHaveFreed = ({ cluster: { node } }: EvidenceView): boolean =>
  node !== null && node.record !== null && !beganWithoutMachine(node.record);

/**
 * Returns whether a fence has not freed the volume, although it may have freed others. Kubernetes deletes an attachment
 * before it detaches the disk, and Cloudfence detaches no disk before that.
 */
const isNotFreed = (view: EvidenceView, { attachment }: VolumeFacts): boolean =>
  attachment !== null &&
  attachment.attached &&
  attachment.deletingSince === null &&
  notedHere(view, attachment) === true;

interface WitnessDisk {
  readonly disk: DiskId;
  readonly attachment: AttachmentFacts | null;
}

const witnesses = (view: EvidenceView): readonly WitnessDisk[] => {
  const isWitness = mayHaveFreed(view) ? isNotFreed : wasAttachedToMachine;
  return view.cluster.volumes.flatMap((volume) => {
    const disk = view.identityRules.diskOf(volume);
    return disk !== null && isWitness(view, volume) && !isVolumeGone(volume)
      ? [{ disk, attachment: volume.attachment }]
      : [];
  });
};

/** Returns the known disks that can show whether the machine is gone. Cloudfence asks all of them. */
export const witnessDisks = (view: EvidenceView): readonly DiskId[] => [
  ...new Set(witnesses(view).map(({ disk }) => disk)),
];

/** Returns the uids of the attachments that make these disks witnesses. */
export const witnessAttachments = (view: EvidenceView): readonly string[] =>
  witnesses(view).flatMap(({ attachment }) => attachment?.uid ?? []);
