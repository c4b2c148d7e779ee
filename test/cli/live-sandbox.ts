import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { ADMIN_TOKEN, apiOf, createAwsSandbox, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { openHttpsDoor } from '../../sandbox/cluster/api/https-door.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { openHttpDoor } from '../../sandbox/ec2/http-door.ts';
import type { Authority } from '../../sandbox/ec2/iam/authority.ts';
import { databaseOnTwoNodes, type DatabaseScene } from '../../sandbox/scenes/ec2-database.ts';

/** A sandbox that lives in real time behind its HTTP doors, for programs that know nothing of it. */
export interface LiveSandbox {
  readonly world: AwsWorld;
  readonly scene: DatabaseScene;
  readonly folder: string;
  readonly kubeconfig: string;
  /** The environment of a child process that is to meet this EC2. */
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

const TICK_MS = 10;

/** Virtual time keeps step with the wall clock, so that Leases and time-outs mean what they say. */
const keepTime = (world: AwsWorld): (() => void) => {
  const timer = setInterval(() => world.advance(Math.max(0, Date.now() - world.now())), TICK_MS);
  return () => clearInterval(timer);
};

const kubeconfigFor = (server: string, ca: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'sandbox',
    clusters: [{ name: 'sandbox', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'admin', user: { token: ADMIN_TOKEN } }],
    contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user: 'admin' } }],
  });

/** The scene plays in virtual time up to now; then the doors open. `faults` are those of the API server, `authority` guards EC2. */
export const openLiveSandbox = async (
  prepare: (world: AwsWorld, scene: DatabaseScene) => void = () => undefined,
  faults: Faults = {},
  authority: Authority | null = null,
): Promise<LiveSandbox> => {
  const world = createAwsSandbox({ seed: 3, now: Date.now() - 600_000 });
  const scene = databaseOnTwoNodes(world);
  world.advance(Date.now() - 120_000 - world.now());
  prepare(world, scene);
  world.advance(Math.max(0, Date.now() - world.now()));
  const [api, ec2] = await Promise.all([openHttpsDoor(apiOf(world, { faults })), openHttpDoor(world, 0, undefined, authority)]);
  const folder = await mkdtemp(path.join(tmpdir(), 'cloudfence-'));
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(api.url, api.caData));
  const stop = keepTime(world);
  return {
    world,
    scene,
    folder,
    kubeconfig,
    environment: { AWS_ENDPOINT_URL_EC2: ec2.url, AWS_ACCESS_KEY_ID: 'sandbox', AWS_SECRET_ACCESS_KEY: 'sandbox', AWS_REGION: 'eu-west-1', AWS_EC2_METADATA_DISABLED: 'true' },
    close: async () => {
      stop();
      await Promise.all([api.close(), ec2.close(), rm(folder, { recursive: true })]);
    },
  };
};
