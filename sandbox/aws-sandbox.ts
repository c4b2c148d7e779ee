import { ADMIN_TOKEN, apiServerOf, type ApiServer } from './cluster/api/server.ts';
import { clusterActors, startControlPlane } from './cluster/controllers/actors.ts';
import type { ClusterParts } from './cluster/cluster-world.ts';
import { reactionsOf } from './cluster/reactions.ts';
import { emptyCluster, storeOf } from './cluster/store.ts';
import { ec2Actors } from './ec2/actors.ts';
import { emptyEc2, type WithEc2 } from './ec2/state.ts';
import { underlyingEc2 } from './ec2/underlying-cloud.ts';
import { createWorld, type World } from './world.ts';

/** One world with a Kubernetes cluster whose nodes are EC2 instances. */
export type AwsParts = ClusterParts & WithEc2;
export type AwsWorld = World<AwsParts>;

export const SANDBOX_REGION = 'eu-west-1';
export const SANDBOX_ACCOUNT = '111122223333';
export const EBS = 'ebs.csi.aws.com';

/** Returns an empty cluster with a running control plane, in an empty EC2 region. */
export const createAwsSandbox = ({ seed, now }: { readonly seed: number; readonly now: number }): AwsWorld => {
  const parts: AwsParts = {
    cluster: emptyCluster(),
    ec2: emptyEc2({ account: SANDBOX_ACCOUNT, region: SANDBOX_REGION }),
  };
  const world: AwsWorld = createWorld<AwsParts>({ ...clusterActors<AwsParts>(underlyingEc2), ...ec2Actors() }, parts, {
    now,
    seed,
  });
  startControlPlane(world);
  return world;
};

/** The cluster's API server, for the HTTP server and the in-process client. */
export const apiOf = (
  world: AwsWorld,
  settings: Partial<Pick<ApiServer, 'users' | 'faults' | 'version'>> = {},
): ApiServer =>
  apiServerOf({ store: storeOf(world.parts.cluster), now: world.now, onWrite: reactionsOf(world), ...settings });

export { ADMIN_TOKEN };
