import { Refused } from '../../fencing/model/errors.ts';
import { type SurveyOfClusters, type ClusterFacts, type Recheck } from '../../fencing/model/cluster-facts.ts';
import type { Admission } from '../../fencing/model/ledger.ts';
import type { MachineFacts, Power, Witness } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { type Step, stepKey } from '../../fencing/model/steps.ts';
import { stepsOfCommand } from '../../fencing/loop/command.ts';
import type { CommandResult } from '../../fencing/loop/reduce.ts';
import { connectivityOf, surveyedNode } from '../../kubernetes/leases.ts';
import type { ExploredCloud } from './clouds.ts';
import { apply } from './effects.ts';
import { clusterFacts, machineFacts, NODE, nodesIn, recheckOf } from './facts.ts';
import { brokenBy, brokenIn, brokenOnNode, type Invariant } from './invariants.ts';
import { isTaintedByUs } from './on-node.ts';
import { plannedInWords, RUN, stepInWords } from './story.ts';
import {
  answered,
  type Asking,
  begin,
  type Half,
  learned,
  type NodeRead,
  type Read,
  type RunAt,
  type Slow,
} from './runs.ts';
import { events } from './surroundings.ts';
import { afterTime, NOW, TICK_MS } from './time.ts';
import { type Assumption, isUp, tickLater, type World } from './world.ts';

export interface Scenario {
  readonly name: string;
  /** One sentence about what may happen. */
  readonly says: string;
  /** Creates the world in which it begins. */
  readonly start: () => World;
  readonly cloud: ExploredCloud;
  /** The highest number of runs at the same time. */
  readonly runs: 1 | 2;
  /**
   * The questions whose answers may take any time. Such an answer is given at any moment after the question. The
   * attachments are read after the rest of the cluster. A slow write reads the Node, and its patch takes effect at any
   * moment after that.
   */
  readonly slow: Slow;
  readonly policy: Policy;
  readonly assumption: Assumption;
}

/** What happens to a world, and which invariant that breaks. */
export interface Change {
  readonly says: string;
  readonly world: World;
  readonly breaks: Invariant | null;
}

/** Returns the world one tick later. */
export const worldLater = (world: World, assumption: Assumption): World => {
  const later = tickLater(world, assumption);
  return { ...later, node: afterTime(later.node, TICK_MS) };
};

/** Returns what everybody except the runs may do. */
export const changesOf = (world: World, scenario: Scenario): readonly Change[] =>
  events.flatMap(({ says, happens }) => {
    const after = happens(world, scenario);
    return after ? [{ says, world: after, breaks: brokenIn(world, after, scenario) }] : [];
  });

/** What a run may read next. The world has an influence on that only through the answer. */
export type Question =
  | 'machine'
  | 'stale machine'
  | 'cluster'
  | 'attachments'
  | 'recheck'
  | 'witness'
  | 'survey-connectivity'
  | 'reserve'
  | 'arrival';

export type Answer =
  | { readonly to: 'machine' | 'stale machine'; readonly value: MachineFacts }
  | { readonly to: 'cluster'; readonly value: ClusterFacts }
  /** The rest of a read of the cluster. */
  | { readonly to: 'attachments'; readonly value: ClusterFacts['volumes'] }
  | { readonly to: 'recheck'; readonly value: Recheck }
  | { readonly to: 'witness'; readonly value: Witness }
  | { readonly to: 'survey-connectivity'; readonly value: SurveyOfClusters }
  | { readonly to: 'reserve'; readonly value: Admission; readonly recheck: Recheck }
  /** An answer that was on its way is received. */
  | { readonly to: 'arrival' };

const NOTHING: Half = { machine: null, cluster: null };

