import { Refused } from '../../fencing/model/errors.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { brokenIn, type Invariant, restoresFence } from './invariants.ts';
import {
  type Answer,
  answerIn,
  countedIn,
  type Change,
  changesOf,
  doesNext,
  effectOf,
  generationIn,
  mayTakeTime,
  newRelease,
  newRun,
  newVouched,
  type Question,
  questionsOf,
  replyTo,
  type Scenario,
  type Sweep,
  sweepBy,
  sweptBy,
  worldLater,
} from './explore.ts';
import { attachmentFacts, machineFacts } from './facts.ts';
import { named } from './effects.ts';
import {
  acted,
  type Acting,
  begun,
  bound,
  type Call,
  callsOf,
  hasExpired,
  isOver,
  type NodeRead,
  outdated,
  rested,
  type RunAt,
  runLater,
  runText,
  withRead,
} from './runs.ts';
import { numbered, onceEach, onceFor, stateKeys } from './state-table.ts';
import { afterVouch, afterWord, spend } from './surroundings.ts';
import { RUN, stepInWords, TIME_PASSES } from './story.ts';
import type { World } from './world.ts';

/**
 * What may happen next in every state. Each distinct world, run, and step is stored once, under a number. A state is a
 * world and the runs in it. So the next command of a run after an answer is computed only once, however many states
 * contain that answer.
 */

/** The number of no run. */
export const NOBODY = 0;

export const numbersOf = (scenario: Scenario) => {
  const runs = numbered<RunAt | null>((run) => (run === null || run.at === 'end' ? '' : runText(run)));
  runs.numberOf(null);
  return {
    scenario,
    runs,
    worlds: numbered<World>(JSON.stringify),
    answers: numbered<Answer>(JSON.stringify),
    steps: numbered<Step>(JSON.stringify),
  };
};

export type Numbers = ReturnType<typeof numbersOf>;

/** The next state of a world, or of a run in it. `wrote` says whether someone wrote to the Node. */
interface WorldEdge {
  readonly says: string;
  readonly world: number;
  readonly wrote: boolean;
  readonly breaks: Invariant | null;
}
/** `removesFence` says whether a person removes the whole fence. */
interface ChangeEdge extends WorldEdge {
  readonly removesFence: boolean;
}
interface RunEdge extends WorldEdge {
  readonly run: number;
}

const edgeTo = ({ worlds }: Numbers, before: World, { says, world, breaks }: Change): WorldEdge => ({
  says,
  world: worlds.numberOf(world),
  wrote: world.node !== before.node,
  breaks,
});

/** What everybody except the runs may do. */
const changeEdges = (numbers: Numbers) => {
  const known = onceFor<readonly ChangeEdge[]>();
  return (number: number): readonly ChangeEdge[] =>
    known(number, () => {
      const world = numbers.worlds.valueOf(number);
      return changesOf(world, numbers.scenario).map((change) => ({
        ...edgeTo(numbers, world, change),
        removesFence: change.world.removed !== world.removed && change.world.removed?.boot === null,
      }));
    });
};

