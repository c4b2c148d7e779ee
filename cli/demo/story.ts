import { all, standing } from '../../sandbox/cluster/standing.ts';
import type { ClusterParts } from '../../sandbox/cluster/cluster-world.ts';
import type { NodeObject, PodObject } from '../../sandbox/cluster/objects.ts';
import { DATABASE_POD } from '../../sandbox/scenes/database-pods.ts';
import type { World } from '../../sandbox/world.ts';
import type { CloudStage, Scene } from './stage.ts';

/** What stood before the machine failed: by these uids one tells the old from the new. */
export interface Story<P extends ClusterParts = ClusterParts> extends Scene {
  /** The cloud that it plays on. */
  readonly stage: CloudStage<P>;
  /** The Node of the machine that fails. */
  readonly node: string;
  readonly nodeUid: string;
  readonly bootID: string;
  readonly boot: number;
  readonly podUid: string;
  readonly attachmentUid: string;
}

export const storyOf = <P extends ClusterParts>(world: World<P>, scene: Scene, stage: CloudStage<P>): Story<P> => {
  const name = scene.nodeOf(scene.holder);
  const node = standing(world, 'nodes', name);
  const attachment = all(world, 'volumeattachments').find(({ spec }) => spec.nodeName === name);
  return {
    ...scene,
    stage,
    node: name,
    nodeUid: node?.metadata.uid ?? '',
    bootID: node?.status.nodeInfo?.bootID ?? '',
    boot: stage.machine(world, scene.holder).boot,
    podUid: databasePod(world)?.metadata.uid ?? '',
    attachmentUid: attachment?.metadata.uid ?? '',
  };
};

/** The pod that bears the database's name now, old or new. */
export const databasePod = (world: World<ClusterParts>): PodObject | undefined => standing(world, 'pods', DATABASE_POD.name, DATABASE_POD.namespace);

/** The very Node object of before, if it still stands. */
export const oldNode = (world: World<ClusterParts>, { node, nodeUid }: Pick<Story, 'node' | 'nodeUid'>): NodeObject | undefined => {
  const known = standing(world, 'nodes', node);
  return known?.metadata.uid === nodeUid ? known : undefined;
};

export const oldAttachmentStands = (world: World<ClusterParts>, { attachmentUid }: Pick<Story, 'attachmentUid'>): boolean =>
  all(world, 'volumeattachments').some(({ metadata }) => metadata.uid === attachmentUid);
