import type { PodObject } from '../objects.ts';
import { listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { wantsVolumes } from './pods.ts';
import type { AttachableVolume } from './volumes.ts';
import { volumesOfPod } from './volumes.ts';

export interface DesiredVolume {
  readonly volume: AttachableVolume;
  readonly node: string;
  readonly pods: readonly PodObject[];
}

export const attachmentKey = (unique: string, node: string): string => `${unique}|${node}`;

/** The volumes that bound pods use, by node. */
export const desiredVolumes = (world: ClusterWorld): ReadonlyMap<string, DesiredVolume> => {
  const desired = new Map<string, DesiredVolume>();
  for (const pod of listObjects(world, 'pods')) {
    const node = pod.spec.nodeName;
    const volumes = node && wantsVolumes(pod) ? volumesOfPod(world, pod) : 'unbound';
    if (!node || volumes === 'unbound') continue;
    for (const volume of volumes) {
      const key = attachmentKey(volume.unique, node);
      desired.set(key, { volume, node, pods: [...(desired.get(key)?.pods ?? []), pod] });
    }
  }
  return desired;
};