/** Returns the questions for whose answers the run waits. Empty for a run that does not wait for an answer. */
export const questionsOf = (run: RunAt): readonly Question[] => {
  if (run.at === 'answer') return ['arrival'];
  if (run.at !== 'question' && run.at !== 'look') return [];
  const { command } = run;
  if (command.do !== 'look') return [command.do];
  const { machine, cluster } = run.at === 'look' ? run.half : NOTHING;
  return [
    ...(command.machine && !machine ? (['machine', 'stale machine'] as const) : []),
    ...(machine?.receivedAt === null && machine.requestedAt.mono < NOW.mono ? (['arrival'] as const) : []),
    ...(command.cluster && !cluster ? (['cluster'] as const) : []),
    ...(cluster?.receivedAt === null ? (['attachments'] as const) : []),
  ];
};

/** Returns whether the answer to this question may be on its way for a while. */
export const mayTakeTime = (question: Question, { slow }: Pick<Scenario, 'slow'>): boolean => {
  if (question === 'stale machine') return slow.has('machine');
  return question !== 'attachments' && question !== 'reserve' && question !== 'arrival' && slow.has(question);
};

/** The cluster has other Nodes in the same zone, and they are reachable. */
const surveyOf = (world: World, cloud: ExploredCloud): SurveyOfClusters => {
  const isFresh = world.connected && world.lease.age < 2;
  const nodes = nodesIn(world, cloud);
  const others = [...nodes.keys()].filter((name) => name !== NODE);
  const leases = { fresh: new Set(isFresh ? [NODE, ...others] : others), stale: new Set(isFresh ? [] : [NODE]) };
  const machine = { machine: cloud.machine, machineOf: cloud.identityRules.machineOf };
  const counts = new Map([...nodes].map(([name, node]) => [name, surveyedNode(node, machine)]));
  return { ...connectivityOf(NODE, leases, counts), elsewhere: [], unanswered: [] };
};

const witnessIn = ({ disk }: World): Witness => (disk === 'here' ? 'held' : 'released');

const admissionIn = ({ cap }: World): Admission => ({
  admitted: cap !== 'reached',
  begun: 1,
  unfinished: 1,
  limits: { begun: 1, unfinished: 1 },
  nodes: 2,
  opens: null,
});

/** Returns the world after a claim. A fence that the cap admits is counted. */
export const countedIn = (world: World, run: RunAt): World => {
  if (world.cap === 'open') return { ...world, cap: 'counted' };
  const isByBoot = world.cap === 'by boot' && run.at === 'question' && run.command.do === 'reserve';
  return isByBoot ? { ...world, reserved: run.command.reservation.boot } : world;
};

/** Returns the answer to a question in this world. Null if there is none. */
export const answerIn = (world: World, to: Question, cloud: ExploredCloud): Answer | null => {
  switch (to) {
    case 'machine':
      return { to, value: machineFacts(world, false, cloud) };
    case 'stale machine':
      return world.wasOff === null ? null : { to, value: machineFacts(world, true, cloud) };
    case 'cluster':
      return { to, value: clusterFacts(world, cloud) };
    case 'attachments':
      return { to, value: clusterFacts(world, cloud).volumes };
    case 'arrival':
      return { to };
    case 'recheck':
      return { to, value: recheckOf(world, cloud) };
    case 'witness':
      return { to, value: witnessIn(world) };
    case 'survey-connectivity':
      return { to, value: surveyOf(world, cloud) };
    case 'reserve':
      return { to, value: admissionIn(world), recheck: recheckOf(world, cloud) };
  }
};

/** A run that waits for an answer, whether that answer has been given or not. */
export type Waiting = Extract<RunAt, { at: 'question' | 'look' | 'answer' }>;

/** The run after an answer, with a sentence about the answer. */
export interface Reply {
  readonly says: string;
  readonly run: RunAt;
}

const halfOf = (run: Asking): Half => (run.at === 'look' ? run.half : NOTHING);

const IN_TRANSIT = ', and the answer is on its way';

