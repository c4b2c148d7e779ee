import type { Clock } from '../../fencing/loop/ports.ts';
import { apiOf, createAwsSandbox, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import type { Store } from '../../sandbox/cluster/store.ts';
import { openEc2Server } from '../../sandbox/ec2/ec2-server.ts';
import type { Authority } from '../../sandbox/ec2/iam/authority.ts';
import { databaseOnTwoNodes, type DatabaseScene } from '../../sandbox/scenes/ec2-database.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { longAgo, openCluster, untilNow } from './live-cloud.ts';

/** A sandbox behind its HTTP servers, for programs that do not know that it is one. */
export interface LiveSandbox {
  readonly world: AwsWorld;
  readonly scene: DatabaseScene;
  readonly folder: string;
  readonly kubeconfig: string;
  /** The environment of a child process that uses this EC2. */
  readonly environment: Readonly<Record<string, string>>;
  /** The time of the sandbox, for a CLI in this process. */
  readonly clock: Clock;
  readonly close: () => Promise<void>;
}

/**
 * Plays the scene in virtual time up to now, and then opens the servers. `faults` are those of the API server.
 * `authority` protects EC2. `furnish` adds to the scene ten minutes ago, and `prepare` changes it two minutes ago. The
 * API server answers from what `shown` makes of the cluster.
 */
export const openLiveSandbox = async (
  prepare: (world: AwsWorld, scene: DatabaseScene) => void = () => undefined,
  faults: Faults = {},
  authority: Authority | null = null,
  furnish: (world: AwsWorld) => void = () => undefined,
  shown: (cluster: Store) => Store = (cluster) => cluster,
): Promise<LiveSandbox> => {
  const world = createAwsSandbox(longAgo());
  const scene = databaseOnTwoNodes(world);
  furnish(world);
  untilNow(world, 120_000);
  prepare(world, scene);
  untilNow(world, 0);
  const ec2 = await openEc2Server(world, 0, undefined, authority);
  const api = apiOf(world, { faults });
  const { close, ...cluster } = await openCluster(world, { ...api, store: shown(api.store) });
  return {
    world,
    scene,
    ...cluster,
    environment: {
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_ACCESS_KEY_ID: 'sandbox',
      AWS_SECRET_ACCESS_KEY: 'sandbox',
      AWS_REGION: 'eu-west-1',
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    close: async () => void (await Promise.all([close(), ec2.close()])),
  };
};

/** The machine that has the disk of the database has stopped. */
export const holderStopped = (world: AwsWorld, { holder }: DatabaseScene): void => {
  stopMachine(world, holder);
  world.advance(30_000);
};
