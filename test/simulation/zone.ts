import type { Outcome } from '../../fencing/model/outcome.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { run } from '../../fencing/loop/run.ts';
import { createAwsSandbox, EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { addBarePod, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { terminate } from '../../sandbox/ec2/instances.ts';
import { addVolume } from '../../sandbox/ec2/scenario.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { addMachine } from '../../sandbox/scenes/ec2-database.ts';
import { stopMachine } from './incidents.ts';
import { freshRun, portsOver, type Troubles } from './ports.ts';

/** A whole zone whose machines go off at the same time. */

export const MINUTE = 60_000;

export interface Zone {
  readonly world: AwsWorld;
  readonly machines: readonly string[];
}

export const nodeOf = (world: AwsWorld, machine: string): string => instanceIn(world, machine)?.privateDnsName ?? '';

/** Machines with one pod each, and one database with one disk per machine. */
const zone = (count: number): Zone => {
  const world = createAwsSandbox({ seed: 4, now: Date.UTC(2026, 0, 1) });
  const machines = Array.from({ length: count }, () => addMachine(world));
  const disks = machines.map(() => addVolume(world));
  addStatefulSet(world, {
    name: 'db',
    disks: disks.map((handle) => ({ driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' })),
  });
  settle(world);
  machines.forEach((machine, at) =>
    addBarePod(world, { name: `app-${at}`, spec: { nodeName: nodeOf(world, machine) } }),
  );
  settle(world);
  return { world, machines };
};

export const allOff = (
  count: number,
  end: (world: AwsWorld, machine: string) => void = stopMachine,
  off = count,
): Zone => {
  const { world, machines } = zone(count);
  const dead = machines.slice(0, off);
  for (const machine of dead) end(world, machine);
  world.advance(70_000);
  return { world, machines: dead };
};

export const terminateMachine = (world: AwsWorld, machine: string): void => {
  const instance = instanceIn(world, machine);
  if (instance) terminate(world, instance);
};

export const momentOf = (world: AwsWorld) => ({ wall: world.now(), mono: world.now() });

let runs = 0;
export const freshId = (): string => `run-${(runs += 1)}`;
export const fenceOne = (
  world: AwsWorld,
  machine: string,
  policy: Partial<Policy> = {},
  troubles: Troubles = {},
): Promise<Outcome> => {
  const ports = portsOver(world, troubles);
  return run(freshRun(world, ports, { machine, policy, runId: freshId(), lasts: 2 * MINUTE }), ports);
};

/** Delivers the message of each machine once. */
export const byEvents = async ({ world, machines }: Zone): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = [];
  for (const machine of machines) outcomes.push(await fenceOne(world, machine));
  return outcomes;
};