/** Returns the run after an answer to its question. The answer is received, or is on its way. */
export const replyTo = (run: Waiting, answer: Answer, arrives: boolean): Reply => {
  if (run.at === 'answer')
    return { says: `${RUN} receives the answer`, run: learned(run.known, run.command, run.result) };
  const { known, command, askedAt } = run;
  const half = halfOf(run);
  const read = <T>(value: T): Read<T> => ({ value, requestedAt: askedAt, receivedAt: arrives ? NOW.mono : null });
  const reply = (says: string, next: RunAt): Reply => ({ says: arrives ? says : `${says}${IN_TRANSIT}`, run: next });
  const after = (says: string, result: CommandResult): Reply =>
    reply(says, arrives ? learned(known, command, result) : { at: 'answer', known, command, result });
  switch (answer.to) {
    case 'machine':
    case 'stale machine':
      return reply(
        `${RUN} reads the machine: ${answer.value.power}${answer.to === 'machine' ? '' : ', which is stale'}`,
        answered(run, { ...half, machine: read(answer.value) }),
      );
    case 'cluster':
      return reply(
        `${RUN} ${arrives ? 'reads the cluster' : 'reads the Node and its pods'}`,
        answered(run, { ...half, cluster: read(answer.value) }),
      );
    case 'attachments':
      return reply(
        `${RUN} reads the attachments`,
        answered(run, { ...half, cluster: completed(half.cluster, answer.value) }),
      );
    case 'arrival':
      return reply(
        `${RUN} receives what it read of the machine`,
        answered(run, { ...half, machine: half.machine && { ...half.machine, receivedAt: NOW.mono } }),
      );
    case 'recheck': {
      const step = command.do === 'recheck' ? stepKey(command.step) : '';
      return after(`${RUN} rechecks the Node`, { to: answer.to, value: answer.value, requestedAt: askedAt, step });
    }
    case 'witness':
      return after(`${RUN} asks the disk, which is ${answer.value}`, answer);
    case 'survey-connectivity':
      return after(`${RUN} surveys the cluster`, { ...answer, requestedAt: askedAt });
    case 'reserve':
      return reply(
        answer.value.admitted ? `the cap admits ${RUN}, which rechecks the Node` : `the cap does not admit ${RUN}`,
        learned(known, command, reserved(command, answer)),
      );
  }
};

const completed = (cluster: Half['cluster'], volumes: ClusterFacts['volumes']): Half['cluster'] =>
  cluster && { ...cluster, value: { ...cluster.value, volumes }, receivedAt: NOW.mono };

const reserved = (
  command: Asking['command'],
  { value, recheck }: Extract<Answer, { to: 'reserve' }>,
): CommandResult => {
  const clears = command.do === 'reserve' ? command.markToRecheck : null;
  return { to: 'reserve', value, recheck: clears && { value: recheck, requestedAt: NOW, step: clears.step } };
};

/** Returns the next command of the run and the code of its reason, in words. */
export const doesNext = (run: RunAt): string => {
  switch (run.at) {
    case 'act':
      return `. It is about to ${plannedInWords(stepsOfCommand(run.command))}`;
    case 'sleep':
      return `. It waits (${run.command.because.code})`;
    case 'end':
      return `. It ends: ${run.ending.outcome} (${run.ending.reason.code})`;
    case 'question':
    case 'look':
    case 'answer':
      return '';
  }
};

/** Returns the boot of the machine, as the cloud names it. */
export const generationIn = (world: World, { cloud }: Scenario): string | null =>
  machineFacts(world, false, cloud).generation;

/** What a run saw, before it ended or waits, of a machine whose guest may write, or whose memory is kept. */
export interface Sweep {
  readonly generation: string | null;
  /** Whether the run saw our out-of-service taint on the Node. */
  readonly sawTaint: boolean;
}

const WRITING: ReadonlySet<Power> = new Set<Power>(['starting', 'running', 'stopping', 'suspended']);

/**
 * Returns what the run saw of such a machine before it ended or waits. Null if it continues, or saw another one. A dry
 * run reacts to nothing.
 */
export const sweepBy = (run: RunAt): Sweep | null => {
  const { machine, cluster, policy } = run.known;
  return (run.at === 'end' || run.at === 'sleep') &&
    !policy.dryRun &&
    machine !== null &&
    WRITING.has(machine.value.power)
    ? { generation: machine.value.generation, sawTaint: cluster?.value.node?.taints.ours ?? false }
    : null;
};

