import { Refused } from '../../fencing/model/errors.ts';
import type { SurveyOfClusters, ClusterFacts, Recheck } from '../../fencing/model/cluster-facts.ts';
import type { Admission } from '../../fencing/model/ledger.ts';
import type { MachineFacts, Witness } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { type Step, stepKey } from '../../fencing/model/steps.ts';
import { connectivityOf, surveyedNode } from '../../kubernetes/leases.ts';
import type { ExploredCloud } from './clouds.ts';
import { apply } from './effects.ts';
import { clusterFacts, isTaintedByUs, machineFacts, NODE, nodesIn, recheckOf } from './facts.ts';
import { brokenBy, brokenIn, takesForeign, type Invariant } from './invariants.ts';
import { stepInWords } from './story.ts';
import { answered, begin, callsOf, learned, observed, type RunAt } from './runs.ts';
import { events } from './surroundings.ts';
import { afterTime, NOW, TICK_MS } from './time.ts';
import { type Assumption, tickLater, type World } from './world.ts';

export interface Scenario {
  readonly name: string;
  /** One sentence about what may happen in it. */
  readonly says: string;
  /** Makes the world in which it begins. */
  readonly start: () => World;
  readonly cloud: ExploredCloud;
  /** How many runs there may be at once. */
  readonly runs: 1 | 2;
  /**
   * The two halves of a look are answered at one moment. This reduces the number of schedules in scenarios that would
   * have too many.
   */
  readonly looksAtOnce: boolean;
  readonly policy: Policy;
  readonly assumption: Assumption;
}

/** What happens to a world, and what that breaks. */
export interface Change {
  readonly says: string;
  readonly world: World;
  readonly breaks: Invariant | null;
}

/** Returns the world a tick later. */
export const worldLater = (world: World, assumption: Assumption): World => {
  const later = tickLater(world, assumption);
  return { ...later, node: afterTime(later.node, TICK_MS) };
};

/** Returns what everybody but the runs may do. */
export const changesOf = (world: World, scenario: Scenario): readonly Change[] =>
  events.flatMap(({ says, happens }) => {
    const after = happens(world, scenario);
    return after ? [{ says, world: after, breaks: brokenIn(world, after) }] : [];
  });

/** What a run may learn next. It depends on the world only through the answer. */
export type Question =
  | 'machine'
  | 'stale machine'
  | 'cluster'
  | 'recheck'
  | 'witness'
  | 'survey-connectivity'
  | 'reserve';

export type Answer =
  | { readonly to: 'machine' | 'stale machine'; readonly value: MachineFacts }
  | { readonly to: 'cluster'; readonly value: ClusterFacts }
  | { readonly to: 'recheck'; readonly value: Recheck }
  | { readonly to: 'witness'; readonly value: Witness }
  | { readonly to: 'survey-connectivity'; readonly value: SurveyOfClusters }
  | { readonly to: 'reserve'; readonly value: Admission; readonly recheck: Recheck };

type Asking = Extract<RunAt, { at: 'question' | 'look' }>;
type Half = Extract<RunAt, { at: 'look' }>['half'];
const NOTHING: Half = { machine: null, cluster: null };

/** Returns the questions whose answers move the run on. Empty for a run that does not wait for an answer. */
export const questionsOf = (run: RunAt): readonly Question[] => {
  if (run.at !== 'question' && run.at !== 'look') return [];
  const { command } = run;
  if (command.do !== 'look') return [command.do];
  const half = run.at === 'look' ? run.half : NOTHING;
  return [
    ...(command.machine && !half.machine ? (['machine', 'stale machine'] as const) : []),
    ...(command.cluster && !half.cluster ? (['cluster'] as const) : []),
  ];
};

/** The cluster has other Nodes in the same zone, which are reachable. */
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
export const countedIn = (world: World): World => (world.cap === 'open' ? { ...world, cap: 'counted' } : world);

