import type { Cloud } from './cloud.ts';
import type { Cluster, Clues } from './cluster.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { CloudfenceError, InvalidConfiguration, Unavailable } from './errors.ts';
import type { Known, Place, Read } from './known.ts';
import { learn, type Answer } from './learn.ts';
import type { MachineFacts } from './machine.ts';
import { next, type Command } from './next.ts';
import type { Outcome } from './outcome.ts';
import { permitUntil } from './permit.ts';
import { clustersToAsk, type Found } from './place.ts';
import { stepKey, type CloudStep, type Step } from './steps.ts';
import type { Moment } from './view.ts';

export interface Clock {
  readonly now: () => Moment;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A signal that aborts after so many ms. */
  readonly timeout: (ms: number) => AbortSignal;
}

/** Everything that touches the world. */
export interface Ports {
  readonly cloud: Cloud;
  readonly clusters: readonly Cluster[];
  readonly clock: Clock;
  /** Aborts whatever is in flight when it fires. */
  readonly signal: AbortSignal;
  /** Sees each command and what came of it, as it happens. */
  readonly observe: (command: Command, answer: Answer, known: Known) => void;
}

/** The thin driver around the pure loop: asks for the next command, carries it out, learns from the answer. */
export const run = async (start: Known, ports: Ports): Promise<Outcome> => {
  let known = start;
  for (;;) {
    const command = next(known, ports.clock.now());
    if (command.do === 'finish') return command.outcome;
    const answer = await answerTo(command, known, ports);
    known = learn(known, command, answer, ports.clock.now());
    ports.observe(command, answer, known);
  }
};

/** After the run's time is up there is this long (ms) for the last words, such as the Event on the Node. */
const LAST_CALLS_MS = 1_000;

/** Carries out one command. Errors of the hierarchy are answers; anything else is a fault of ours and is thrown. */
export const answerTo = async (command: Exclude<Command, { do: 'finish' }>, known: Known, ports: Ports): Promise<Answer> => {
  const sentAt = ports.clock.now();
  const inFlight = new AbortController();
  const timeUp = ports.clock.timeout(Math.max(0, known.deadline - sentAt.mono) + LAST_CALLS_MS);
  const signal = AbortSignal.any([ports.signal, inFlight.signal, timeUp]);
  try {
    return await carryOut(command, known, { ...ports, signal });
  } catch (error) {
    if (error instanceof CloudfenceError) return { to: 'failed', error, sentAt };
    throw error;
  } finally {
    inFlight.abort();
  }
};

const carryOut = async (command: Exclude<Command, { do: 'finish' }>, known: Known, ports: Ports): Promise<Answer> => {
  const { clock, cloud, signal } = ports;
  switch (command.do) {
    case 'look':
      return look(command, known, ports);
    case 'locate':
      return { to: 'locate', found: await locate(command.facts, known, ports) };
    case 'witness':
      return { to: 'witness', says: await cloud.witness(known.request.machine, command.disks, signal) };
    case 'census':
      return { to: 'census', says: await clusterAt(known.place, ports).census(command.node, STALE_LEASE_MS, signal) };
    case 'recheck': {
      const askedAt = clock.now();
      return { to: 'recheck', says: await clusterAt(command.place, ports).recheck(command.node, signal), askedAt, step: stepKey(command.step) };
    }
    case 'act': {
      const sentAt = clock.now();
      return { to: 'act', says: await act(command.step, command.place, command.expires, ports), sentAt };
    }
    case 'imagine':
      return { to: 'imagine' };
    case 'pause':
      await clock.sleep(command.ms, signal);
      return { to: 'pause' };
    case 'end':
      return { to: 'end', ending: command.ending };
    case 'tell':
      await clusterAt(command.place, ports).tell({ node: command.outcome.node ?? '', uid: command.outcome.nodeUid }, command.event, signal);
      return { to: 'tell' };
  }
};

export const STALE_LEASE_MS = 60_000;

const clusterAt = (place: Place | null, { clusters }: Ports): Cluster => {
  const cluster = clusters.find(({ name }) => name === place?.cluster);
  if (!cluster) throw new InvalidConfiguration([`there is no cluster named ${place?.cluster ?? '(none)'}`]);
  return cluster;
};

const lookAtMachine = async ({ request }: Known, disks: boolean, { cloud, clock, signal }: Ports): Promise<Read<MachineFacts>> => {
  const askedAt = clock.now();
  const [says] = await cloud.look([request.machine], { disks }, signal);
  if (!says) throw new Unavailable(`the cloud gave no answer for ${request.machine}`);
  return { says, askedAt, gotAt: clock.now().mono };
};

const cluesFor = (known: Known, machine: MachineFacts): Clues => ({
  machine: known.request.machine,
  nodeNames: machine.nodeNames,
  machineOf: known.reading.machineOf,
});

const lookAtCluster = async (known: Known, search: boolean, ports: Ports): Promise<Read<ClusterFacts>> => {
  const askedAt = ports.clock.now();
  const clues: Clues = { machine: known.request.machine, nodeNames: [], machineOf: known.reading.machineOf };
  const { attachments, detached } = known.memory;
  const request = { clues, node: known.place?.node ?? null, remembered: known.record, follow: [...detached], search, ...(attachments && { attachments }) };
  return { says: await clusterAt(known.place, ports).look(request, ports.signal), askedAt, gotAt: ports.clock.now().mono };
};

const look = async (wanted: Extract<Command, { do: 'look' }>, known: Known, ports: Ports): Promise<Answer> => {
  const [machine, cluster] = await Promise.all([
    wanted.machine ? lookAtMachine(known, wanted.disks, ports) : null,
    wanted.cluster ? lookAtCluster(known, wanted.search, ports) : null,
  ]);
  return { to: 'look', machine, cluster };
};

const locate = async (machine: MachineFacts, known: Known, ports: Ports): Promise<readonly Found[]> =>
  Promise.all(clustersToAsk(machine, ports.clusters).map(async (cluster) => findIn(cluster, machine, known, ports)));

/** A cluster that does not answer is an answer too: the machine may live there. */
const findIn = async (cluster: Cluster, machine: MachineFacts, known: Known, ports: Ports): Promise<Found> => {
  const clues = cluesFor(known, machine);
  try {
    const nodes = await cluster.find(clues, ports.signal);
    const askedAt = ports.clock.now();
    const request = { clues, node: null, remembered: known.record, follow: [] };
    const leftovers = nodes.length > 0 ? null : { says: await cluster.look(request, ports.signal), askedAt, gotAt: ports.clock.now().mono };
    return { cluster: cluster.name, nodes, leftovers, error: null };
  } catch (error) {
    if (error instanceof CloudfenceError) return { cluster: cluster.name, nodes: [], leftovers: null, error };
    throw error;
  }
};

const act = async (step: Step, place: Place, expires: number, ports: Ports) => {
  const permit = permitUntil(expires, () => ports.clock.now().mono);
  if (!isCloudStep(step)) return clusterAt(place, ports).apply(step, permit, ports.signal);
  if (step.do === 'detach-disk') await ports.cloud.detach(step.from, step.disk, step.manner, permit, ports.signal);
  else await ports.cloud.powerOff(step.target, permit, ports.signal);
  return 'done' as const;
};

const isCloudStep = (step: Step): step is CloudStep => step.do === 'detach-disk' || step.do === 'power-off';
