import { Refused } from '../../fencing/model/errors.ts';
import {
  answerIn,
  countedIn,
  doesNext,
  effectOf,
  generationIn,
  newRun,
  questionsOf,
  replyTo,
  type Scenario,
  sweepBy,
  sweptBy,
  worldLater,
} from './explore.ts';
import type { Policy } from '../../fencing/model/policy.ts';
import { bootIdOf } from './facts.ts';
import { named } from './effects.ts';
import { acted, begun, callsOf, type RunAt, runLater } from './runs.ts';
import { isOfFence, isOurs, isQuarantined, isTaintedByUs, labelOn, recordOn } from './on-node.ts';
import { untilRepeated, withoutDoubles } from './repeats.ts';
import { withName } from './story.ts';
import { type Event, progress } from './surroundings.ts';
import { OLDEST_TICKS } from './time.ts';
import { isGone, isVouchedFor, type NodeState, type World } from './world.ts';

/**
 * The second promise: when the faults end, fresh runs complete every fence. In a given world, everybody except
 * Cloudfence completes what they began, and one run after the other begins and ends. No call fails, and nobody stops or
 * starts anything.
 */

/** The world at the end, and what happened on the way. */
interface Recovery {
  readonly world: World;
  readonly says: readonly string[];
}

/** More events than any fair schedule of these worlds has. A schedule without an end is a defect, too. */
const MOST_EVENTS = 400;

const nextEvent = (world: World, scenario: Scenario, order: readonly Event[]): Recovery | null => {
  for (const { says, happens } of order) {
    const after = happens(world, scenario);
    if (after) return { world: after, says: [says] };
  }
  return null;
};

/** Lets everybody except Cloudfence complete what they began, and lets time pass until nothing changes any more. */
export const settle = (from: World, scenario: Scenario, order: readonly Event[] = progress): Recovery => {
  let world = from;
  const says: string[] = [];
  for (let tick = 0; tick <= OLDEST_TICKS; tick += 1) {
    for (let next = nextEvent(world, scenario, order); next; next = nextEvent(world, scenario, order)) {
      world = next.world;
      says.push(...next.says);
      if (says.length > MOST_EVENTS) throw new Error(`no end of events: ${says.slice(-8).join('; ')}`);
    }
    world = worldLater(world, scenario.assumption);
  }
  return { world, says };
};

/** Only one run at a time. */
const THE_RUN = 'the run';

interface Step {
  readonly world: World;
  readonly run: RunAt;
  readonly says: string;
}

/** The next event while no call fails: the run gets its answer, its call takes effect, or it sleeps. */
export const moveOn = (world: World, run: RunAt, scenario: Scenario, order: readonly Event[] = progress): Step => {
  if (run.at === 'act') {
    const [call] = callsOf(run);
    if (!call) throw new Error('a command without a call');
    const effect = effectOf(world, call.step, null, scenario);
    return effect instanceof Refused
      ? { world, run: acted(run, call, effect), says: `the API refuses ${call.step.do}: ${effect.message}` }
      : {
          world: effect.world,
          run: acted(begun(run, named(world, run.command.step)), call, 'done'),
          says: withName(effect.says, THE_RUN),
        };
  }
  if (run.at === 'question' || run.at === 'look') {
    const answers = questionsOf(run).flatMap((question) =>
      question === 'stale machine' ? [] : (answerIn(world, question, scenario.cloud) ?? []),
    );
    const [answer] = answers;
    if (!answer) throw new Error(`nobody answers ${JSON.stringify(run.command)}`);
    const reply = replyTo(run, answer, true);
    return {
      world: answer.to === 'reserve' ? countedIn(world, run) : world,
      run: reply.run,
      says: withName(`${reply.says}${doesNext(reply.run)}`, THE_RUN),
    };
  }
  const later = settle(world, scenario, order);
  return {
    world: later.world,
    run: runLater(run, scenario),
    says: ['time passes', ...withoutDoubles(later.says)].join('; '),
  };
};

/** More moves than any run in these worlds needs if no call fails. */
const MOST_MOVES = 60;

