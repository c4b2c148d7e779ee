import { run } from '../../../fencing/loop/run.ts';
import type { MachineId } from '../../../fencing/model/machine.ts';
import { startRun } from '../../../fencing/loop/state.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import {
  apiOf,
  EBS,
  SANDBOX_ACCOUNT,
  SANDBOX_REGION,
  type AwsParts,
  type AwsWorld,
} from '../../../sandbox/aws-sandbox.ts';
import { handleApi } from '../../../sandbox/cluster/api/handle.ts';
import { clusterActors, startControlPlane } from '../../../sandbox/cluster/controllers/actors.ts';
import { addStatefulSet } from '../../../sandbox/cluster/fixtures.ts';
import { settle } from '../../../sandbox/cluster/settle.ts';
import { emptyCluster } from '../../../sandbox/cluster/store.ts';
import { ec2Actors } from '../../../sandbox/ec2/actors.ts';
import { defaultStop, start, stopByUser, terminate } from '../../../sandbox/ec2/instances.ts';
import { addVolume } from '../../../sandbox/ec2/scenario.ts';
import { emptyEc2, instanceIn, volumeIn, type Instance } from '../../../sandbox/ec2/state.ts';
import { underlyingEc2 } from '../../../sandbox/ec2/underlying-cloud.ts';
import { addMachine } from '../../../sandbox/scenes/ec2-database.ts';
import type { UnderlyingCloud } from '../../../sandbox/underlying-cloud.ts';
import { createWorld } from '../../../sandbox/world.ts';
import { portsOver } from '../../simulation/ports.ts';
import type { Participants } from './participants.ts';
import { standingIn } from './lines.ts';
import { recordWrites } from './recorder.ts';
import type { Phase, DifferentialCluster } from './stage.ts';

/** In moto's EC2, every change is instant, and a machine stops in the middle of whatever it does. */
const INSTANT = { bootTakes: 0, shutdownTakes: 0, terminateTakes: 0, attachTakes: 0, detachTakes: 0 } as const;
const STEP_MS = 10;
const WITHIN_MS = 90_000;
const RUN_LASTS_MS = 90_000;
const PERSON_TOKEN = 'person-token';

interface Troubled {
  detachFails: boolean;
}

const underlyingWith = (troubled: Troubled): UnderlyingCloud<AwsParts> => ({
  ...underlyingEc2,
  unpublish: (world, handle, machine) =>
    troubled.detachFails ? { error: 'the driver is out of order' } : underlyingEc2.unpublish(world, handle, machine),
});

const setUp = (world: AwsWorld): Participants => {
  const home = addMachine(world);
  settle(world);
  const disk = addVolume(world);
  addStatefulSet(world, {
    name: 'db',
    disks: [{ driver: EBS, handle: disk, zone: volumeIn(world, disk)?.zone ?? '', volume: 'pv-db' }],
  });
  settle(world);
  const refuge = addMachine(world);
  settle(world);
  const nameOf = (machine: string): string => instanceIn(world, machine)?.privateDnsName ?? '';
  return {
    home: nameOf(home),
    refuge: nameOf(refuge),
    instances: { home, refuge },
    namespace: 'default',
    volume: 'pv-db',
    disk,
  };
};

const worldWith = (seed: number, troubled: Troubled) => {
  const cluster = emptyCluster();
  const writings = recordWrites(cluster);
  const parts: AwsParts = { cluster, ec2: emptyEc2({ account: SANDBOX_ACCOUNT, region: SANDBOX_REGION }, INSTANT) };
  const world: AwsWorld = createWorld<AwsParts>(
    { ...clusterActors<AwsParts>(underlyingWith(troubled)), ...ec2Actors() },
    parts,
    {
      now: Date.UTC(2026, 10, 21),
      seed,
    },
  );
  startControlPlane(world);
  return { world, writings };
};

const personAt = (world: AwsWorld): DifferentialCluster['ask'] => {
  const server = apiOf(world, { users: { [PERSON_TOKEN]: { name: 'person', rules: 'all' } } });
  return async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${PERSON_TOKEN}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    };
    const answer = handleApi(server, { method, path, headers, body: body === undefined ? '' : JSON.stringify(body) });
    if (answer === 'drop' || answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return JSON.parse(answer.body);
  };
};

const runOf = async (world: AwsWorld, machine: MachineId, intent: 'fence' | 'release'): Promise<string> => {
  const ports = portsOver(world);
  const request = { machine, intent, accepted: null, vouched: null } as const;
  const { outcome } = await run(
    startRun({
      request,
      policy: defaultPolicy,
      identityRules: ports.cloud,
      runId: `${intent}-1`,
      deadline: world.now() + RUN_LASTS_MS,
    }),
    ports,
  );
  return outcome;
};

/** What happens to a machine. In this EC2, it completes at once. */
const happening =
  (world: AwsWorld, machine: string, happen: (instance: Instance) => void) => async (): Promise<void> => {
    const instance = instanceIn(world, machine);
    if (instance) happen(instance);
    world.advance(1);
  };

const untilHolds = (world: AwsWorld, what: string, holds: () => boolean, withinMs: number): void => {
  const deadline = world.now() + withinMs;
  while (!holds()) {
    if (world.now() >= deadline) throw new Error(`waited ${withinMs / 1000} s in vain: ${what}`);
    world.advance(STEP_MS);
  }
};

/** The sandbox as one of the two clusters, in virtual time. `seed` sets the phases of everything that repeats. */
export const openSandboxStage = (seed: number): DifferentialCluster => {
  const troubled: Troubled = { detachFails: false };
  const { world, writings } = worldWith(seed, troubled);
  const participants = setUp(world);
  const phases: Phase[] = [];
  const home = participants.instances.home;
  const standing = standingIn(() => writings, participants);
  return {
    participants,
    ask: personAt(world),
    stop: happening(world, home, (instance) => void stopByUser(world, instance, defaultStop)),
    terminate: happening(world, home, (instance) => void terminate(world, instance)),
    start: happening(world, home, (instance) => void start(world, instance)),
    failDetach: async (fails) => void (troubled.detachFails = fails),
    fence: () => runOf(world, home, 'fence'),
    release: () => runOf(world, home, 'release'),
    phase: (title, from) => void phases.push({ title, at: world.now(), from }),
    until: async (what, holds, withinMs = WITHIN_MS) => untilHolds(world, what, () => holds(standing()), withinMs),
    pass: async (ms) => world.advance(ms),
    story: async () => ({ participants, phases, writings }),
    close: async () => undefined,
  };
};
