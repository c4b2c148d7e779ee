import { Refused } from '../../fencing/model/errors.ts';
import type { Admission } from '../../fencing/model/ledger.ts';
import type { Witness } from '../../fencing/model/machine.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { stepKey } from '../../fencing/model/steps.ts';
import type { RunState } from '../../fencing/loop/state.ts';
import { apply } from './effects.ts';
import { clusterFacts, machineFacts, recheckOf } from './facts.ts';
import { brokenBy, brokenIn, type Invariant } from './invariants.ts';
import {
  acted,
  answered,
  awoken,
  begin,
  commandOf,
  hasExpired,
  isAwake,
  learned,
  mayTakeEffect,
  observed,
  paused,
  type RunAt,
} from './runs.ts';
import { events, spend } from './surroundings.ts';
import { afterTime, NOW, TICK_MS } from './time.ts';
import { type Assumption, tickLater, type World } from './world.ts';

export interface Scenario {
  readonly name: string;
  /** One sentence about what may happen in it. */
  readonly says: string;
  readonly start: World;
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
export const changesOf = (world: World, { assumption }: Scenario): readonly Change[] =>
  events.flatMap(({ says, happens }) => {
    const after = happens(world, assumption);
    return after ? [{ says, world: after, breaks: brokenIn(world, after) }] : [];
  });

/** What a run may learn next. It depends on the world only through the answer. */
export type Question = 'machine' | 'stale machine' | 'cluster' | 'recheck' | 'witness' | 'nothing';

type Asking = Extract<RunAt, { at: 'rest' | 'look' }>;

/** Returns the run's command, and what has been answered of it. */
const askedBy = (run: Asking) =>
  run.at === 'look' ? run : { command: commandOf(run.known), half: { machine: null, cluster: null } };

/** Returns the questions whose answers move the run on. Empty for a run that does not wait for an answer. */
export const questionsOf = (run: RunAt): readonly Question[] => {
  if (run.at === 'pause') return isAwake(run) ? ['nothing'] : [];
  if (run.at === 'act') return [];
  const { command, half } = askedBy(run);
  if (command.do !== 'look') return command.do === 'recheck' || command.do === 'witness' ? [command.do] : ['nothing'];
  return [
    ...(command.machine && !half.machine ? (['machine', 'stale machine'] as const) : []),
    ...(command.cluster && !half.cluster ? (['cluster'] as const) : []),
  ];
};

const witnessIn = ({ disk }: World): Witness => (disk === 'here' ? 'held' : 'released');

/** Returns the answer to a question in this world. Undefined if there is none, or none yet. */
export const answerIn = (world: World, question: Question): unknown => {
  switch (question) {
    case 'machine':
      return machineFacts(world, false);
    case 'stale machine':
      return world.wasOff === null ? undefined : machineFacts(world, true);
    case 'cluster':
      return clusterFacts(world);
    case 'recheck':
      return recheckOf(world);
    case 'witness':
      return witnessIn(world);
    case 'nothing':
      return null;
  }
};

const ADMITTED: Admission = {
  admitted: true,
  begun: 0,
  unfinished: 0,
  limits: { begun: 1, unfinished: 1 },
  nodes: 2,
  opens: null,
};

/** The run after an answer, with a sentence about it. */
export interface Reply {
  readonly says: string;
  readonly run: RunAt | null;
  /** The boot of the machine that the run saw running before it ended or waits. Null if it goes on, or saw else. */
  readonly sawRunning: string | null;
}

const seenRunning = (known: RunState, run: RunAt | null): string | null =>
  (run === null || run.at === 'pause') && known.machine?.says.power === 'running'
    ? known.machine.says.generation
    : null;

const replied = (says: string, known: RunState, run: RunAt | null): Reply => ({
  says,
  run,
  sawRunning: seenRunning(known, run),
});

const looked = (run: Asking, question: Question, world: World): Reply => {
  const { known } = run;
  const { command, half } = askedBy(run);
  if (command.do !== 'look') throw new Error(`the run does not ask for the ${question}`);
  if (question === 'cluster')
    return replied(
      'the run reads the cluster',
      known,
      answered(known, command, { ...half, cluster: observed(clusterFacts(world)) }),
    );
  const machine = machineFacts(world, question === 'stale machine');
  const says = `the run reads the machine: ${machine.power}${question === 'machine' ? '' : ', which is stale'}`;
  return replied(says, known, answered(known, command, { ...half, machine: observed(machine) }));
};

/** Returns the run after the world's answer to its question. */
export const replyTo = (run: RunAt, question: Question, world: World): Reply => {
  const { known } = run;
  if (run.at === 'pause') return replied('the run wakes up', known, awoken(run));
  if (run.at === 'act') throw new Error('a run that acts asks nothing');
  if (run.at === 'look' || question === 'cluster' || question.endsWith('machine')) return looked(run, question, world);
  const command = commandOf(known);
  switch (command.do) {
    case 'recheck':
      return replied(
        'the run rechecks the Node',
        known,
        learned(known, command, { to: 'recheck', says: recheckOf(world), askedAt: NOW, step: stepKey(command.step) }),
      );
    case 'witness':
      return replied(
        'the run asks the disk',
        known,
        learned(known, command, { to: 'witness', says: witnessIn(world) }),
      );
    case 'claim':
      return replied('the cap admits the fence', known, learned(known, command, { to: 'claim', says: ADMITTED }));
    case 'act':
      return replied(`the run is about to send: ${command.step.do}`, known, { at: 'act', known, command });
    case 'pause':
      return replied(`the run waits (${command.because.code})`, known, paused(known, command));
    case 'end':
      return replied(
        `the run ends: ${command.ending.outcome} (${command.ending.reason.code})`,
        known,
        learned(known, command, { to: 'end', ending: command.ending }),
      );
    case 'look':
    case 'survey-connectivity':
    case 'locate':
    case 'conclude':
    case 'imagine':
    case 'record-event':
    case 'finish':
      throw new Error(`no run of this world gets to ${command.do}`);
  }
};

/** A run that ends, or waits, after it has seen the machine running in this boot is the sweep on which others rely. */
export const sweptBy = (world: World, { sawRunning }: Reply): World =>
  sawRunning === `boot-${world.machine.boot}` && !world.swept ? { ...world, swept: true } : world;

type Acting = Extract<RunAt, { at: 'act' }>;

export interface ActMove extends Change {
  readonly run: RunAt | null;
}

const effects = (world: World, run: Acting, assumption: Assumption): readonly ActMove[] => {
  const { step } = run.command;
  const effect = apply(world, step);
  if (effect instanceof Refused)
    return [{ says: `the API refuses: ${step.do} (${effect.message})`, world, run: acted(run, effect), breaks: null }];
  // The mark begins anew the time within which a sweep has to look.
  const after = step.do === 'mark' ? { ...effect, swept: false } : effect;
  const breaks = brokenBy(step, world, assumption) ?? brokenIn(world, after);
  const done: ActMove = { says: `takes effect: ${step.do}`, world: after, run: acted(run, 'done'), breaks };
  const lost = spend(after, 'faults');
  return lost
    ? [done, { says: `takes effect, and its answer is lost: ${step.do}`, world: lost, run: acted(run, 'lost'), breaks }]
    : [done];
};

/** Returns what a step about to be sent may come to: its effect, with an answer or without, or a failure. */
export const actMoves = (world: World, run: Acting, { assumption }: Scenario): readonly ActMove[] => {
  const { step } = run.command;
  const onItsWay = mayTakeEffect(run, assumption.transit);
  const failed = onItsWay ? spend(world, 'faults') : null;
  return [
    ...(onItsWay ? effects(world, run, assumption) : []),
    ...(failed ? [{ says: `fails: ${step.do}`, world: failed, run: acted(run, 'lost'), breaks: null }] : []),
    ...(hasExpired(run)
      ? [{ says: `the permit has expired: ${step.do}`, world, run: acted(run, 'expired'), breaks: null }]
      : []),
  ];
};

/** Returns a new run. Its id is one that no fence on the Node has. */
export const newRun = ({ node }: World, { policy }: Scenario): RunAt => {
  const taken = JSON.stringify(node);
  return begin(['a', 'b', 'c'].find((id) => !taken.includes(`${id}.`)) ?? 'd', policy);
};