/** Returns the answer to a question in this world. Null if there is none. */
export const answerIn = (world: World, to: Question, cloud: ExploredCloud): Answer | null => {
  switch (to) {
    case 'machine':
      return { to, value: machineFacts(world, false, cloud) };
    case 'stale machine':
      return world.wasOff === null ? null : { to, value: machineFacts(world, true, cloud) };
    case 'cluster':
      return { to, value: clusterFacts(world, cloud) };
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

/** The run after an answer, with a sentence about it. */
export interface Reply {
  readonly says: string;
  readonly run: RunAt;
}

const halfOf = (run: Asking): Half => (run.at === 'look' ? run.half : NOTHING);

/** Returns the run after an answer to its question. */
export const replyTo = (run: Asking, answer: Answer): Reply => {
  const { known, command } = run;
  switch (answer.to) {
    case 'machine':
    case 'stale machine':
      return {
        says: `reads the machine: ${answer.value.power}${answer.to === 'machine' ? '' : ', which is stale'}`,
        run: answered(known, command, { ...halfOf(run), machine: observed(answer.value) }),
      };
    case 'cluster':
      return {
        says: 'reads the cluster',
        run: answered(known, command, { ...halfOf(run), cluster: observed(answer.value) }),
      };
    case 'recheck': {
      const step = command.do === 'recheck' ? stepKey(command.step) : '';
      const result = { to: answer.to, value: answer.value, requestedAt: NOW, step };
      return { says: 'rechecks the Node', run: learned(known, command, result) };
    }
    case 'witness':
      return { says: `asks the disk, which is ${answer.value}`, run: learned(known, command, answer) };
    case 'survey-connectivity':
      return { says: 'surveys the cluster', run: learned(known, command, { ...answer, requestedAt: NOW }) };
    case 'reserve': {
      const clears = command.do === 'reserve' ? command.clears : null;
      const recheck = clears && { value: answer.recheck, requestedAt: NOW, step: clears.step };
      return {
        says: answer.value.admitted ? 'is admitted by the cap, and rechecks the Node' : 'reaches the cap',
        run: learned(known, command, { to: answer.to, value: answer.value, recheck }),
      };
    }
  }
};

/** Returns what the run is about to do, in words. */
export const doesNext = (run: RunAt): string => {
  switch (run.at) {
    case 'act':
      return `, and is about to send: ${callsOf(run)
        .map(({ step }) => stepInWords(step))
        .join('; ')}`;
    case 'sleep':
      return `, and waits (${run.command.because.code})`;
    case 'end':
      return `, and ends: ${run.ending.outcome} (${run.ending.reason.code})`;
    case 'question':
    case 'look':
      return '';
  }
};

/** Returns the machine's boot as the cloud names it. */
const generationIn = (world: World, { cloud }: Scenario): string | null => machineFacts(world, false, cloud).generation;

/** What a run that ends, or waits, has seen of a machine that runs, or that is kept in memory. */
export interface Sweep {
  readonly generation: string | null;
  /** Whether it saw our out-of-service taint on the Node. */
  readonly sawTaint: boolean;
}

/** Returns what the run saw of such a machine before it ended or waits. Null if it goes on, or saw else. */
export const sweepBy = (run: RunAt): Sweep | null => {
  const { machine, cluster } = run.known;
  return (run.at === 'end' || run.at === 'sleep') &&
    (machine?.value.power === 'running' || machine?.value.power === 'suspended')
    ? { generation: machine.value.generation, sawTaint: cluster?.value.node?.taints.ours ?? false }
    : null;
};

/**
 * Returns the world after the sweep: it is done for the present boot, if it saw this boot. A sweep that read the Node
 * before our taint was set does not count.
 */
export const sweptBy = (world: World, { generation, sawTaint }: Sweep, scenario: Scenario): World =>
  generationIn(world, scenario) === generation && (sawTaint || !world.node || !isTaintedByUs(world.node))
    ? { ...world, swept: true }
    : world;

/**
 * The mark begins anew the time within which a sweep has to look. A taint that a person removed just before Cloudfence
 * lifted it is lifted.
 */
const afterStep = ({ do: step }: Step, effect: World): World => {
  if (step === 'mark') return { ...effect, swept: false };
  return step === 'lift-out-of-service' ? { ...effect, removed: null } : effect;
};

/** Returns what a step does to the world when it takes effect, or the refusal of the API. */
export const effectOf = (world: World, step: Step, { assumption, cloud, policy }: Scenario): Change | Refused => {
  const effect = apply(world, step, cloud);
  if (effect instanceof Refused) return effect;
  const after = afterStep(step, effect);
  const breaks = brokenBy(step, world, { assumption, policy }) ?? takesForeign(world, after) ?? brokenIn(world, after);
  return { says: `takes effect: ${stepInWords(step)}`, world: after, breaks };
};

export const newRun = ({ policy, cloud }: Scenario): RunAt => begin(policy, cloud);
