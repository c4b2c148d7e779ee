import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SANDBOX_REGION, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import type { Authority } from '../../sandbox/ec2/iam/authority.ts';
import { openLiveSandbox, type LiveSandbox } from '../cli/live-sandbox.ts';
import { openService } from '../infra/packaged-service.ts';
import { STAGE } from './access.ts';
import { manualActionsAt, type ManualActions } from './manual-actions.ts';
import { startMinistack, type Ministack } from './ministack.ts';
import { authorityOf, rolesAt, type Roles } from './roles.ts';
import { holdersIn, fenceIdOf, fenceStateOf, tagAll, type Holder, type FenceState } from './stopping-machines.ts';

/** Cloudfence as `serverless deploy` installs it on ministack, with EC2 and Kubernetes in the sandbox. */
export interface Installed extends Omit<ManualActions, 'storeSecret'> {
  readonly sandbox: LiveSandbox;
  readonly world: AwsWorld;
  readonly ministack: Ministack;
  readonly roles: Roles;
  /** The machine with the disk of this ordinal. */
  readonly holder: (ordinal: number) => Holder;
  readonly fenceStateOf: (holder: Holder) => FenceState;
  /** The id of the fence on its Node. Empty without a fence. */
  readonly fenceIdOf: (holder: Holder) => string;
  /** The state of its instance according to EC2. */
  readonly stateOf: (holder: Holder) => string | undefined;
  readonly violations: () => AwsWorld['parts']['ec2']['violations'];
  /** Any command of `serverless` on this install. */
  readonly serverless: (...args: readonly string[]) => Promise<{ readonly code: number | null; readonly said: string }>;
  /** The answer of a function to an event, by `serverless invoke -p <file>`. */
  readonly invoke: (name: string, event: unknown) => Promise<unknown>;
  /** Puts an EC2 state change on the event bus. */
  readonly tell: (machine: string, state: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Wanted {
  readonly holders: number;
  readonly faults?: Faults;
  /** Whether each function has only the permissions of its role, on ministack and on EC2. */
  readonly auth?: boolean;
  /** Parameters in addition to those of every test. */
  readonly params?: Readonly<Record<string, string>>;
  /** What happened two minutes before the deployment. */
  readonly before?: (world: AwsWorld, holders: readonly Holder[]) => void;
}

/** The tags that the cloud controller and the EBS driver set on their resources. */
export const TAGS = {
  instances: { 'kubernetes.io/cluster/sandbox': 'owned' },
  volumes: { 'ebs.csi.aws.com/cluster': 'true' },
};

const PLACE = ['--stage', STAGE, '--region', SANDBOX_REGION] as const;

/**
 * As many fences at the same time as these tests make, and a timeout of 10 s, after which the queue returns a message
 * within a minute.
 */
const paramsFor = (ec2Endpoint: string, { params = {} }: Wanted): readonly string[] =>
  Object.entries({
    ec2Endpoint,
    sweepEvery: '60m',
    timeout: '10s',
    policy: '{"cap":{"share":1,"atOnce":1}}',
    ...params,
  }).map(([name, value]) => `--param=${name}=${value}`);

const openCluster = async (
  { holders: count, faults, before = () => undefined }: Wanted,
  authority: Authority | null,
) => {
  let holders: readonly Holder[] = [];
  const sandbox = await openLiveSandbox(
    (world) => before(world, holders),
    faults,
    authority,
    // Long ago, because a machine that has run for less than five minutes is not powered off.
    (world) => {
      holders = holdersIn(world, count);
      tagAll(world, TAGS);
    },
  );
  return { sandbox, holders };
};

const invoking =
  (serverless: Installed['serverless'], folder: string): Installed['invoke'] =>
  async (name, event) => {
    const file = path.join(folder, `${name}.json`);
    await writeFile(file, JSON.stringify(event));
    const { code, said } = await serverless('invoke', '-f', name, '-p', file);
    if (code !== 0) throw new Error(said);
    return JSON.parse(said.slice(said.indexOf('{')));
  };

const onCluster = ({ sandbox, holders }: Awaited<ReturnType<typeof openCluster>>) => ({
  sandbox,
  world: sandbox.world,
  holder: (ordinal: number): Holder => {
    const holder = holders[ordinal];
    if (!holder) throw new Error(`there are only ${holders.length} holders`);
    return holder;
  },
  fenceStateOf: (holder: Holder) => fenceStateOf(sandbox.world, holder),
  fenceIdOf: (holder: Holder) => fenceIdOf(sandbox.world, holder),
  stateOf: ({ machine }: Holder) => instanceIn(sandbox.world, machine)?.state,
  violations: () => sandbox.world.parts.ec2.violations,
});

/** @throws the output of `serverless`, if the deployment fails. Then nothing continues to run. */
export const install = async (wanted: Wanted): Promise<Installed> => {
  const opened: { close: () => Promise<void> }[] = [];
  const close = async (): Promise<void> => void (await Promise.all(opened.map((one) => one.close())));
  const keep = <T extends { close: () => Promise<void> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  try {
    const ministack = keep(await startMinistack(wanted));
    const roles = rolesAt(ministack.url);
    const cluster = await openCluster(wanted, wanted.auth === true ? authorityOf(ministack, roles) : null);
    const { environment, folder, kubeconfig } = keep(cluster.sandbox);
    const service = keep(await openService({}));
    const serverless: Installed['serverless'] = (...args) =>
      service.run(
        [...args, ...PLACE, ...paramsFor(environment['AWS_ENDPOINT_URL_EC2'] ?? '', wanted)],
        ministack.environment,
      );
    const { storeSecret, ...hands } = manualActionsAt(ministack.url);
    await storeSecret('cloudfence-sandbox-kubeconfig', await readFile(kubeconfig, 'utf8'));
    const { code, said } = await serverless('deploy');
    if (code !== 0) throw new Error(said);
    const tell: Installed['tell'] = (machine, state) =>
      hands.send('EC2 Instance State-change Notification', JSON.stringify({ 'instance-id': machine, state }));
    return {
      ...hands,
      ...onCluster(cluster),
      ministack,
      roles,
      serverless,
      invoke: invoking(serverless, folder),
      tell,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
