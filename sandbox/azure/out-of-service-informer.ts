import { writerAs } from '../cluster/controllers/object-writer.ts';
import { listObjects } from '../cluster/get-objects.ts';
import type { ClusterParts } from '../cluster/cluster-world.ts';
import { isReady } from '../cluster/controllers/nodes.ts';
import { addTaint, dropTaint, hasTaint, outOfService, shutDown } from '../cluster/controllers/taints.ts';
import type { NodeObject } from '../cluster/objects.ts';
import type { World } from '../world.ts';
import type { WithAzure } from './state.ts';

const EVERY_MS = 5_000;
/**
 * The form of the taint that Azure's controller adds. It removes a taint of exactly this form, even if someone else
 * added it.
 */
const OWN = { key: outOfService, effect: 'NoExecute' } as const;

export const WATCH_NODES = 'azure/out-of-service';

type Watched = World<ClusterParts & WithAzure>;

const since = (node: NodeObject): number =>
  Date.parse((node.spec.taints ?? []).find(({ key }) => key === shutDown)?.timeAdded ?? '');

const judge = (world: Watched, node: NodeObject, late: number): void => {
  const writer = writerAs(world, 'azure-cloud-controller-manager');
  const stands = hasTaint(node, OWN.key, OWN.effect);
  if (isReady(node) && stands) writer.change('nodes', node, (draft) => dropTaint(draft, OWN.key, OWN.effect));
  if (!isReady(node) && !stands && world.now() - since(node) >= late)
    writer.change('nodes', node, (draft) => addTaint(draft, OWN));
};

/**
 * Azure's cloud controller sets the out-of-service taint on a Node that is not Ready and shut down. It does so late,
 * because it uses a cache, and removes the taint as soon as the Node is Ready.
 * https://github.com/kubernetes-sigs/cloud-provider-azure
 */
export const watchNodes = (world: Watched): void => {
  world.schedule(WATCH_NODES, EVERY_MS);
  const { outOfServiceAfter } = world.parts.azure.knobs;
  if (outOfServiceAfter === null) return;
  for (const node of listObjects(world, 'nodes')) judge(world, node, outOfServiceAfter);
};
