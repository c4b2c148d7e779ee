import { standing } from '../../sandbox/cluster/standing.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { World } from '../../sandbox/world.ts';
import { oursOn } from './ours.ts';
import { databasePod, type Story } from './story.ts';

export interface PodAtTheEnd {
  readonly node: string | null;
  readonly phase: string;
  readonly deleting: boolean;
  /** Below its node: whatever Kubernetes knows, a machine that is off runs no pod, and one that runs may run it on. */
  readonly machineRuns: boolean;
}

/** How a world stands when the watch is over. */
export interface AtTheEnd {
  /** Instances that hold the disk, with their states. */
  readonly disk: readonly { readonly instance: string; readonly state: string }[];
  readonly pod: PodAtTheEnd | null;
  readonly harm: readonly string[];
  /** What Cloudfence has left on the Node; null when there is no such Node (any more). */
  readonly leftOnNode: readonly string[] | null;
}

export const atTheEnd = <P extends ClusterParts>(world: World<P>, story: Story<P>): AtTheEnd => {
  const { stage } = story;
  const node = standing(world, 'nodes', story.node);
  return {
    disk: stage.holders(world, story.volume).map(({ instance }) => ({ instance, state: stage.machine(world, instance).state })),
    pod: podAtTheEnd(world, story),
    harm: stage.harm(world).map(({ what }) => what),
    leftOnNode: node ? oursOn(node) : null,
  };
};

const podAtTheEnd = <P extends ClusterParts>(world: World<P>, { node, holder, spare, stage }: Story<P>): PodAtTheEnd | null => {
  const pod = databasePod(world);
  if (!pod) return null;
  const machine = pod.spec.nodeName === node ? holder : spare;
  return {
    node: pod.spec.nodeName ?? null,
    phase: pod.status.phase ?? 'Unknown',
    deleting: pod.metadata.deletionTimestamp !== undefined,
    machineRuns: pod.spec.nodeName !== undefined && stage.machine(world, machine).power === 'running',
  };
};
