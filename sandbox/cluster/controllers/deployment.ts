import { writerAs } from './object-writer.ts';
import { listObjects } from '../get-objects.ts';
import type { ClusterWorld } from '../cluster-world.ts';
import { isActive, ownedBy, podOf, randomSuffix } from './pods.ts';

/**
 * Keeps the requested number of active pods, and replaces a pod that terminates or has ended. In the sandbox, there is
 * no ReplicaSet in between.
 */
export const keepDeployment = (world: ClusterWorld, key: string): void => {
  const deployment = world.parts.cluster.objects.deployments[key];
  if (!deployment || deployment.metadata.deletionTimestamp !== undefined) return;
  const active = listObjects(world, 'pods').filter((pod) => ownedBy(pod, deployment) && isActive(pod)).length;
  for (let missing = deployment.spec.replicas - active; missing > 0; missing -= 1) {
    const name = `${deployment.metadata.name}-${randomSuffix(world)}`;
    writerAs(world, 'replicaset-controller').create('pods', podOf(deployment, name, deployment.spec.template.spec));
  }
};