/** Lets one run continue to its end. */
const runToEnd = (from: World, scenario: Scenario, order: readonly Event[]): Recovery => {
  let at: Step = { world: from, run: newRun(scenario), says: 'a run begins' };
  const says = [at.says];
  let waits = '';
  for (let moves = 0; at.run.at !== 'end'; moves += 1) {
    if (moves > MOST_MOVES)
      return { world: at.world, says: [...untilRepeated(says), `and so on, without an end${waits}`] };
    at = moveOn(at.world, at.run, scenario, order);
    if (at.run.at === 'sleep') waits = doesNext(at.run);
    says.push(at.says);
  }
  const sweep = sweepBy(at.run);
  return { world: sweep ? sweptBy(at.world, sweep, scenario) : at.world, says };
};

const OUR_TAINT = 'our out-of-service taint';

/** Returns what Cloudfence has left on the Node. */
const ours = ({ node }: World): readonly string[] =>
  node === null
    ? []
    : [
        ...Object.keys(node.labels).filter(isOurs),
        ...Object.keys(node.annotations).filter(isOurs),
        ...node.taints.map(({ key }) => key).filter(isOurs),
        ...(isTaintedByUs(node) ? [OUR_TAINT] : []),
      ];

/** Returns whether a kubelet has removed, or changed, the record of the fence on the Node. */
const isRecordRemoved = ({ recordRemoved }: World, node: NodeState): boolean =>
  recordRemoved === labelOn(node) && recordOn(node) === null;

/** Returns whether only the CSI attacher, which is down, can still remove the VolumeAttachment. */
const isLeftToAttacher = ({ attacherDown, attachment }: World): boolean =>
  attacherDown === true && attachment === 'deleting';

/**
 * Returns whether the Node of a machine that is gone may stay under quarantine: it waits for the CSI attacher, or
 * nothing can confirm any more that the machine is gone, because its cloud does not know it, although it did when the
 * fence began, and the fence has freed its disk. EC2 knows a terminated machine for a while.
 */
const mayStay = (world: World, node: NodeState): boolean => {
  if (isLeftToAttacher(world)) return true;
  const { machine } = world;
  const record = recordOn(node);
  const isUnknown = machine.power === 'forgotten' || (record !== null && record.cloud !== 'aws');
  return isUnknown && (record === null ? isRecordRemoved(world, node) : record.generation !== null);
};

/**
 * Returns what must not stay on the Node of a machine that runs. A machine that was fenced on a person's statement, and
 * has resumed from memory since, shows the boot that was fenced: its quarantine waits for another one. Without its
 * record, a fence waits for a person. A release waits for a VolumeAttachment of the fence.
 */
const leftBehind = (world: World): readonly string[] => {
  const { node } = world;
  if (!node) return [];
  const record = recordOn(node);
  const waits = record?.vouched != null && record.bootID === bootIdOf(node);
  return waits || isRecordRemoved(world, node) || isLeftToAttacher(world)
    ? ours(world).filter((what) => what === OUR_TAINT)
    : ours(world);
};

/** Returns whether a fence of the present boot has begun. An opt-out does not end it. */
const isUnderway = (node: NodeState, generation: string | null): boolean => {
  const record = recordOn(node);
  return record?.phase === 'fencing' && record.bootID === bootIdOf(node) && record.generation === generation;
};

/**
 * Returns whether a person has the last word. One who opts a Node out has it about each later fence, and one who
 * removes a fence about the boot that the Node shows then, or, if the whole fence is gone, about the present start.
 */
const isLeftToPerson = (world: World, scenario: Scenario): boolean => {
  const { removed, optedOut, node, machine } = world;
  if (optedOut !== null) return !node || !isUnderway(node, generationIn(world, scenario));
  if (removed === null) return false;
  const isOfPresentStart = removed.start === null || removed.start === machine.boot;
  return isOfPresentStart && (node === null || removed.boot === null || removed.boot === node.boot);
};

/**
 * A dry run completes nothing. Shadow mode only removes what an earlier fence left: everything from a machine that
 * runs, and the taint from one that is off, after its work is done.
 */
const isLeftAlone = (world: World, { dryRun, shadow }: Policy): boolean =>
  dryRun ||
  (shadow && world.machine.power !== 'running' && (!isDetached(world) || !world.node || !isTaintedByUs(world.node)));

/**
 * Nothing proves that a machine is off if its memory is kept. But a fence that has begun on a person's statement is
 * completed, unless its mark was removed earlier because of a stale answer.
 */
const isVouchedFence = (world: World, { policy }: Scenario): boolean => {
  const record = world.node && recordOn(world.node);
  const stands = record?.phase === 'fencing' || record?.phase === 'fenced';
  return policy.vouching === 'accepted' && isVouchedFor(world) && stands && record.vouched !== null;
};

