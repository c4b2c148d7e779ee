import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { standing } from '../../sandbox/cluster/controllers/desk.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
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

export const atTheEnd = (world: AwsWorld, story: Story): AtTheEnd => {
  const node = standing(world, 'nodes', story.node);
  return {
    disk: (volumeIn(world, story.volume)?.attachments ?? []).map(({ instance }) => ({ instance, state: instanceIn(world, instance)?.state ?? 'unknown' })),
    pod: podAtTheEnd(world, story),
    harm: world.parts.ec2.harm.map(({ what }) => what),
    leftOnNode: node ? oursOn(node) : null,
  };
};

const podAtTheEnd = (world: AwsWorld, { node, holder, spare }: Story): PodAtTheEnd | null => {
  const pod = databasePod(world);
  if (!pod) return null;
  const machine = pod.spec.nodeName === node ? holder : spare;
  return {
    node: pod.spec.nodeName ?? null,
    phase: pod.status.phase ?? 'Unknown',
    deleting: pod.metadata.deletionTimestamp !== undefined,
    machineRuns: pod.spec.nodeName !== undefined && instanceIn(world, machine)?.state === 'running',
  };
};
