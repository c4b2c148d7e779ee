import type { Cluster } from '../../fencing/model/cluster.ts';
import { startRun, type RunState } from '../../fencing/loop/state.ts';
import { defaultPolicy, type Policy } from '../../fencing/model/policy.ts';
import type { Ports } from '../../fencing/loop/ports.ts';
import { createCluster } from '../../kubernetes/cluster.ts';
import { awsCloud } from '../../providers/aws/index.ts';
import { ec2Clients, type Ec2Clients } from '../../providers/aws/client.ts';
import { apiOf, SANDBOX_REGION, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import type { Faults } from '../../sandbox/cluster/api/server.ts';
import { inProcessHandler } from '../../sandbox/ec2/in-process-handler.ts';
import { clockOf, clusterIn, never } from '../sandbox/in-process.ts';

/**
 * The real adapters and the real SDKs on one world, in this process. Virtual time passes only with calls and sleeps.
 */

/** The duration of a call (ms of virtual time). */
const EC2_CALL_TAKES = 80;

const credentials = { accessKeyId: 'sandbox', secretAccessKey: 'sandbox' };

/** What fails, or is slow, on the way. */
export interface Troubles {
  readonly api?: Faults;
  /** How long an EC2 call takes, in ms of virtual time. */
  readonly ec2Takes?: (action: string) => number;
}

/**
 * Every call that changes something arrives this many ms of virtual time after it was sent, even if its proof has ended
 * by then.
 */
export const slowOrders = (world: AwsWorld, transit: number): Troubles => ({
  ec2Takes: (action) => (action.startsWith('Describe') ? EC2_CALL_TAKES : transit),
  api: {
    before: ({ method }) => {
      if (method !== 'GET') world.advance(transit);
      return undefined;
    },
  },
});

const actionOf = (body: unknown): string => new URLSearchParams(String(body)).get('Action') ?? '';

/** The real SDK of EC2 on the world. */
export const clientsOver = (world: AwsWorld, { ec2Takes = () => EC2_CALL_TAKES }: Troubles = {}): Ec2Clients => {
  const inner = inProcessHandler(world);
  const handle: typeof inner.handle = (request, options) => {
    world.advance(ec2Takes(actionOf(request.body)));
    return inner.handle(request, options);
  };
  return ec2Clients({ region: SANDBOX_REGION, credentials, requestHandler: { ...inner, handle } });
};

const cloudOver = (world: AwsWorld, troubles: Troubles) =>
  awsCloud({ clients: clientsOver(world, troubles), region: SANDBOX_REGION });

export const clusterOver = (world: AwsWorld, { api = {} }: Troubles = {}): Cluster =>
  createCluster(clusterIn(world, apiOf(world, { faults: api })));

/** Ports with the clock of the world. */
export const portsOver = (world: AwsWorld, troubles: Troubles = {}): Ports => ({
  cloud: cloudOver(world, troubles),
  clusters: [clusterOver(world, troubles)],
  clock: clockOf(world),
  signal: never(),
  observe: () => undefined,
});

export interface Wanted {
  readonly machine: string;
  readonly runId?: string;
  readonly policy?: Partial<Policy>;
  /** How long the run may last (ms). */
  readonly lasts?: number;
}

const FIVE_MINUTES = 300_000;

export const freshRun = (
  world: AwsWorld,
  ports: Ports,
  { machine, runId = 'run', policy, lasts = FIVE_MINUTES }: Wanted,
): RunState =>
  startRun({
    request: { machine, intent: 'fence', accepted: null, vouched: null },
    policy: { ...defaultPolicy, ...policy },
    identityRules: ports.cloud,
    runId,
    deadline: world.now() + lasts,
  });
