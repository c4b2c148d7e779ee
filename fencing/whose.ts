import type { ClusterFacts, VolumeFacts } from './cluster-facts.ts';
import type { Known } from './known.ts';
import type { Holding, MachineId } from './machine.ts';

/**
 * Attachments to a Node that is gone and that name no machine. A Node's name alone proves nothing, for names are reused: the
 * disks below tell whose they were.
 */

type Whose = Pick<Known, 'reading' | 'record'> & { readonly request: Pick<Known['request'], 'machine'> };

const recordOf = ({ record, request }: Whose) => (record?.machine === request.machine ? record : null);

/** The machine that the attacher noted down, or null when what it noted speaks of none of this cloud. */
const notedOn = ({ attachment }: VolumeFacts, { reading }: Whose): MachineId | null => (attachment?.carrier ? reading.machineOf(attachment.carrier) : null);

const isRecorded = ({ attachmentName }: VolumeFacts, whose: Whose): boolean =>
  recordOf(whose)?.volumes.some(({ attachment }) => attachment === attachmentName) ?? false;

/** Attached volumes of a Node that is gone of which neither an attacher nor a fence before said whose they were; one word is enough for all. */
export const silentVolumes = ({ node, volumes }: ClusterFacts, whose: Whose): readonly VolumeFacts[] =>
  node || volumes.some((volume) => notedOn(volume, whose) === whose.request.machine) ? [] : volumes.filter((volume) => volume.attachment && !isRecorded(volume, whose));

/**
 * One disk that the machine holds speaks for all. Without one, all of them have to be free, and Kubernetes must have seen one
 * of them attached: a disk that was merely to be attached was never there. One that somebody else holds speaks against all:
 * the name may be another machine's by now.
 */
const speakFor = (machine: MachineId, volumes: readonly VolumeFacts[], { reading }: Whose, holdings: readonly Holding[]): boolean => {
  const holders = volumes.map((volume) => holdings.find(({ disk }) => disk === reading.diskOf(volume))?.by ?? null);
  if (holders.some((by) => by !== null && by.length > 0 && !by.includes(machine))) return false;
  const wasAttached = volumes.some(({ attachment }) => attachment?.attached);
  return holders.some((by) => by?.includes(machine)) || (wasAttached && holders.every((by) => by?.length === 0));
};

/** The same facts without what only the silent volumes brought in. */
const withoutSilent = (facts: ClusterFacts, silent: readonly VolumeFacts[], whose: Whose): ClusterFacts => {
  const spoken = facts.volumes.filter((volume) => !silent.includes(volume));
  const attached = new Set(spoken.filter(({ attachment }) => attachment !== null).map(({ key }) => key));
  const noted = new Set(recordOf(whose)?.pods.map(({ uid }) => uid));
  const pods = facts.pods.filter(({ uid, volumes, unresolved }) => noted.has(uid) || unresolved.length > 0 || volumes.some((key) => attached.has(key)));
  const wanted = new Set(pods.flatMap(({ volumes }) => volumes));
  return { ...facts, pods, volumes: spoken.filter((volume) => isRecorded(volume, whose) || attached.has(volume.key) || wanted.has(volume.key)) };
};

/** What of it is this machine's, by the word of the disks. Doubt leaves all that is silent out. */
export const ownLeftovers = (facts: ClusterFacts, silent: readonly VolumeFacts[], whose: Whose, holdings: readonly Holding[]): ClusterFacts =>
  speakFor(whose.request.machine, silent, whose, holdings) ? facts : withoutSilent(facts, silent, whose);
