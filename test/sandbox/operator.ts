import { listObjects, getObject } from '../../sandbox/cluster/get-objects.ts';
import type { ClusterWorld } from '../../sandbox/cluster/cluster-world.ts';
import { addTaint, dropTaint, outOfService } from '../../sandbox/cluster/controllers/taints.ts';
import { podsOn } from '../../sandbox/cluster/controllers/volumes.ts';
import type { Taint } from '../../sandbox/cluster/objects.ts';
import { person } from './plain-cloud.ts';

/** What a person or a script does to a node by hand. */

export const taintOutOfService = (world: ClusterWorld, name: string, effect: Taint['effect']): void => {
  const node = getObject(world, 'nodes', name);
  if (node)
    person(world).change('nodes', node, (draft) =>
      addTaint(draft, { key: outOfService, value: 'nodeshutdown', effect }),
    );
};

export const untaint = (world: ClusterWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (node) person(world).change('nodes', node, (draft) => dropTaint(draft, outOfService));
};

export const forceDeletePods = (world: ClusterWorld, node: string): void => {
  for (const pod of podsOn(world, node)) person(world).remove('pods', pod, 0);
};

export const deleteNode = (world: ClusterWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (node) person(world).remove('nodes', node);
};

export const deleteAttachments = (world: ClusterWorld, node: string): void => {
  for (const attachment of listObjects(world, 'volumeattachments'))
    if (attachment.spec.nodeName === node) person(world).remove('volumeattachments', attachment);
};
