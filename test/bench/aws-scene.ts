import { readFile } from 'node:fs/promises';
import { type AwsWorld, EBS, SANDBOX_ACCOUNT } from '../../sandbox/aws-sandbox.ts';
import { addDeployment, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { listObjects } from '../../sandbox/cluster/get-objects.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine, type DatabaseScene } from '../../sandbox/scenes/ec2-database.ts';
import { type LiveSandbox, openLiveSandbox } from '../cli/live-sandbox.ts';
import type { Load } from '../network/scene.ts';
import { openStandIn } from '../providers/stand-in.ts';
import { stopMachine } from '../simulation/incidents.ts';
import { amid, crowdOf, keptAlive } from './crowd.ts';
import { someNodeIsFenced, type FunctionScene } from './function-scene.ts';
import { openTlsFront, trusting } from './tls-front.ts';

/** Machines that have been off for two minutes, and the environment of the Lambda function that has to fence them. */

const SECRET = 'bench-kubeconfig';

/**
 * The part of Secrets Manager that one secret needs:
 * https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
const openSecret = (text: string) =>
  openStandIn(() => ({
    body: { Name: SECRET, SecretString: text },
    headers: { 'content-type': 'application/x-amz-json-1.1' },
  }));

/** The environment of a Lambda function that serves this sandbox. */
const behindFronts = async (sandbox: LiveSandbox): Promise<Pick<FunctionScene, 'environment' | 'close'>> => {
  const secret = await openSecret(await readFile(sandbox.kubeconfig, 'utf8'));
  const fronts = {
    ec2: await openTlsFront(sandbox.environment['AWS_ENDPOINT_URL_EC2'] ?? ''),
    secrets: await openTlsFront(secret.url),
  };
  return {
    environment: {
      ...sandbox.environment,
      AWS_ENDPOINT_URL_EC2: fronts.ec2.url,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: fronts.secrets.url,
      ...(await trusting(sandbox.folder, [fronts.ec2, fronts.secrets])),
      CLOUDFENCE_SETTINGS: JSON.stringify({ clusters: [{ name: 'sandbox', secret: SECRET }] }),
      CLOUDFENCE_ACCOUNT: SANDBOX_ACCOUNT,
    },
    close: async () => {
      fronts.ec2.close();
      fronts.secrets.close();
      await Promise.all([secret.close(), sandbox.close()]);
    },
  };
};

const stopHolder = (world: AwsWorld, { holder }: DatabaseScene): void => stopMachine(world, holder);

const asScene = async (sandbox: LiveSandbox): Promise<FunctionScene> => ({
  machine: sandbox.scene.holder,
  isFenced: () => someNodeIsFenced(sandbox.world.parts.cluster.objects),
  ...(await behindFronts(sandbox)),
});

export const openAwsScene = async (): Promise<FunctionScene> => asScene(await openLiveSandbox(stopHolder));

/** The machine of a database, which has been off for two minutes, among this many other Nodes. */
export const openCrowdedScene = async (others: number): Promise<FunctionScene> => {
  const sandbox = await openLiveSandbox(
    stopHolder,
    {},
    null,
    () => undefined,
    (living) => amid(living, keptAlive(crowdOf(others, Date.now()), Date.now)),
  );
  return asScene(sandbox);
};

/** Machines with the same load that have been off for two minutes. */
export interface LoadedMachines extends Pick<FunctionScene, 'environment' | 'close'> {
  readonly machines: readonly string[];
  /** How many pods and attachments are still on their Nodes. */
  readonly left: () => Load;
}

const diskIn = (world: AwsWorld) => {
  const handle = addVolume(world);
  return { driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' };
};

/** Adds a machine whose Node has the load. All pods are bound to the Node, so they cannot come back. */
const addLoaded = (world: AwsWorld, { pods, volumes }: Load): string => {
  const machine = addMachine(world);
  const spec = { nodeSelector: { 'kubernetes.io/hostname': nodeOf(world, machine) } };
  for (let nth = 0; nth < volumes; nth += 1)
    addStatefulSet(world, { name: `db-${machine}-${nth}`, disks: [diskIn(world)], spec });
  if (pods > volumes) addDeployment(world, { name: `web-${machine}`, replicas: pods - volumes, spec });
  return machine;
};

const nodeOf = (world: AwsWorld, machine: string): string => instanceIn(world, machine)?.privateDnsName ?? '';

/** For each machine with the load, so many other machines live in the cluster. The cap then permits all fences. */
const OTHERS = 5;

export const openLoadedMachines = async (count: number, load: Load): Promise<LoadedMachines> => {
  const machines: string[] = [];
  const sandbox = await openLiveSandbox(
    (world) => machines.forEach((machine) => stopMachine(world, machine)),
    {},
    null,
    (world) => {
      for (let nth = 0; nth < count; nth += 1) machines.push(addLoaded(world, load));
      for (let nth = 0; nth < OTHERS * count; nth += 1) addMachine(world);
      settle(world);
    },
  );
  const { world } = sandbox;
  const nodes = new Set(machines.map((machine) => nodeOf(world, machine)));
  const left = (): Load => ({
    pods: listObjects(world, 'pods').filter(({ spec }) => nodes.has(spec.nodeName ?? '')).length,
    volumes: listObjects(world, 'volumeattachments').filter(({ spec }) => nodes.has(spec.nodeName)).length,
  });
  const { pods, volumes } = left();
  if (pods !== count * load.pods || volumes !== count * load.volumes)
    throw new Error(`the load was not placed: ${pods} pods and ${volumes} volumes are on ${count} Nodes`);
  return { machines, left, ...(await behindFronts(sandbox)) };
};
