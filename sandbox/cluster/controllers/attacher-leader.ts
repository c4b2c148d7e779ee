import { listObjects } from '../get-objects.ts';
import type { CloudView } from './cloud-view.ts';
import { reachesApi } from './kubelet-reach.ts';
import type { ClusterWorld } from '../cluster-world.ts';

/** The leader lease of external-attacher. No other process takes over before the lease expires. */
const leaderLease = 15_000;

/** Returns whether a process of the external-attacher runs and leads. */
export const attacherRuns = (cloudView: CloudView, world: ClusterWorld): boolean => {
  const { knobs, memory } = world.parts.cluster;
  if (knobs.attacherDown) return false;
  if (knobs.attacherDeployment === '') return true;
  const live = livePods(cloudView, world);
  const leads = live.includes(memory.attacherLeader.uid);
  const next = leads ? memory.attacherLeader.uid : live[0];
  if (next === undefined || (!leads && world.now() < memory.attacherLeader.until)) return false;
  memory.attacherLeader = { uid: next, until: world.now() + leaderLease };
  return true;
};

/** The pods of its Deployment whose containers run on a guest that reaches the API server. */
const livePods = (cloudView: CloudView, world: ClusterWorld): readonly string[] => {
  const [namespace, name] = world.parts.cluster.knobs.attacherDeployment.split('/');
  const owned = listObjects(world, 'pods').filter(
    ({ metadata }) =>
      metadata.namespace === namespace &&
      metadata.ownerReferences?.some((owner) => owner.kind === 'Deployment' && owner.name === name),
  );
  const uids = new Set(owned.map(({ metadata }) => metadata.uid));
  return Object.values(world.parts.cluster.memory.kubelets)
    .filter((kubelet) => reachesApi(cloudView, world, kubelet))
    .flatMap((kubelet) => Object.values(kubelet.pods))
    .filter((guest) => guest.stage === 'running' && uids.has(guest.uid))
    .map((guest) => guest.uid);
};