/**
 * Returns the world after a sweep. The sweep has handled the present boot if it saw that boot. A sweep that read the
 * Node before our taint was set does not count.
 */
export const sweptBy = (world: World, { generation, sawTaint }: Sweep, scenario: Scenario): World =>
  generationIn(world, scenario) === generation && (sawTaint || !world.node || !isTaintedByUs(world.node))
    ? { ...world, swept: true }
    : world;

const afterMark = (effect: World): World => ({
  ...effect,
  removed: effect.removed?.mistakable === undefined ? effect.removed : null,
  swept: false,
  offSinceMark: effect.offSinceMark === null ? null : !isUp(effect) && effect.machine.power !== 'starting',
  word: effect.word && {
    ...effect.word,
    laterFence: effect.word.laterFence || effect.machine.boot > effect.word.start,
  },
});

/**
 * Returns whether the step is the first of a `release --accept`, for the boot in which the machine is now. A person's
 * statement about a machine that has started is not about its next stop.
 */
const endsOnWord = (step: Step, world: World, scenario: Scenario): boolean =>
  step.do === 'lift-out-of-service' &&
  step.record?.phase === 'releasing' &&
  step.record.bootID === step.node.bootID &&
  step.record.generation === generationIn(world, scenario);

/**
 * A tombstone tells every run about a fence that was removed without a trace. Without a tombstone, nobody knows that of
 * a machine that runs again.
 */
const afterTombstone = (isSet: boolean, effect: World): World => {
  const { node, removed } = effect;
  if (!isSet) return isUp(effect) || effect.machine.power === 'starting' ? { ...effect, removed: null } : effect;
  return node && removed?.boot === null ? { ...effect, removed: { ...removed, boot: node.boot, age: 0 } } : effect;
};

/**
 * The mark starts the time again within which a sweep has to look. A taint that a person removed just before Cloudfence
 * lifted it counts as lifted. A fence that a person ended with `release --accept` counts as removed, as if the person
 * had removed its taints.
 */
const afterStep = (step: Step, effect: World, scenario: Scenario): World => {
  if (step.do === 'mark') return afterMark(effect);
  if (effect.node && endsOnWord(step, effect, scenario))
    return {
      ...effect,
      removed: {
        boot: effect.node.boot,
        start: effect.machine.boot,
        age: 0,
        ...(effect.wasOff !== null && { mistakable: generationIn(effect, scenario) ?? '' }),
      },
    };
  if (step.do === 'set-tombstone') return afterTombstone(step.tombstone !== null, effect);
  return step.do === 'lift-out-of-service' ? { ...effect, removed: null } : effect;
};

/**
 * Returns what the step does to the world when it takes effect, or the refusal of the API. `read`: what a write has
 * read of the Node before, or null.
 */
export const effectOf = (world: World, step: Step, read: NodeRead | null, scenario: Scenario): Change | Refused => {
  const effect = apply(world, step, scenario.cloud, read);
  if (effect instanceof Refused) return effect;
  const after = afterStep(step, effect, scenario);
  const breaks =
    brokenBy(step, world, scenario) ??
    brokenOnNode(step, world, after, scenario.policy) ??
    brokenIn(world, after, scenario);
  return { says: `the call of ${RUN} takes effect: ${stepInWords(step)}`, world: after, breaks };
};

export const newRun = ({ policy, cloud }: Scenario): RunAt => begin(policy, cloud);

/** Returns the run of a person who ends the fence with `release --accept`. */
export const newRelease = ({ policy, cloud }: Scenario): RunAt =>
  begin(policy, cloud, { accepted: 'looked at the machine' });

/**
 * Returns the run of a person who states that the machine is off (`assertOff`). It reads the machine at once: nothing
 * shows what has happened between the statement and the first read.
 */
export const newVouched = (world: World, { policy, cloud }: Scenario): RunAt => {
  const run = begin(policy, cloud, { vouched: 'the machine is off' });
  const answer = answerIn(world, 'machine', cloud);
  if (run.at !== 'question' || !answer) throw new Error('a run reads the machine first');
  return replyTo(run, answer, true).run;
};
