import { Refused } from '../../fencing/model/errors.ts';
import type { Step } from '../../fencing/model/steps.ts';
import { brokenIn, type Invariant } from './invariants.ts';
import {
  type Answer,
  answerIn,
  type Change,
  changesOf,
  doesNext,
  effectOf,
  generationIn,
  newRun,
  type Question,
  questionsOf,
  replyTo,
  sawRunning,
  type Scenario,
  worldLater,
} from './explore.ts';
import { recoveryJudge } from './liveness.ts';
import { acted, hasExpired, outdated, type RunAt, runLater, runText } from './runs.ts';
import { numbered, onceEach, onceFor, pairs, stateTable } from './state-table.ts';
import { spend } from './surroundings.ts';
import { TICK_MS } from './time.ts';
import type { World } from './world.ts';

/**
 * Breadth-first search. Each distinct world, run, and step is kept once and has a number. A state is a world and the
 * runs in it. So what a run does after an answer is computed once, in however many states it gets that answer.
 */

const NOBODY = 0;

const numbersOf = (scenario: Scenario) => {
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

type Numbers = ReturnType<typeof numbersOf>;

/** What a world, or a run in it, becomes. `wrote` says whether somebody wrote the Node. */
interface WorldEdge {
  readonly says: string;
  readonly world: number;
  readonly wrote: boolean;
  readonly breaks: Invariant | null;
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

/** What everybody but the runs may do. */
const changeEdges = (numbers: Numbers) => {
  const known = onceFor<readonly WorldEdge[]>();
  return (number: number): readonly WorldEdge[] =>
    known(number, () => {
      const world = numbers.worlds.valueOf(number);
      return changesOf(world, numbers.scenario).map((change) => edgeTo(numbers, world, change));
    });
};

/** What a run learns from the answers of the world. */
const answerEdges = ({ scenario, worlds, runs, answers }: Numbers) => {
  const asked = onceFor<readonly Question[]>();
  const answered: Readonly<Record<Question, ReturnType<typeof onceFor<number | null>>>> = {
    machine: onceFor(),
    'stale machine': onceFor(),
    cluster: onceFor(),
    recheck: onceFor(),
    witness: onceFor(),
    'survey-connectivity': onceFor(),
  };
  const replies = onceEach<{ readonly says: string; readonly run: number; readonly saw: string | null }>();
  const swept = onceFor<Pick<WorldEdge, 'world' | 'breaks'>>();
  const generations = onceFor<string | null>();
  const answerTo = (world: number, question: Question): number | null =>
    answered[question](world, () => {
      const answer = answerIn(worlds.valueOf(world), question, scenario.cloud);
      return answer && answers.numberOf(answer);
    });
  const replyIn = (number: number, answer: number) =>
    replies(number, answer, () => {
      const run = runs.valueOf(number);
      if (run?.at !== 'question' && run?.at !== 'look') throw new Error('this run asks nothing');
      const reply = replyTo(run, answers.valueOf(answer));
      return { says: `${reply.says}${doesNext(reply.run)}`, run: runs.numberOf(reply.run), saw: sawRunning(reply.run) };
    });
  const edge = (world: number, number: number, question: Question): RunEdge | null => {
    const answer = answerTo(world, question);
    const reply = answer === null ? null : replyIn(number, answer);
    if (!reply) return null;
    const { says, run, saw } = reply;
    return { says, run, wrote: false, ...(saw === null ? { world, breaks: null } : afterSweep(world, saw)) };
  };
  /** A run that ends, or waits, after it has seen the machine running is a sweep for this boot of the machine. */
  const afterSweep = (world: number, saw: string): Pick<WorldEdge, 'world' | 'breaks'> => {
    const before = worlds.valueOf(world);
    if (generations(world, () => generationIn(before, scenario)) !== saw) return { world, breaks: null };
    return swept(world, () => {
      const after = { ...before, swept: true };
      return { world: worlds.numberOf(after), breaks: brokenIn(before, after) };
    });
  };
  const edges = (world: number, number: number): readonly RunEdge[] =>
    asked(number, () => {
      const run = runs.valueOf(number);
      return run === null ? [] : questionsOf(run);
    }).flatMap((question) => edge(world, number, question) ?? []);
  if (!scenario.looksAtOnce) return edges;
  return (world: number, number: number): readonly RunEdge[] =>
    edges(world, number).flatMap((first) =>
      runs.valueOf(first.run)?.at === 'look'
        ? edges(first.world, first.run).map((second) => ({ ...second, says: `${first.says}, and ${second.says}` }))
        : [first],
    );
};

/** What a step that is about to be sent may come to: its effect, with an answer or without, or a failure. */
const actEdges = (numbers: Numbers) => {
  const { scenario, worlds, runs, steps } = numbers;
  const stepOf = onceFor<number>();
  const effects = onceEach<WorldEdge | Refused>();
  const after = {
    done: onceFor<number>(),
    lost: onceFor<number>(),
    expired: onceFor<number>(),
    refused: onceEach<number>(),
  };
  const faults = onceFor<number | null>();
  const withFault = (world: number): number | null =>
    faults(world, () => {
      const spent = spend(worlds.valueOf(world), 'faults');
      return spent && worlds.numberOf(spent);
    });
  const effectIn = (world: number, step: number) =>
    effects(world, step, () => {
      const before = worlds.valueOf(world);
      const effect = effectOf(before, steps.valueOf(step), scenario);
      return effect instanceof Refused ? effect : edgeTo(numbers, before, effect);
    });
  return (world: number, number: number, run: Extract<RunAt, { at: 'act' }>): readonly RunEdge[] => {
    const step = stepOf(number, () => steps.numberOf(run.command.step));
    const what = run.command.step.do;
    const becomes = (result: 'done' | 'lost' | 'expired') =>
      after[result](number, () => runs.numberOf(acted(run, result)));
    const edges: RunEdge[] = [];
    const effect = effectIn(world, step);
    if (effect instanceof Refused) {
      const refused = after.refused(number, world, () => runs.numberOf(acted(run, effect)));
      edges.push({ says: `is refused: ${what} (${effect.message})`, world, wrote: false, breaks: null, run: refused });
    } else {
      edges.push({ ...effect, run: becomes('done') });
      const lost = withFault(effect.world);
      if (lost !== null)
        edges.push({ ...effect, says: `${effect.says}, and the answer is lost`, world: lost, run: becomes('lost') });
    }
    const failed = withFault(world);
    if (failed !== null)
      edges.push({ says: `fails: ${what}`, world: failed, wrote: false, breaks: null, run: becomes('lost') });
    if (hasExpired(run))
      edges.push({
        says: `finds its permit expired: ${what}`,
        world,
        wrote: false,
        breaks: null,
        run: becomes('expired'),
      });
    return edges;
  };
};

/** What a run does, and what happens to it. */
const runEdges = (numbers: Numbers) => {
  const { scenario, worlds, runs } = numbers;
  const learns = answerEdges(numbers);
  const acts = actEdges(numbers);
  const begun = onceEach<number>();
  return (world: number, number: number, other: number): readonly RunEdge[] => {
    const run = runs.valueOf(number);
    if (run === null) {
      const first = begun(world, other, () =>
        runs.numberOf(newRun(worlds.valueOf(world), runs.valueOf(other), scenario)),
      );
      return [{ says: 'begins', world, wrote: false, breaks: null, run: first }];
    }
    const moves = run.at === 'act' ? acts(world, number, run) : learns(world, number);
    return [...moves, { says: 'is killed', world, wrote: false, breaks: null, run: NOBODY }];
  };
};

/** Visits every state that is one event away. */
type Visit = (world: number, crew: number, says: () => string, breaks: Invariant | null) => void;

const namesOf = (scenario: Scenario): readonly string[] =>
  scenario.runs === 1 ? ['the run'] : ['one run', 'the other run'];

const expansion = (numbers: Numbers) => {
  const { scenario, worlds, runs } = numbers;
  const { assumption } = scenario;
  const crews = pairs();
  const names = namesOf(scenario);
  const changes = changeEdges(numbers);
  const moves = runEdges(numbers);
  const outdatedRuns = onceFor<number>();
  const laterWorlds = onceFor<number>();
  const laterRuns = onceFor<number>();
  const outdate = (number: number): number =>
    outdatedRuns(number, () => {
      const run = runs.valueOf(number);
      return runs.numberOf(run && outdated(run));
    });
  const later = (number: number): number =>
    laterRuns(number, () => {
      const run = runs.valueOf(number);
      return runs.numberOf(run && runLater(run, assumption.transit));
    });
  const crewOf = (one: number, other: number, wrote: boolean): number =>
    wrote ? crews.of(outdate(one), outdate(other)) : crews.of(one, other);
  return (world: number, crew: number, visit: Visit): void => {
    const [one, other] = [crews.first(crew), crews.second(crew)];
    for (const edge of changes(world)) visit(edge.world, crewOf(one, other, edge.wrote), () => edge.says, edge.breaks);
    for (const edge of moves(world, one, other))
      visit(edge.world, crewOf(edge.run, other, edge.wrote), () => `${names[0]} ${edge.says}`, edge.breaks);
    if (scenario.runs === 2 && one !== other)
      for (const edge of moves(world, other, one))
        visit(edge.world, crewOf(one, edge.run, edge.wrote), () => `${names[1]} ${edge.says}`, edge.breaks);
    const worldAfter = laterWorlds(world, () => worlds.numberOf(worldLater(worlds.valueOf(world), assumption)));
    visit(worldAfter, crews.of(later(one), later(other)), () => `${TICK_MS / 1_000} s pass`, null);
  };
};

/** A schedule that breaks an invariant: what happens, one sentence after the other. */
export interface Story {
  readonly breaks: Invariant | 'recovery';
  readonly says: readonly string[];
}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  readonly worlds: number;
  readonly runs: number;
  readonly depth: number;
  /** Whether every state that can be reached was reached. */
  readonly exhausted: boolean;
  readonly story: Story | null;
}

const CREWS = 2 ** 28;
const keyOf = (world: number, crew: number): number => world * CREWS + crew;

type Expand = ReturnType<typeof expansion>;
type States = ReturnType<typeof stateTable>;

const expandKey = (expand: Expand, key: number, visit: Visit): void => {
  expand(Math.floor(key / CREWS), key % CREWS, visit);
};

/** Tells how a state was reached first. */
const pathTo = (index: number, states: States, expand: Expand): readonly string[] => {
  const path: number[] = [];
  for (let at = index; at !== 0; at = states.parentOf(at)) path.unshift(states.keyAt(at));
  return path.map((key, step) => {
    let told = '';
    expandKey(expand, path[step - 1] ?? states.keyAt(0), (world, crew, says) => {
      if (told === '' && keyOf(world, crew) === key) told = says();
    });
    return told;
  });
};

export interface Limits {
  /** The number of states at which the search stops. */
  readonly most: number;
  /** Is told how far the search is, at each new distance from the start. */
  readonly onLevel: (depth: number, states: number) => void;
}

/** Searches all states until one breaks an invariant. Notes where each world was reached first. */
const search = ({ worlds, scenario }: Numbers, expand: Expand, states: States, { most, onLevel }: Limits) => {
  const firstSeen: number[] = [];
  const add = (world: number, crew: number, parent: number): void => {
    if (!states.add(keyOf(world, crew), parent)) return;
    firstSeen[world] ??= states.size() - 1;
  };
  add(worlds.numberOf(scenario.start()), NOBODY, 0);
  const at = { index: 0, depth: 0, levelEnds: 1, transitions: 0 };
  const stories: Story[] = [];
  for (; stories.length === 0 && at.index < states.size() && states.size() < most; at.index += 1) {
    if (at.index === at.levelEnds) {
      [at.depth, at.levelEnds] = [at.depth + 1, states.size()];
      onLevel(at.depth, states.size());
    }
    expandKey(expand, states.keyAt(at.index), (world, crew, says, breaks) => {
      at.transitions += 1;
      if (breaks) stories.push({ breaks, says: [...pathTo(at.index, states, expand), says()] });
      add(world, crew, at.index);
    });
  }
  return { ...at, firstSeen, story: stories[0] ?? null };
};

/** Looks for a world from which fresh runs do not end what was begun. */
const neverRecovers = ({ worlds, scenario }: Numbers, tell: (world: number) => readonly string[]): Story | null => {
  const judge = recoveryJudge(scenario);
  for (let world = 0; world < worlds.size(); world += 1) {
    const says = judge(worlds.valueOf(world));
    if (says) return { breaks: 'recovery', says: [...tell(world), 'From here on, nothing fails any more.', ...says] };
  }
  return null;
};

/**
 * Explores the states of a scenario, nearest first, until there are no more, there are `most` of them, or one breaks an
 * invariant. So the story of what breaks is one of the shortest. After that, lets every world recover.
 */
export const explore = (scenario: Scenario, limits: Partial<Limits> = {}): Explored => {
  const numbers = numbersOf(scenario);
  const expand = expansion(numbers);
  const states = stateTable();
  const { index, depth, transitions, firstSeen, story } = search(numbers, expand, states, {
    most: Infinity,
    onLevel: () => undefined,
    ...limits,
  });
  const found = { states: states.size(), transitions, worlds: numbers.worlds.size(), runs: numbers.runs.size(), depth };
  const tell = (world: number): readonly string[] => pathTo(firstSeen[world] ?? 0, states, expand);
  const exhausted = story === null && index === states.size();
  return { ...found, exhausted, story: story ?? neverRecovers(numbers, tell) };
};