/** What a run may read of the world. */
const answerEdges = ({ scenario, worlds, runs, answers }: Numbers) => {
  const asked = onceFor<readonly Question[]>();
  const answered: Readonly<Record<Question, ReturnType<typeof onceFor<number | null>>>> = {
    machine: onceFor(),
    'stale machine': onceFor(),
    cluster: onceFor(),
    attachments: onceFor(),
    arrival: onceFor(),
    recheck: onceFor(),
    witness: onceFor(),
    'survey-connectivity': onceFor(),
    reserve: onceFor(),
  };
  const repliesOf = onceEach<{ readonly says: string; readonly run: number; readonly sweep: number | null }>;
  const replies = { received: repliesOf(), underway: repliesOf() };
  const sweeps = numbered<Sweep>(JSON.stringify);
  const claimed = onceEach<number>();
  const swept = onceEach<Pick<WorldEdge, 'world' | 'breaks'>>();
  const answerTo = (world: number, question: Question): number | null =>
    answered[question](world, () => {
      const answer = answerIn(worlds.valueOf(world), question, scenario.cloud);
      return answer && answers.numberOf(answer);
    });
  const replyIn = (number: number, answer: number, becomes: keyof typeof replies) =>
    replies[becomes](number, answer, () => {
      const run = runs.valueOf(number);
      if (run?.at !== 'question' && run?.at !== 'look' && run?.at !== 'answer')
        throw new Error('this run asks nothing');
      const reply = replyTo(run, answers.valueOf(answer), becomes === 'received');
      const sweep = sweepBy(reply.run);
      return {
        says: `${reply.says}${doesNext(reply.run)}`,
        run: runs.numberOf(reply.run),
        sweep: sweep && sweeps.numberOf(sweep),
      };
    });
  const edge = (world: number, number: number, question: Question, becomes: keyof typeof replies): RunEdge | null => {
    const answer = answerTo(world, question);
    const reply = answer === null ? null : replyIn(number, answer, becomes);
    if (!reply) return null;
    const { says, run, sweep } = reply;
    const after = question === 'reserve' ? afterClaim(world, number) : world;
    return { says, run, wrote: false, ...(sweep === null ? { world: after, breaks: null } : afterSweep(after, sweep)) };
  };
  const afterClaim = (world: number, number: number): number =>
    claimed(world, number, () => {
      const run = runs.valueOf(number);
      return run === null ? world : worlds.numberOf(countedIn(worlds.valueOf(world), run));
    });
  const afterSweep = (world: number, sweep: number): Pick<WorldEdge, 'world' | 'breaks'> =>
    swept(world, sweep, () => {
      const before = worlds.valueOf(world);
      const after = sweptBy(before, sweeps.valueOf(sweep), scenario);
      return { world: worlds.numberOf(after), breaks: brokenIn(before, after, scenario) };
    });
  return (world: number, number: number): readonly RunEdge[] =>
    asked(number, () => {
      const run = runs.valueOf(number);
      return run === null ? [] : questionsOf(run);
    })
      .flatMap((question) => [
        edge(world, number, question, 'received') ?? [],
        (mayTakeTime(question, scenario) && edge(world, number, question, 'underway')) || [],
      ])
      .flat();
};

