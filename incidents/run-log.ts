import type { Command } from '../fencing/loop/next-command.ts';
import type { CommandResult } from '../fencing/loop/reduce.ts';
import type { Observation, RunState } from '../fencing/loop/state.ts';
import type { ClusterFacts } from '../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../fencing/model/machine.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import type { Incident, Proof } from './incident.ts';
import type { ObservedPhase } from './join.ts';

/**
 * What one run contributes to an incident in addition to its outcome. It is collected from the commands and results of
 * the run.
 */
export interface RunLog {
  readonly run: string;
  readonly cloud: string;
  /** When the run first asked the cloud (epoch ms). */
  readonly began: number | null;
  /**
   * The latest read of the machine. It becomes a proof in the incident if a step follows, or if it contains something
   * new.
   */
  readonly lastRead: Proof | null;
  readonly proofs: readonly Proof[];
  readonly zone: string | null;
  /** The record of the fence as last read. It stays known after a release removes the record. */
  readonly fence: FenceRecord | null;
  /** The facts about the cluster at the time when the machine held the most. A simulated step removes nothing. */
  readonly found: ClusterFacts | null;
  /** When the run first saw each phase that does not follow from a step (ISO time). */
  readonly seen: Readonly<Partial<Record<ObservedPhase, string>>>;
  readonly release: Incident['release'];
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Returns when the answer of a read arrived (epoch ms). */
const answeredAt = ({ requestedAt, receivedAt }: Observation<unknown>): number =>
  requestedAt.wall + (receivedAt - requestedAt.mono);

const proofOf = (read: Observation<MachineFacts>): Proof => {
  const { power, generation, since, evidence } = read.value;
  return {
    asked: isoTime(read.requestedAt.wall),
    answered: isoTime(answeredAt(read)),
    power,
    generation,
    since: since === null ? null : isoTime(since),
    requestId: evidence['requestId'] ?? null,
    evidence,
  };
};

export const emptyRunLog = ({ runId, identityRules }: Pick<RunState, 'runId' | 'identityRules'>): RunLog => ({
  run: runId,
  cloud: identityRules.name,
  began: null,
  lastRead: null,
  proofs: [],
  zone: null,
  fence: null,
  found: null,
  seen: {},
  release: null,
});

const isNews = (before: Proof | null, { power, generation }: Proof): boolean =>
  before === null || before.power !== power || before.generation !== generation;

const withRead = (log: RunLog, read: Observation<MachineFacts>): RunLog => {
  const proof = proofOf(read);
  if (log.lastRead?.asked === proof.asked) return log;
  return {
    ...log,
    began: log.began ?? read.requestedAt.wall,
    zone: read.value.zone ?? log.zone,
    lastRead: proof,
    proofs: isNews(log.lastRead, proof) ? [...log.proofs, proof] : log.proofs,
  };
};

/** Stores the read on which the step is based. */
const withStep = (log: RunLog): RunLog =>
  log.lastRead === null || log.proofs.at(-1)?.asked === log.lastRead.asked
    ? log
    : { ...log, proofs: [...log.proofs, log.lastRead] };

const sawFirst = (log: RunLog, what: ObservedPhase, isSo: boolean, at: string): RunLog =>
  isSo && log.seen[what] === undefined ? { ...log, seen: { ...log.seen, [what]: at } } : log;

const withCluster = (log: RunLog, read: Observation<ClusterFacts>): RunLog => {
  const { volumes } = read.value;
  const at = isoTime(answeredAt(read));
  const follows = volumes.filter(({ successor }) => successor !== null);
  const gone = sawFirst(
    log,
    'attachmentsGone',
    volumes.every(({ attachment }) => attachment === null),
    at,
  );
  const elsewhere = follows.length > 0 && follows.every(({ successor }) => successor?.attached === true);
  return sawFirst(gone, 'attachedElsewhere', elsewhere, at);
};

const withDisks = (log: RunLog, read: Observation<MachineFacts>): RunLog =>
  sawFirst(
    log,
    'disksFreed',
    read.value.disks.every(({ keep }) => keep !== null),
    isoTime(answeredAt(read)),
  );

/** Only observations during a fence belong to its phases. */
const withObservedPhases = (log: RunLog, command: Command, result: CommandResult): RunLog => {
  if (log.fence === null || result.to !== 'look') return log;
  const after = result.cluster ? withCluster(log, result.cluster) : log;
  return result.machine && command.do === 'look' && command.disks ? withDisks(after, result.machine) : after;
};

const withRelease = (log: RunLog, command: Command, result: CommandResult, { request }: RunState): RunLog => {
  if (command.do !== 'act' || command.step.do !== 'release-node' || result.to !== 'act') return log;
  if (result.answers[0] !== 'done' && result.answers[0] !== 'already') return log;
  return {
    ...log,
    release: {
      at: isoTime(result.sentAt.wall),
      because: command.because,
      accepted: request.accepted,
      bootID: command.step.node.bootID,
      generation: log.lastRead?.generation ?? null,
      evidence: log.lastRead?.evidence ?? {},
    },
  };
};

/** Returns the log after a command and its result. `state` is the run's state after them. Pure. */
export const logged = (log: RunLog, command: Command, result: CommandResult, state: RunState): RunLog => {
  const read = state.machine ? withRead(log, state.machine) : log;
  const stepped = command.do === 'act' || command.do === 'imagine' ? withStep(read) : read;
  const fenced = {
    ...stepped,
    found: foundBy(state, stepped.found),
    fence: fenceIn(command) ?? state.record ?? stepped.fence,
  };
  return withRelease(withObservedPhases(fenced, command, result), command, result, state);
};

/** Returns how many volumes and pods a machine holds. */
const heldIn = ({ volumes, pods }: ClusterFacts): number =>
  pods.length + volumes.filter(({ attachment }) => attachment !== null).length;

/** Returns what the machine held before the run removed something. */
const foundBy = ({ cluster, steps }: RunState, before: ClusterFacts | null): ClusterFacts | null => {
  if (!cluster || steps.some(({ result }) => result === 'dry-run')) return before;
  return before === null || heldIn(cluster.value) >= heldIn(before) ? cluster.value : before;
};

/** A release is the last command that names its fence. */
const fenceIn = (command: Command): FenceRecord | null =>
  command.do === 'act' && command.step.do === 'release-node' ? command.step.record : null;