const isDetached = ({ attachment, disk }: World): boolean => attachment === 'gone' && disk !== 'here';

/** Returns what is still missing for a fence of a machine that is off, or null. */
const missingForFence = (world: World): string | null => {
  const { node, pod, neighbor, attachment, disk } = world;
  if (node && isOfFence(node) && !isQuarantined(node)) return 'the machine is off, and its Node is not in quarantine';
  if (isGone(world) && node && ours(world).length > 0 && !mayStay(world, node))
    return 'the Node of the terminated machine stays';
  const held = [
    pod === 'gone' && neighbor === 'gone' ? '' : 'its pod',
    attachment === 'gone' || isLeftToAttacher(world) ? '' : 'its VolumeAttachment',
    disk === 'here' ? 'its disk' : '',
  ];
  const holds = held.filter((what) => what !== '');
  return holds.length > 0 ? `the machine is off, and its Node still holds ${holds.join(', ')}` : null;
};

/** Returns what is still missing in a world that has recovered, or null. `from` is the world before the recovery. */
const missingIn = (world: World, from: World, scenario: Scenario): string | null => {
  if (isLeftAlone(world, scenario.policy)) return null;
  const { node, machine } = world;
  // If no cloud knows the machine, nothing proves that it runs, or that it is off.
  const isKnown = world.asked === 'about it';
  if (machine.power === 'running' && isKnown) {
    const left = leftBehind(world);
    return left.length > 0 ? `the machine runs, and its Node still has ${left.join(', ')}` : null;
  }
  if (node && isTaintedByUs(node) && !isLeftToAttacher(world)) return `${OUR_TAINT} stays although everything is free`;
  if (isLeftToPerson(world, scenario) || !isKnown) return null;
  return machine.hibernates && !isVouchedFence(from, scenario) ? null : missingForFence(world);
};

/** Returns whether a run changed nothing. Then the next run changes nothing either. */
const isUnchanged = (before: World, after: World): boolean =>
  JSON.stringify({ ...before, lease: null }) === JSON.stringify({ ...after, lease: null });

const THE_SAME = 'each further run does the same';

/** As many runs as a sweep starts in a few rounds. */
const MOST_RUNS = 6;

type Judge = (from: World) => readonly string[] | null;

/**
 * Returns a judge for one order of events. Others act before the first run if `isSettled`. The judge remembers how each
 * world ended.
 */
const judgeInOrder = (scenario: Scenario, order: readonly Event[], isSettled: boolean): Judge => {
  const recovered = new Set<string>();
  return (from) => {
    const isVouched = isVouchedFence(from, scenario);
    const keyOf = (world: World): string => `${JSON.stringify(world)}${isVouched ? ' vouched' : ''}`;
    const passed = [from];
    const settled = isSettled ? settle(from, scenario, order) : { world: from, says: [] };
    let { world } = settled;
    const says = [...withoutDoubles(settled.says)];
    for (let runs = 0; runs <= MOST_RUNS; runs += 1) {
      const text = keyOf(world);
      if (recovered.has(text) || missingIn(world, from, scenario) === null) {
        recovered.add(text);
        for (const before of passed) recovered.add(keyOf(before));
        return null;
      }
      passed.push(world);
      if (runs === MOST_RUNS) break;
      const ended = runToEnd(world, scenario, order);
      const after = settle(ended.world, scenario, order);
      const next = [...ended.says, ...withoutDoubles(after.says)];
      says.push(...(next.every((sentence) => says.includes(sentence)) ? [THE_SAME] : next));
      const stands = isUnchanged(world, after.world);
      world = after.world;
      if (stands) break;
    }
    return [...withoutDoubles(says), `${missingIn(world, from, scenario) ?? ''}, whatever fresh runs do`];
  };
};

/**
 * Returns a judge of worlds. If fresh runs do not complete every fence of a world, the judge returns what happens
 * instead, and otherwise null. Others act in two orders: what is possible first happens first, before a run begins, or
 * last, after a run has ended or sleeps.
 */
export const recoveryJudge = (scenario: Scenario): Judge => {
  const first = judgeInOrder(scenario, progress, true);
  const last = judgeInOrder(scenario, progress.toReversed(), false);
  return (from) => first(from) ?? last(from);
};