/** What may happen to a call that is about to be sent: it has its effect, with or without an answer, or it fails. */
const actEdges = (numbers: Numbers) => {
  const { scenario, worlds, runs, steps } = numbers;
  const stepOf = onceEach<number>();
  const words = onceFor<string>();
  const reads = numbered<NodeRead | null>(JSON.stringify);
  const effects = onceFor<ReturnType<typeof onceEach<WorldEdge | Refused>>>();
  const readRuns = onceEach<number>();
  const after = {
    done: onceEach<ReturnType<typeof onceFor<number>>>(),
    lost: onceEach<number>(),
    expired: onceEach<number>(),
    refused: onceEach<ReturnType<typeof onceFor<number>>>(),
  };
  const faults = onceFor<number | null>();
  const withFault = (world: number): number | null =>
    faults(world, () => {
      const spent = spend(worlds.valueOf(world), 'faults');
      return spent && worlds.numberOf(spent);
    });
  const effectIn = (world: number, step: number, read: NodeRead | null) =>
    effects(reads.numberOf(read), () => onceEach())(world, step, () => {
      const before = worlds.valueOf(world);
      const effect = effectOf(before, steps.valueOf(step), read, scenario);
      return effect instanceof Refused ? effect : edgeTo(numbers, before, effect);
    });
  /** A slow write reads the Node first, unless it finds then that it must not, or need not, be sent. */
  const readsFirst = (step: Step, { wrote }: WorldEdge, { read }: Acting): boolean =>
    scenario.slow.has('write') && read === null && wrote && 'node' in step && step.do !== 'delete-node';
  const afterRead = (world: number, number: number, run: Acting): number =>
    readRuns(world, number, () => {
      const { node } = worlds.valueOf(world);
      return node ? runs.numberOf(withRead(run, node)) : number;
    });
  const isDone = (world: number, number: number, run: Acting, call: Call): number => {
    const { latestFence } = worlds.valueOf(world);
    const step = named({ latestFence }, call.step);
    const byName = after.done(number, call.nth, () => onceFor<number>());
    return byName(step === call.step ? 0 : latestFence + 1, () =>
      runs.numberOf(acted(step === call.step ? run : begun(run, step), call, 'done')),
    );
  };
  const callEdges = (world: number, number: number, run: Acting, call: Call): readonly RunEdge[] => {
    const step = stepOf(number, call.nth, () => steps.numberOf(call.step));
    const what = words(step, () => stepInWords(call.step));
    const becomes = (result: 'lost' | 'expired') =>
      after[result](number, call.nth, () => runs.numberOf(acted(run, call, result)));
    const stays = { world, wrote: false, breaks: null };
    const edges: RunEdge[] = [];
    const effect = effectIn(world, step, run.read);
    const restores = run.known.isBound === true && restoresFence(call.step, worlds.valueOf(world), scenario.assumption);
    if (effect instanceof Refused) {
      const inWorld = after.refused(number, call.nth, () => onceFor<number>());
      const refused = inWorld(world, () => runs.numberOf(acted(run, call, effect)));
      edges.push({ ...stays, says: `the call of ${RUN} is refused: ${what} (${effect.message})`, run: refused });
    } else if (readsFirst(call.step, effect, run)) {
      edges.push({ ...stays, says: `the call of ${RUN} reads the Node: ${what}`, run: afterRead(world, number, run) });
    } else {
      const breaks = restores ? 'removed-stays-removed' : effect.breaks;
      edges.push({ ...effect, breaks, run: isDone(world, number, run, call) });
      const lost = withFault(effect.world);
      if (lost !== null)
        edges.push({ ...effect, says: `${effect.says}, and the answer is lost`, world: lost, run: becomes('lost') });
    }
    const failed = withFault(world);
    if (failed !== null)
      edges.push({ ...stays, says: `the call of ${RUN} fails: ${what}`, world: failed, run: becomes('lost') });
    if (hasExpired(call))
      edges.push({ ...stays, says: `${RUN} finds the permit of its call expired: ${what}`, run: becomes('expired') });
    return edges;
  };
  return (world: number, number: number, run: Acting): readonly RunEdge[] =>
    callsOf(run).flatMap((call) => callEdges(world, number, run, call));
};

/** What a run does, and what happens to it. */
const runEdges = (numbers: Numbers) => {
  const { scenario, worlds, runs } = numbers;
  const learns = answerEdges(numbers);
  const acts = actEdges(numbers);
  const first = runs.numberOf(newRun(scenario));
  const restedRuns = onceFor<number>();
  const stated = onceFor<readonly RunEdge[]>();
  const edgeOf = (says: string, after: World | null, begins: (world: World) => RunAt): readonly RunEdge[] =>
    after
      ? [{ says, world: worlds.numberOf(after), wrote: false, breaks: null, run: runs.numberOf(begins(after)) }]
      : [];
  /** What people state, each with the run that begins for them. */
  const onStatement = (number: number): readonly RunEdge[] =>
    stated(number, () => {
      const world = worlds.valueOf(number);
      return [
        ...edgeOf(`${RUN} begins for a person, who ends the fence on their word`, afterWord(world), () =>
          newRelease(scenario),
        ),
        ...edgeOf(`${RUN} begins for a person, who states that the machine is off`, afterVouch(world), (after) =>
          newVouched(after, scenario),
        ),
      ];
    });
  const movesOf = (world: number, number: number, run: RunAt): readonly RunEdge[] => {
    if (run.at === 'act') return acts(world, number, run);
    if (run.at !== 'sleep') return learns(world, number);
    const now = worlds.valueOf(world);
    const { cloud } = scenario;
    if (!isOver(run, attachmentFacts(now, cloud), machineFacts(now, false, cloud))) return [];
    const after = restedRuns(number, () => runs.numberOf(rested(run)));
    return [{ says: `${RUN} wakes up`, world, wrote: false, breaks: null, run: after }];
  };
  return (world: number, number: number): readonly RunEdge[] => {
    const run = runs.valueOf(number);
    if (run === null)
      return [{ says: `${RUN} begins`, world, wrote: false, breaks: null, run: first }, ...onStatement(world)];
    const moves = movesOf(world, number, run);
    return [...moves, { says: `${RUN} is killed`, world, wrote: false, breaks: null, run: NOBODY }];
  };
};

