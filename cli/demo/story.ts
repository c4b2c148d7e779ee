import type { AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { all, standing } from '../../sandbox/cluster/controllers/desk.ts';
import type { NodeObject, PodObject } from '../../sandbox/cluster/objects.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { DATABASE_POD, type DatabaseScene } from '../../sandbox/scenes/database.ts';

/** What stood before the machine failed: by these uids one tells the old from the new. */
export interface Story extends DatabaseScene {
  /** The Node of the machine that fails. */
  readonly node: string;
  readonly nodeUid: string;
  readonly bootID: string;
  readonly boot: number;
  readonly podUid: string;
  readonly attachmentUid: string;
}

export const storyOf = (world: AwsWorld, scene: DatabaseScene): Story => {
  const name = scene.nodeOf(scene.holder);
  const node = standing(world, 'nodes', name);
  const attachment = all(world, 'volumeattachments').find(({ spec }) => spec.nodeName === name);
  return {
    ...scene,
    node: name,
    nodeUid: node?.metadata.uid ?? '',
    bootID: node?.status.nodeInfo?.bootID ?? '',
    boot: instanceIn(world, scene.holder)?.boot ?? 0,
    podUid: databasePod(world)?.metadata.uid ?? '',
    attachmentUid: attachment?.metadata.uid ?? '',
  };
};

/** The pod that bears the database's name now, old or new. */
export const databasePod = (world: AwsWorld): PodObject | undefined => standing(world, 'pods', DATABASE_POD.name, DATABASE_POD.namespace);

/** The very Node object of before, if it still stands. */
export const oldNode = (world: AwsWorld, { node, nodeUid }: Story): NodeObject | undefined => {
  const known = standing(world, 'nodes', node);
  return known?.metadata.uid === nodeUid ? known : undefined;
};

export const oldAttachmentStands = (world: AwsWorld, { attachmentUid }: Story): boolean =>
  all(world, 'volumeattachments').some(({ metadata }) => metadata.uid === attachmentUid);
