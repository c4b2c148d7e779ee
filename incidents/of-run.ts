import { isSimulated, type Outcome, type StepReport } from '../fencing/model/outcome.ts';
import type { FenceRecord } from '../fencing/model/record.ts';
import { stepProperties } from '../fencing/model/steps.ts';
import { hasActed, nothingSeen, phasesOf, incidentState, type ObservedPhase } from './join.ts';
import { idWithoutFence, type Incident, type IncidentStep, type Proof, type Trigger } from './incident.ts';
import type { Command } from '../fencing/loop/command.ts';
import type { CommandResult } from '../fencing/loop/reduce.ts';
import type { Observation, RunState } from '../fencing/loop/state.ts';
import type { ClusterFacts } from '../fencing/model/cluster-facts.ts';
import type { MachineFacts } from '../fencing/model/machine.ts';

/** Creates an incident from the report of one run. */

/** The trigger of the run, and the location of its machine if the message names it. */
export interface RunTrigger {
  readonly trigger: Omit<Trigger, 'received'>;
  readonly account: string | null;
  readonly region: string | null;
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Returns when the proof for a step was requested: the latest answer before the step was sent. */
const proofRequestedAt = (step: StepReport, proofs: readonly Proof[]): string | null =>
  stepProperties[step.step].releases
    ? null
    : (proofs.findLast(({ answered }) => answered <= isoTime(step.at))?.asked ?? null);

const stepOf = (step: StepReport, proofs: readonly Proof[]): IncidentStep => ({
  step: step.step,
  target: step.target,
  because: step.because,
  started: isoTime(step.at),
  ended: isoTime(step.at + step.ms),
  result: step.result,
  message: step.message,
  proof: proofRequestedAt(step, proofs),
});

/**
 * Returns whether the run belongs in the history: it changed something, it ended a fence, or it refused to act on a
 * machine of one of the configured clusters. A dry run is not stored. If the Node was already gone, there is no record,
 * but the run may still have done a part of the fence. The note about the beginning of a stop does not belong to a
 * fence.
 */
const isWorthKeeping = (outcome: Outcome, { fence }: RunLog): boolean => {
  const { outcome: kind, steps, provenAt, cluster } = outcome;
  if (outcome.dryRun || cluster === null) return false;
  if (kind === 'refused' || kind === 'would-fence' || kind === 'would-release') return true;
  if (kind === 'failed') return fence !== null || provenAt !== null;
  const hasPoweredOff = steps.some(({ step }) => step === 'power-off');
  return (
    (fence !== null || provenAt !== null || hasPoweredOff) &&
    !isSimulated(outcome) &&
    steps.some(({ step }) => step !== 'note-stopping')
  );
};

/** Returns a pod with its replacement. The pod of a job may have finished before a sweep looks. */
const replaceable = (
  { namespace, name, uid }: FenceRecord['pods'][number],
  { found }: Pick<RunLog, 'found'>,
): Incident['pods'][number] => {
  const seen = found?.pods.find((pod) => pod.uid === uid);
  const isFollowed = seen?.kind === 'other' && seen.volumes.length === 0 && seen.unresolved.length === 0;
  return { namespace, name, uid, replacedBy: isFollowed ? seen.owner : null };
};

/** Returns what the record says about the beginning of the fence. */
const beginningIn = (
  fence: FenceRecord | null,
  log: Pick<RunLog, 'found'>,
): Pick<Incident, 'bootID' | 'begun' | 'vouched' | 'volumes' | 'pods'> => ({
  bootID: fence?.bootID ?? null,
  begun: fence?.begun ?? null,
  vouched: fence?.vouched ?? null,
  volumes: (fence?.volumes ?? []).map(({ driver, handle, persistentVolume, attachment }) => ({
    driver,
    handle,
    persistentVolume,
    attachment,
  })),
  pods: (fence?.pods ?? []).map((pod) => replaceable(pod, log)),
});

/** Returns what the machine held, if there is no record: in shadow mode, and if the Node was already gone. */
const beginningSeen = ({ steps }: Outcome, log: RunLog): ReturnType<typeof beginningIn> => {
  const { found } = log;
  const deleted = new Set(steps.map(({ step, target }) => `${step} ${target}`));
  return {
    ...beginningIn(null, log),
    bootID: found?.node?.bootID ?? null,
    volumes: (found?.volumes ?? [])
      .filter(({ attachment }) => attachment !== null)
      .map(({ driver, handle, persistentVolume, attachmentName: attachment }) => ({
        driver,
        handle,
        persistentVolume,
        attachment,
      })),
    pods: (found?.pods ?? [])
      .filter(({ namespace, name }) => deleted.has(`delete-pod pod/${namespace}/${name}`))
      .map((pod) => replaceable(pod, log)),
  };
};

/** Returns the machine of the incident, and the id under which every run about it finds the incident. */
const subjectOf = ({ machine, cluster, ...outcome }: Outcome, { cloud, zone }: RunLog, fence: FenceRecord | null) => {
  const generation = fence ? fence.generation : outcome.generation;
  const fenceId = fence?.fence ?? null;
  const id = fenceId ?? idWithoutFence({ cluster, machine, generation });
  const { node, nodeUid } = outcome;
  return { id, fence: fenceId, cloud, zone, cluster, node, nodeUid, machine, generation };
};

/** Returns what one run contributes to an incident, or null if there is nothing to store. Pure. */
export const incidentOfRun = (
  outcome: Outcome,
  log: RunLog,
  { trigger, account, region }: RunTrigger,
  now: number,
): Incident | null => {
  if (!isWorthKeeping(outcome, log)) return null;
  // A record about another machine does not belong to a fence of this one.
  const fence = log.fence?.machine === outcome.machine ? log.fence : null;
  const subject = subjectOf(outcome, log, fence);
  const isWithoutRecord = fence === null && outcome.outcome !== 'refused' && outcome.outcome !== 'failed';
  const beginning = isWithoutRecord ? beginningSeen(outcome, log) : beginningIn(fence, log);
  const lists = {
    triggers: [{ ...trigger, received: isoTime(log.began ?? now) }],
    proofs: log.proofs,
    steps: outcome.steps.map((step) => stepOf(step, log.proofs)),
    ends: [{ outcome: outcome.outcome, because: outcome.reason, at: isoTime(now), run: log.run }],
  };
  const phases = phasesOf({ ...lists, begun: beginning.begun }, { ...nothingSeen, ...log.seen });
  return {
    kind: 'cloudfence/incident',
    version: 1,
    state: incidentState({ fence: subject.fence, ...lists, phases }),
    ...subject,
    account,
    region,
    shadow: outcome.shadow && !hasActed(lists),
    ...beginning,
    ...lists,
    watch: null,
    phases,
    left: outcome.left,
    release: log.release,
  };
};

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

/** Returns when the answer of a read arrived (epoch ms). */
const answeredAt = ({ requestedAt, receivedAt }: Observation<unknown>): number =>
  requestedAt.wall + (receivedAt - requestedAt.mono);

const answerOf = (read: Observation<MachineFacts>): Proof => {
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
  const proof = answerOf(read);
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
