import type { VolumeHandle } from '../fencing/model/machine.ts';
import {
  ifFound,
  type NodeLocation,
  type PodView,
  type ReadResult,
  type TwinVolume,
  type VolumeView,
} from './model/facts.ts';
import type { DiagnosisReading } from './ports.ts';

/** Finds another PersistentVolume with the same disk: of another claim of the pod, of an attachment, or on its Node. */

export interface PodVolume {
  readonly pod: PodView;
  readonly volume: ReadResult<VolumeView>;
  readonly handle: VolumeHandle | null;
  readonly target: NodeLocation | null;
  readonly holders: readonly NodeLocation[];
}

const isSameVolume = (one: VolumeHandle | null, other: VolumeHandle | null): boolean =>
  one !== null && one.driver === other?.driver && one.handle === other.handle;

const inPod = ({ pod, handle, volume }: PodVolume, all: readonly PodVolume[]): TwinVolume | null => {
  const own = ifFound(volume)?.name;
  const beside = all.find(
    (other) => other.pod.uid === pod.uid && isSameVolume(other.handle, handle) && ifFound(other.volume)?.name !== own,
  );
  const name = ifFound(beside?.volume ?? null)?.name;
  return name === undefined ? null : { name, isInPod: true, isOnNode: true, read: beside?.volume ?? null };
};

const nameAt = (location: NodeLocation | null): string | null =>
  ifFound(location?.attachment ?? null)?.volumeName ?? null;

const ofAttachment = async (
  { volume, target, holders }: PodVolume,
  reading: DiagnosisReading,
): Promise<TwinVolume | null> => {
  const own = ifFound(volume)?.name;
  const name = [target, ...holders].map(nameAt).find((one) => one !== null && one !== own) ?? null;
  if (name === null) return null;
  return { name, isInPod: false, isOnNode: nameAt(target) === name, read: await reading.volume(name) };
};

/** The attachment names only the volume that came first, so only a list of all volumes shows the other one. */
const onNode = async (
  { volume, handle, target, pod }: PodVolume,
  reading: DiagnosisReading,
): Promise<TwinVolume | null> => {
  if (pod.runs || pod.deletionEnds !== null || ifFound(target?.attachment ?? null)?.attached !== true) return null;
  const own = ifFound(volume)?.name;
  const same = await reading.volumesOn((one) => isSameVolume(one, handle));
  for (const other of same === 'unread' ? [] : same) {
    const { claim, name } = other;
    const users = claim && name !== own ? await reading.podsIn(claim.namespace) : [];
    const isUsed = ({ node, finished, claims }: PodView): boolean =>
      node === target?.nodeName && !finished && claims.includes(claim?.name ?? '');
    if (users.some(isUsed)) return { name, isInPod: false, isOnNode: true, read: other };
  }
  return null;
};

export const findTwin = async (
  chain: PodVolume,
  all: readonly PodVolume[],
  reading: DiagnosisReading,
): Promise<TwinVolume | null> =>
  inPod(chain, all) ?? (await ofAttachment(chain, reading)) ?? (await onNode(chain, reading));
