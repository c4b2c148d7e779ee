import { run } from '../../fencing/loop/run.ts';
import { createAwsSandbox, EBS, type AwsWorld } from '../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../sandbox/cluster/get-objects.ts';
import { addNode, addStatefulSet } from '../../sandbox/cluster/fixtures.ts';
import { settle } from '../../sandbox/cluster/settle.ts';
import { addInstance, addVolume } from '../../sandbox/ec2/scenario.ts';
import { defaultStop, stopByUser, terminate } from '../../sandbox/ec2/instances.ts';
import { instanceIn, volumeIn } from '../../sandbox/ec2/state.ts';
import { freshRun, portsOver } from '../simulation/ports.ts';

/** A world at the moment when Cloudfence is called. */
export interface BenchmarkScene {
  readonly world: AwsWorld;
  /** The number of the Nodes of the cluster that live in it. */
  readonly living: number;
  /** The machine that the event names. Null for a sweep. */
  readonly machine: string | null;
  /** The expected outcomes of the runs, sorted. */
  readonly ends: readonly string[];
}

interface Naming {
  /** The name of the Node, if it is not the one that EC2 gives to the machine. */
  readonly name?: (ordinal: number) => string;
  readonly labels?: (machine: string) => Readonly<Record<string, string>>;
}

interface Staged {
  readonly world: AwsWorld;
  readonly nodeOf: (machine: string) => string;
  /** The machines that hold one disk each. */
  readonly holders: readonly string[];
}

const addMachine = (world: AwsWorld, ordinal: number, naming: Naming): readonly [string, string] => {
  const machine = addInstance(world);
  const { privateDnsName = '', zone = '' } = instanceIn(world, machine) ?? {};
  const name = naming.name?.(ordinal) ?? privateDnsName;
  addNode(world, {
    name,
    machine,
    providerID: `aws:///${zone}/${machine}`,
    zone,
    driver: EBS,
    labels: naming.labels?.(machine) ?? {},
  });
  return [machine, name];
};

/** Creates this many machines, and a database with this many disks, distributed among them. */
const staged = (machines: number, disks: number, naming: Naming = {}): Staged => {
  const world = createAwsSandbox({ seed: 1, now: Date.UTC(2026, 0, 1) });
  const names = new Map(Array.from({ length: machines }, (_, ordinal) => addMachine(world, ordinal, naming)));
  const volumes = Array.from({ length: disks }, () => addVolume(world));
  addStatefulSet(world, {
    name: 'db',
    disks: volumes.map((handle) => ({ driver: EBS, handle, zone: volumeIn(world, handle)?.zone ?? '' })),
  });
  settle(world);
  const holders = volumes.map((volume) => volumeIn(world, volume)?.attachments[0]?.instance ?? '');
  return { world, holders, nodeOf: (machine) => names.get(machine) ?? '' };
};

const stop = (world: AwsWorld, machine: string): void => {
  const instance = instanceIn(world, machine);
  if (instance) stopByUser(world, instance, defaultStop);
};

const terminated = (world: AwsWorld, machine: string): void => {
  const instance = instanceIn(world, machine);
  if (instance) terminate(world, instance);
};

const deleteNode = (world: AwsWorld, name: string): void => {
  const node = getObject(world, 'nodes', name);
  if (node) writerAs(world, 'cloud-node-lifecycle-controller').remove('nodes', node);
};

const UNTIL_OFF_MS = 25_000;

const afterwards = (
  { world, holders: [machine = ''], nodeOf }: Staged,
  happens: (world: AwsWorld, machine: string, node: string) => void,
): BenchmarkScene => {
  happens(world, machine, nodeOf(machine));
  world.advance(UNTIL_OFF_MS);
  return { world, living: 2, machine, ends: ['fenced'] };
};

const custom = (ordinal: number): string => `db-node-${ordinal}`;
const labelled = (machine: string) => ({ 'cloudfence.dev/instance': machine });

const nameComputable = (): BenchmarkScene => afterwards(staged(2, 1), stop);
const labelOnly = (): BenchmarkScene => afterwards(staged(2, 1, { name: custom, labels: labelled }), stop);
const terminatedUnderCustomName = (): BenchmarkScene => afterwards(staged(2, 1, { name: custom }), terminated);

const nodeGone = (): BenchmarkScene => {
  const scene = afterwards(staged(2, 1), (world, machine, node) => {
    terminated(world, machine);
    world.advance(UNTIL_OFF_MS);
    deleteNode(world, node);
  });
  return { ...scene, living: 1 };
};

const MACHINES = 10;
const FENCED = 2;
const GONE = 2;
const SILENT = 3;
const SILENT_FOR_MS = 70_000;

/**
 * Two Nodes are parked with their fence, two were deleted before their attachments, and three are silent because their
 * events were lost.
 */
const missedEvents = async (): Promise<BenchmarkScene> => {
  const { world, holders, nodeOf } = staged(MACHINES, FENCED + GONE + SILENT);
  const parked = holders.slice(0, FENCED);
  for (const machine of parked) stop(world, machine);
  world.advance(UNTIL_OFF_MS);
  const ports = portsOver(world);
  for (const machine of parked) await run(freshRun(world, ports, { machine }), ports);
  for (const machine of holders.slice(FENCED, FENCED + GONE)) terminated(world, machine);
  for (const machine of holders.slice(FENCED + GONE)) stop(world, machine);
  world.advance(UNTIL_OFF_MS);
  for (const machine of holders.slice(FENCED, FENCED + GONE)) deleteNode(world, nodeOf(machine));
  world.advance(SILENT_FOR_MS);
  return { world, living: MACHINES - GONE, machine: null, ends: Array.from({ length: GONE + SILENT }, () => 'fenced') };
};

export interface Question {
  readonly asks: string;
  readonly scene: () => BenchmarkScene | Promise<BenchmarkScene>;
  /** The calls are the same at every size, or increase only by pages of lists. */
  readonly aim: 'same-calls' | 'pages';
}

export const questions: readonly Question[] = [
  { asks: 'fence, name computable', scene: nameComputable, aim: 'same-calls' },
  { asks: 'fence, label only', scene: labelOnly, aim: 'same-calls' },
  { asks: 'fence, terminated, custom name, no label', scene: terminatedUnderCustomName, aim: 'pages' },
  { asks: 'fence, Node gone, attachments left', scene: nodeGone, aim: 'pages' },
  { asks: 'sweep, 3 nodes silent, 2 parked, 2 gone', scene: missedEvents, aim: 'pages' },
];
