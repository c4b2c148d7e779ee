import type { AttachmentFacts, NodeFacts, VolumeFacts } from '../cluster-facts.ts';
import type { DiskId } from '../machine.ts';
import type { View } from '../view.ts';

/**
 * Who can testify of a machine that its cloud does not know: only somebody who was there, which is a disk that Kubernetes saw
 * attached to this very machine. One that a pod merely wants was never there, and knows nothing.
 */

type Scene = Pick<View, 'cluster' | 'reading' | 'machine' | 'remembered'>;

/**
 * Of an attachment whose attacher noted the Node's name and no machine. It is of this machine where it is of this Node, and
 * no older than it; where no Node stands, the disks have been asked whose it was.
 */
const isOfThisNode = ({ cluster: { node, nodeName } }: Scene, { carrier, created }: AttachmentFacts): boolean =>
  carrier?.value === nodeName && created >= (node?.created ?? 0);

/** Null where the attacher has noted nothing, and so speaks of nobody. */
const notedHere = (scene: Scene, attachment: AttachmentFacts): boolean | null => {
  if (attachment.carrier === null) return null;
  const noted = scene.reading.machineOf(attachment.carrier);
  return noted === null ? isOfThisNode(scene, attachment) : noted === scene.machine.machine;
};

const recordOf = ({ cluster: { node }, remembered }: Scene): NodeFacts['record'] => (node ? (node.label === null ? null : node.record) : remembered);

const isRecorded = (scene: Scene, { attachmentName }: VolumeFacts): boolean => {
  const record = recordOf(scene);
  return record?.machine === scene.machine.machine && record.volumes.some(({ attachment, attached }) => attachment === attachmentName && attached === true);
};

/** Kubernetes saw its disk attached to this very machine: by its attachment, by the Node's status, or when our fence began. */
export const wasThere = (scene: Scene, volume: VolumeFacts): boolean => {
  const { attachment, reported } = volume;
  const here = attachment && notedHere(scene, attachment);
  if (here === false) return false;
  if (attachment?.attached && (here || reported)) return true;
  return (attachment === null && reported) || isRecorded(scene, volume);
};

/** A volume that is neither attached nor a PersistentVolume any more: Kubernetes has let its disk be deleted. */
export const isGone = ({ attachment, persistentVolume }: VolumeFacts): boolean => attachment === null && persistentVolume === null;

/** The disks that were attached to the machine, as far as anybody knows: all of them are asked. */
export const witnessesOf = (scene: Scene): readonly DiskId[] => {
  const there = scene.cluster.volumes.filter((volume) => wasThere(scene, volume) && !isGone(volume));
  return [...new Set(there.map((volume) => scene.reading.diskOf(volume)).filter((disk) => disk !== null))];
};