/** What happens between a state and the next. */
export interface Happening {
  /** A sentence. `RUN` in it stands for the run that does it. */
  readonly says: string;
  /** The place of the run that does it, in the state before. Null if no run does it. */
  readonly by: 0 | 1 | null;
  /** The numbers of the runs after it, in the places that they had before. */
  readonly runs: readonly [number, number];
}

/** Visits every state that is one event away. */
export type Visit = (state: number, tell: () => Happening, breaks: Invariant | null) => void;

/** Returns the states that are one event away from a state. */
export const expansion = (numbers: Numbers) => {
  const { scenario, worlds, runs } = numbers;
  const { assumption } = scenario;
  const keys = stateKeys(scenario.runs);
  const changes = changeEdges(numbers);
  const moves = runEdges(numbers);
  const outdatedRuns = onceFor<number>();
  const boundRuns = onceEach<number>();
  const laterWorlds = onceFor<number>();
  const laterRuns = onceFor<number>();
  const outdate = (number: number): number =>
    outdatedRuns(number, () => {
      const run = runs.valueOf(number);
      return runs.numberOf(run && outdated(run));
    });
  const bind = (world: number, number: number): number =>
    boundRuns(world, number, () => {
      const { node } = worlds.valueOf(world);
      const run = runs.valueOf(number);
      return run && node ? runs.numberOf(bound(run, node, generationIn(worlds.valueOf(world), scenario))) : number;
    });
  const later = (number: number): number =>
    laterRuns(number, () => {
      const run = runs.valueOf(number);
      return runs.numberOf(run && runLater(run, scenario));
    });
  const keyAfter = ({ world, wrote }: WorldEdge, one: number, other: number): number =>
    wrote ? keys.of(world, outdate(one), outdate(other)) : keys.of(world, one, other);
  const happening = ({ says, wrote }: WorldEdge, by: Happening['by'], one: number, other: number): Happening => ({
    says,
    by,
    runs: wrote ? [outdate(one), outdate(other)] : [one, other],
  });
  const expand = (state: number, visit: Visit): void => {
    const { world, one, other } = keys.partsOf(state);
    for (const edge of changes(world)) {
      const [first, second] = edge.removesFence ? [bind(world, one), bind(world, other)] : [one, other];
      visit(keyAfter(edge, first, second), () => happening(edge, null, first, second), edge.breaks);
    }
    for (const edge of moves(world, one))
      visit(keyAfter(edge, edge.run, other), () => happening(edge, 0, edge.run, other), edge.breaks);
    if (scenario.runs === 2 && one !== other)
      for (const edge of moves(world, other))
        visit(keyAfter(edge, one, edge.run), () => happening(edge, 1, one, edge.run), edge.breaks);
    if (worlds.valueOf(world).ticksLeft === 0) return;
    const worldAfter = laterWorlds(world, () => worlds.numberOf(worldLater(worlds.valueOf(world), assumption)));
    const [oneAfter, otherAfter] = [later(one), later(other)];
    const tell = (): Happening => ({ says: TIME_PASSES, by: null, runs: [oneAfter, otherAfter] });
    visit(keys.of(worldAfter, oneAfter, otherAfter), tell, null);
  };
  return {
    numbers,
    expand,
    start: keys.of(worlds.numberOf(scenario.start()), NOBODY, NOBODY),
    worldOf: (state: number): number => keys.partsOf(state).world,
  };
};

export type Expansion = ReturnType<typeof expansion>;
