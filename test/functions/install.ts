import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import type { DeadLetter } from '../../functions/acknowledge.ts';
import type { LookAgain } from '../../functions/messages.ts';
import { whyNotServed, embeddedMetricLine } from '../../functions/aws/dependencies.ts';
import type { NamingDependencies } from '../../functions/dependencies.ts';
import { createAftermathReading } from '../../kubernetes/readings/aftermath.ts';
import { openConnection, createCluster } from '../../kubernetes/cluster.ts';
import { createStatusReading } from '../../kubernetes/readings/status.ts';
import { createDiagnosisReading } from '../../kubernetes/readings/diagnosis.ts';
import { viewDisks } from '../../providers/aws/disks.ts';
import { apiOf, type AwsWorld, SANDBOX_ACCOUNT, SANDBOX_REGION } from '../../sandbox/aws-sandbox.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { memoryKeeper, type MemoryKeeper } from '../incidents/memory-keeper.ts';
import { clientsOver, portsOver } from '../simulation/ports.ts';

/** A small deployed function. Its queues are lists, and its clock is that of the sandbox. */
export interface Install {
  readonly dependencies: NamingDependencies;
  readonly lines: Record<string, unknown>[];
  readonly sentAgain: { readonly message: LookAgain; readonly delaySeconds: number }[];
  readonly dead: DeadLetter[];
  /** The incidents that are stored, and the messages about them. */
  readonly history: MemoryKeeper;
  readonly postponed: { readonly receipt: string; readonly delaySeconds: number }[];
  /** Nothing can be sent while this is set. */
  readonly outage: { queue: boolean };
  readonly context: () => { getRemainingTimeInMillis: () => number };
}

const LASTS_MS = 60_000;

/** The shipped way to read the cluster and the disks, for functions that follow a name. */
const namingOver = (world: AwsWorld): Pick<NamingDependencies, 'openedCloud' | 'openClusters'> => {
  const options = clusterIn(world, apiOf(world));
  return {
    openedCloud: {
      viewDisks: (volumes, signal) => viewDisks(clientsOver(world).reads, volumes, signal),
      driverFaultOf: () => null,
    },
    openClusters: [
      {
        cluster: createCluster(options),
        diagnosis: async () => (faultOf, signal) => createDiagnosisReading(openConnection(options), faultOf, signal),
        status: async () => createStatusReading('sandbox', openConnection(options)),
      },
    ],
  };
};

export const installOver = (world: AwsWorld, policy: Partial<Policy> = {}, change: Partial<Ports> = {}): Install => {
  const { signal: _signal, observe: _observe, ...ports } = { ...portsOver(world), ...change };
  const install = { lines: [], sentAgain: [], dead: [], postponed: [], outage: { queue: false } } as Pick<
    Install,
    'lines' | 'sentAgain' | 'dead' | 'postponed' | 'outage'
  >;
  const history = memoryKeeper();
  const options = clusterIn(world, apiOf(world));
  const reachable = () => {
    if (install.outage.queue) throw new Error('the queue cannot be reached');
  };
  let runs = 0;
  const dependencies: NamingDependencies = {
    ...namingOver(world),
    ports,
    policy: { ...defaultPolicy, ...policy },
    whyNotServed: (item) => whyNotServed(item, [{ account: SANDBOX_ACCOUNT, region: SANDBOX_REGION }]),
    queues: {
      again: async (message, delaySeconds) => {
        reachable();
        install.sentAgain.push({ message, delaySeconds });
      },
      dead: async (letter) => {
        reachable();
        install.dead.push(letter);
      },
      postpone: async (receipt, delaySeconds) => {
        reachable();
        install.postponed.push({ receipt, delaySeconds });
      },
    },
    incidents: history.keeper,
    aftermath: async () => createAftermathReading('sandbox', openConnection(options)),
    formatMeasurements: (measures) => embeddedMetricLine('Cloudfence', world.now(), measures),
    newRunId: () => `run-${(runs += 1)}`,
    chance: () => 0,
    log: (line) => install.lines.push({ ...line }),
  };
  const context = () => {
    const endsAt = world.now() + LASTS_MS;
    return { getRemainingTimeInMillis: () => endsAt - world.now() };
  };
  return { ...install, history, dependencies, context };
};

export const stateChange = (instance: string, state = 'stopped', change: object = {}) => ({
  version: '0',
  id: `e-${instance}`,
  'detail-type': 'EC2 Instance State-change Notification',
  source: 'aws.ec2',
  account: SANDBOX_ACCOUNT,
  time: '2026-01-01T00:00:30Z',
  region: SANDBOX_REGION,
  resources: [],
  detail: { 'instance-id': instance, state },
  ...change,
});

export const batchOf = (...bodies: readonly unknown[]) => ({
  Records: bodies.map((body, at) => ({
    messageId: `m-${at}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })),
});

export const again = (...ids: string[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });
