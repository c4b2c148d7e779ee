import type { Ground } from './ground.ts';
import type { KubeletMemory } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';

/** The guest executes this boot's kubelet, whether or not the API server hears of it. */
export const runsOn = (ground: Ground, kubelet: KubeletMemory): boolean => {
  const { machine } = kubelet.describes;
  return kubelet.started && ground.guestAlive(machine) && ground.bootOf(machine) === kubelet.boot;
};

/** The kubelet runs, has not been ended by a shutdown, and is not cut off. */
export const reachesApi = (ground: Ground, world: ClusterWorld, kubelet: KubeletMemory): boolean => {
  const { knobs } = world.parts.cluster;
  if (!runsOn(ground, kubelet) || knobs.partitioned.includes(kubelet.describes.name)) return false;
  return !(knobs.shutdownKillsKubelet === 'early' && ground.guestStopping(kubelet.describes.machine));
};
