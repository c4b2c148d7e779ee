import type { PodObject } from '../objects.ts';
import { all } from '../standing.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { wantsVolumes } from './pods.ts';
import type { AttachableVolume } from './volumes.ts';
import { volumesOfPod } from './volumes.ts';

export interface DesiredVolume {
  readonly volume: AttachableVolume;
  readonly node: string;
  readonly pods: readonly PodObject[];
}

export const placeOf = (unique: string, node: string): string => `${unique}|${node}`;

/** Which volume is wanted on which node, by pods that are bound and still want it. */
export const desiredVolumes = (world: ClusterWorld): ReadonlyMap<string, DesiredVolume> => {
  const desired = new Map<string, DesiredVolume>();
  for (const pod of all(world, 'pods')) {
    const node = pod.spec.nodeName;
    const volumes = node && wantsVolumes(pod) ? volumesOfPod(world, pod) : 'unbound';
    if (!node || volumes === 'unbound') continue;
    for (const volume of volumes) {
      const key = placeOf(volume.unique, node);
      desired.set(key, { volume, node, pods: [...(desired.get(key)?.pods ?? []), pod] });
    }
  }
  return desired;
};
