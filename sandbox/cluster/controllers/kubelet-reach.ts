import type { CloudView } from './cloud-view.ts';
import type { KubeletMemory } from './memory.ts';
import type { ClusterWorld } from '../cluster-world.ts';

/** Returns whether the guest runs the kubelet of this boot, even if the kubelet cannot reach the API server. */
export const runsOn = (cloudView: CloudView, kubelet: KubeletMemory): boolean => {
  const { machine } = kubelet.describes;
  return kubelet.started && cloudView.guestAlive(machine) && cloudView.bootOf(machine) === kubelet.boot;
};

/** Returns whether the kubelet runs, no shutdown has ended it, and it reaches the API server. */
export const reachesApi = (cloudView: CloudView, world: ClusterWorld, kubelet: KubeletMemory): boolean => {
  const { knobs } = world.parts.cluster;
  if (!runsOn(cloudView, kubelet) || knobs.partitioned.includes(kubelet.describes.name)) return false;
  return !(knobs.shutdownKillsKubelet === 'early' && cloudView.guestStopping(kubelet.describes.machine));
};
