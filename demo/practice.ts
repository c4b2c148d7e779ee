import { InvalidInput, CloudfenceError } from '../fencing/model/errors.ts';
import type { ClusterParts } from '../sandbox/cluster/cluster-world.ts';
import { writerAs } from '../sandbox/cluster/controllers/object-writer.ts';
import { addStorageClass } from '../sandbox/cluster/fixtures.ts';
import { getObject, listObjects } from '../sandbox/cluster/get-objects.ts';
import type { World } from '../sandbox/world.ts';
import { ADMIN_TOKEN } from '../sandbox/cluster/api/server.ts';
import { DRILL_ALLOWED, DRILL_LABEL } from '../kubernetes/names.ts';
import { cloudfenceUser, openServers, TOKEN, connectCloud, connectCluster, type SimulatedServers } from './cluster.ts';
import { type CallSchedule, type CloudEvent, createQueue, type LoggedOutcome, type Queue } from './platform.ts';
import type { DemoCloud, Scene } from './story.ts';
import { openCloudServer, type CloudServer } from '../sandbox/cloud-server.ts';
import type { FunctionDependencies } from '../functions/dependencies.ts';

/** What the functions of a practice need. */
type PracticeTools = Pick<CallSchedule, 'sleep'> & Pick<PracticeSetting<ClusterParts>, 'incidents' | 'tell'>;

/**
 * The embedded cloud and cluster in real time, so that people can practise on them. They break it with commands, and
 * repair it with `cloudfence` and `kubectl` as in a real cluster.
 */
export interface Practice {
  readonly api: { readonly url: string; readonly ca: string };
  /** The name of the cluster. */
  readonly cluster: string;
  /** The users of the API server, by the name of their context. The first is the default. */
  readonly users: readonly { readonly context: string; readonly token: string }[];
  /** The variables with which Cloudfence reaches the simulated cloud. */
  readonly environment: Readonly<Record<string, string>>;
  /** Advances the world to the present. Each request also does this. */
  readonly pass: () => void;
  /**
   * Runs one command, and returns the lines to print.
   * @throws InvalidInput for a command or a machine that does not exist
   */
  readonly act: (command: string) => readonly string[];
  /** All events that the cloud has published, oldest first. */
  readonly events: () => readonly CloudEvent[];
  /** Runs the functions of Cloudfence until the signal aborts: they receive the events, and sweep once a minute. */
  readonly react: (tools: PracticeTools, signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Broken<P extends ClusterParts> {
  readonly world: World<P>;
  readonly demoCloud: DemoCloud<P>;
  readonly scene: Scene;
  /** The machine that the command names. */
  readonly machine: string;
}

interface PracticeCommand {
  readonly says: string;
  readonly does: <P extends ClusterParts>(broken: Broken<P>) => void;
}

const partition = <P extends ClusterParts>({ world, scene, machine }: Broken<P>, cut: boolean): void => {
  const { partitioned } = world.parts.cluster.knobs;
  const name = scene.nodeOf(machine);
  const at = partitioned.indexOf(name);
  if (cut && at === -1) partitioned.push(name);
  if (!cut && at !== -1) partitioned.splice(at, 1);
};

const commands: Readonly<Record<string, PracticeCommand>> = {
  stop: {
    says: 'stops the machine',
    does: ({ world, demoCloud, machine }) => demoCloud.stop(world, machine),
  },
  start: {
    says: 'starts a machine that is off',
    does: ({ world, demoCloud, machine }) => demoCloud.start(world, machine),
  },
  terminate: {
    says: 'destroys the machine for good',
    does: ({ world, demoCloud, machine }) => demoCloud.destroy(world, machine),
  },
  cut: {
    says: 'cuts the kubelet off from the API server; the machine still runs and writes',
    does: (broken) => partition(broken, true),
  },
  heal: { says: 'ends a cut', does: (broken) => partition(broken, false) },
  allow: {
    says: 'labels the Node for `cloudfence drill`',
    does: ({ world, scene, machine }) => {
      const node = getObject(world, 'nodes', scene.nodeOf(machine));
      if (node)
        writerAs(world, 'admin').change('nodes', node, (draft) => {
          draft.metadata.labels = { ...draft.metadata.labels, [DRILL_LABEL]: DRILL_ALLOWED };
        });
    },
  },
};

export const PRACTICE_HELP: readonly string[] = [
  ...Object.entries(commands).map(([name, { says }]) => `${name} <machine or Node>`.padEnd(32) + says),
  'machines'.padEnd(32) + 'shows each machine, its Node, and the disk',
  'quit'.padEnd(32) + 'ends the sandbox (only here, as Ctrl-C does)',
];

const machinesOf = ({ holder, spare }: Scene): readonly string[] => [holder, spare];

const stateOfNode = (world: World<ClusterParts>, name: string): string => {
  const node = getObject(world, 'nodes', name);
  if (!node) return 'deleted';
  const ready = node.status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  // A taint with two effects is shown once.
  const taints = [...new Set((node.spec.taints ?? []).map(({ key }) => key))];
  const cut = world.parts.cluster.knobs.partitioned.includes(name) ? ['cut off'] : [];
  return [ready ? 'Ready' : 'NotReady', ...cut, ...taints].join(', ');
};

const machineLines = <P extends ClusterParts>(
  world: World<P>,
  demoCloud: DemoCloud<P>,
  scene: Scene,
): readonly string[] => {
  const holders = demoCloud.holders(world, scene.volume);
  return machinesOf(scene).flatMap((machine) => {
    const name = scene.nodeOf(machine);
    const disk = holders.find(({ instance }) => instance === machine);
    const pods = listObjects(world, 'pods').filter(({ spec }) => spec.nodeName === name);
    return [
      `${machine}: ${demoCloud.machine(world, machine).state}`,
      `  Node ${name}: ${stateOfNode(world, name)}`,
      ...pods.map(({ metadata }) => `  pod/${metadata.namespace}/${metadata.name}`),
      ...(disk ? [`  ${scene.volume}: ${disk.state}`] : []),
    ];
  });
};

const named = (scene: Scene, target: string | undefined): string => {
  const machine = machinesOf(scene).find((one) => one === target || scene.nodeOf(one) === target);
  if (machine !== undefined) return machine;
  throw new InvalidInput(`"${target ?? ''}" is not a machine or a Node of the sandbox: \`machines\` lists them`);
};

const runPracticeCommand = <P extends ClusterParts>(
  broken: Omit<Broken<P>, 'machine'>,
  text: string,
): readonly string[] => {
  const { world, demoCloud, scene } = broken;
  const [name = '', target] = text.trim().split(/\s+/);
  if (name === 'help') return PRACTICE_HELP;
  if (name !== 'machines') {
    const command = Object.entries(commands).find(([known]) => known === name)?.[1];
    if (name === 'quit') throw new InvalidInput('`quit` works only in the terminal of the sandbox, as Ctrl-C does');
    if (!command) throw new InvalidInput(`"${name}" is not a command of the sandbox: \`help\` lists them`);
    command.does({ ...broken, machine: named(scene, target) });
  }
  return machineLines(world, demoCloud, scene);
};

/** Longer than it takes until the pods of the scene run (ms). */
const SETTLES_WITHIN_MS = 15 * 60_000;

/** Creates the scene in the past, so that it is at rest in the present. */
const atRest = <P extends ClusterParts>(demoCloud: DemoCloud<P>, now: number) => {
  const world = demoCloud.create({ seed: 1, now: now - SETTLES_WITHIN_MS });
  world.parts.cluster.knobs.cloudController = true;
  const scene = demoCloud.scene(world);
  addStorageClass(world, 'sandbox');
  return { world, scene, before: demoCloud.announcements(world).length };
};

/** Runs the functions in real time. */
const runFunctionsIn =
  <P extends ClusterParts>(setting: Omit<PracticeSetting<P>, 'turns'>): Practice['react'] =>
  async ({ sleep, ...tools }, signal) => {
    const turns: CallSchedule = { call: (_ms, exchange) => exchange(), sleep, arrived: () => undefined };
    const functions = deployPractice({ ...setting, ...tools, turns });
    try {
      await functions.run(signal);
    } finally {
      await functions.close();
    }
  };

/**
 * Opens a database on two Nodes of a simulated cloud. `now` is the wall clock (epoch ms), which Cloudfence also uses.
 */
export const openPractice = async <P extends ClusterParts>(
  demoCloud: DemoCloud<P>,
  now: () => number,
): Promise<Practice> => {
  const { world, scene, before } = atRest(demoCloud, now());
  const pass = (): void => world.advance(Math.max(0, now() - world.now()));
  pass();
  const users = { [ADMIN_TOKEN]: { name: 'admin', rules: 'all' }, [TOKEN]: cloudfenceUser({ mayMark: true }) } as const;
  const servers = await openServers(world, demoCloud, users, pass);
  return {
    api: servers.kubernetes,
    cluster: SANDBOX_CLUSTER,
    users: [
      { context: 'admin', token: ADMIN_TOKEN },
      { context: 'cloudfence', token: TOKEN },
    ],
    environment: demoCloud.environment(servers.cloud.url),
    pass,
    act: (command) => {
      pass();
      return runPracticeCommand({ world, demoCloud, scene }, command);
    },
    events: () =>
      demoCloud
        .announcements(world)
        .slice(before)
        .filter((event) => event !== null),
    react: runFunctionsIn({ world, demoCloud, servers, now, since: before }),
    close: servers.close,
  };
};

const answerCommand = ({ act }: Practice, command: string): { readonly status: number; readonly body: string } => {
  try {
    return { status: 200, body: act(command).join('\n') };
  } catch (error) {
    if (error instanceof CloudfenceError) return { status: 400, body: error.message };
    throw error;
  }
};

/**
 * Accepts the commands of another terminal: each is the body of a POST request on 127.0.0.1. Only someone who can read
 * the address knows the path, so a page in a browser cannot send commands.
 */
export const openPracticeControl = async (practice: Practice, secret: string): Promise<CloudServer> => {
  const unknown = { status: 404, body: 'no sandbox takes commands here' };
  const server = await openCloudServer(({ url }, command) => ({
    ...(url === `/${secret}` ? answerCommand(practice, command) : unknown),
    call: 'command',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    cut: null,
  }));
  return { ...server, url: `${server.url}/${secret}` };
};

/** The functions of Cloudfence in a practice world: the real handlers get its events, and sweep once a minute. */
interface PracticeFunctions {
  /** Runs until the signal ends. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The name of the simulated cluster. */
const SANDBOX_CLUSTER = 'sandbox';

const WAIT_MS = 250;
const SWEEP_EVERY_MS = 60_000;

/** The environment of the functions. `since` is the index of the first announcement that they receive. */
interface PracticeSetting<P extends ClusterParts> {
  readonly world: World<P>;
  readonly demoCloud: DemoCloud<P>;
  readonly servers: SimulatedServers;
  readonly turns: Pick<CallSchedule, 'call' | 'sleep' | 'arrived'>;
  readonly now: () => number;
  readonly since: number;
  /** Where the functions store incidents. Absent if they store none. */
  readonly incidents?: NonNullable<FunctionDependencies['incidents']>;
  /** Receives the outcome of each run. */
  readonly tell?: (outcome: LoggedOutcome) => void;
}

/** Deploys the functions in this process. */
export const deployPractice = <P extends ClusterParts>(setting: PracticeSetting<P>): PracticeFunctions => {
  const { world, demoCloud, servers, turns, now, since, incidents, tell } = setting;
  const { cluster, aftermath, close } = connectCluster(SANDBOX_CLUSTER, servers, turns, now, world.random);
  const announcements = () => demoCloud.announcements(world);
  const queue: Queue = createQueue({ title: demoCloud.title, now, announcements }, since, world.random);
  const cloud = connectCloud(servers, demoCloud, turns, world.random);
  const keeping = incidents && { incidents, aftermath: async () => aftermath };
  const deployed = demoCloud.deploy({ cloud, cluster, now, turns, queue, ...(keeping && { keeping }) });
  const report = (outcomes: readonly LoggedOutcome[]): void => outcomes.forEach((outcome) => tell?.(outcome));
  const deliver = async (): Promise<void> => {
    queue.collect();
    const message = queue.receive(now());
    if (!message) return;
    const { again, outcomes } = await deployed.onMessage(message);
    report(outcomes);
    if (again) queue.giveBack(message, now());
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    let nextSweep = now() + SWEEP_EVERY_MS;
    while (!signal.aborted) {
      await deliver();
      if (now() >= nextSweep) {
        nextSweep = now() + SWEEP_EVERY_MS;
        report(await deployed.sweep());
      }
      await turns.sleep(WAIT_MS, signal);
    }
  };
  return { run, close };
};
