import { brokenIn, type Invariant } from './invariants.ts';
import {
  actMoves,
  answerIn,
  changesOf,
  newRun,
  type Question,
  questionsOf,
  type Reply,
  replyTo,
  type Scenario,
  sweptBy,
  worldLater,
} from './explore.ts';
import { outdated, type RunAt, runLater, runText } from './runs.ts';
import { numbered, once, stateTable } from './state-table.ts';
import { TICK_MS } from './time.ts';
import type { World } from './world.ts';

/**
 * Breadth-first search. Each distinct world and each distinct run is kept once and has a number. A state is a pair of
 * such numbers. So what a run does after an answer is computed once, in however many states it gets that answer.
 */

interface Edge {
  readonly says: string;
  readonly world: number;
  readonly run: number;
  readonly breaks: Invariant | null;
}

const numbersOf = (scenario: Scenario) => ({
  scenario,
  worlds: numbered<World>(JSON.stringify),
  runs: numbered<RunAt | null>((run) => (run === null ? '' : runText(run))),
  answers: numbered<unknown>(JSON.stringify),
});

type Numbers = ReturnType<typeof numbersOf>;

/** What everybody but the runs may do. It does not depend on a run, save that a write makes old what a run has read. */
const changeEdges = ({ scenario, worlds, runs }: Numbers) => {
  const changes = once<readonly (Omit<Edge, 'run'> & { readonly wrote: boolean })[]>();
  const outdatedRuns = once<number>();
  const afterWrite = (number: number): number =>
    outdatedRuns(number, () => {
      const run = runs.valueOf(number);
      return runs.numberOf(run && outdated(run));
    });
  return (number: number, run: number): readonly Edge[] =>
    changes(number, () => {
      const world = worlds.valueOf(number);
      return changesOf(world, scenario).map(({ says, world: to, breaks }) => ({
        says,
        world: worlds.numberOf(to),
        breaks,
        wrote: to.node !== world.node,
      }));
    }).map(({ says, world, breaks, wrote }) => ({ says, world, breaks, run: wrote ? afterWrite(run) : run }));
};

/** What a run learns from the answers of the world. */
const answerEdges = ({ worlds, runs, answers }: Numbers) => {
  const questions = once<readonly Question[]>();
  const answerNumbers = once<number | null>();
  const replies = once<Reply & { readonly number: number }>();
  const answerTo = (world: number, question: Question): number | null =>
    answerNumbers(`${world} ${question}`, () => {
      const answer = answerIn(worlds.valueOf(world), question);
      return answer === undefined ? null : answers.numberOf(answer);
    });
  return (world: number, number: number, run: RunAt): readonly Edge[] =>
    questions(number, () => questionsOf(run)).flatMap((question) => {
      const answer = answerTo(world, question);
      if (answer === null) return [];
      const reply = replies(`${number} ${question} ${answer}`, () => {
        const made = replyTo(run, question, worlds.valueOf(world));
        return { ...made, number: runs.numberOf(made.run) };
      });
      if (reply.sawRunning === null) return [{ says: reply.says, world, run: reply.number, breaks: null }];
      const before = worlds.valueOf(world);
      const after = sweptBy(before, reply);
      const breaks = brokenIn(before, after);
      return [{ says: reply.says, world: worlds.numberOf(after), run: reply.number, breaks }];
    });
};

/** What a run does, and what happens to it. */
const runEdges = (numbers: Numbers) => {
  const { scenario, worlds, runs } = numbers;
  const learns = answerEdges(numbers);
  const begun = once<number>();
  const nobody = runs.numberOf(null);
  return (world: number, number: number): readonly Edge[] => {
    const run = runs.valueOf(number);
    if (run === null) {
      const first = begun(world, () => runs.numberOf(newRun(worlds.valueOf(world), scenario)));
      return [{ says: 'a run begins', world, run: first, breaks: null }];
    }
    const moves =
      run.at === 'act'
        ? actMoves(worlds.valueOf(world), run, scenario).map((move) => ({
            says: move.says,
            world: worlds.numberOf(move.world),
            run: runs.numberOf(move.run),
            breaks: move.breaks,
          }))
        : learns(world, number, run);
    return [...moves, { says: 'the run is killed', world, run: nobody, breaks: null }];
  };
};

/** The passing of time, which makes everything older. */
const timeEdge = ({ scenario, worlds, runs }: Numbers) => {
  const laterWorlds = once<number>();
  const laterRuns = once<number>();
  const { assumption } = scenario;
  return (world: number, run: number): Edge => ({
    says: `${TICK_MS / 1_000} s pass`,
    world: laterWorlds(world, () => worlds.numberOf(worldLater(worlds.valueOf(world), assumption))),
    run: laterRuns(run, () => {
      const value = runs.valueOf(run);
      return runs.numberOf(value && runLater(value, assumption.transit));
    }),
    breaks: null,
  });
};

/** A schedule that breaks an invariant: what happens, one sentence after the other. */
export interface Story {
  readonly breaks: Invariant;
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

const RUNS = 2 ** 26;
const keyOf = ({ world, run }: Pick<Edge, 'world' | 'run'>): number => world * RUNS + run;

type Edges = (world: number, run: number) => readonly Edge[];
type States = ReturnType<typeof stateTable>;

const edgesFrom = (edges: Edges, key: number): readonly Edge[] => edges(Math.floor(key / RUNS), key % RUNS);

/** Tells how a state was reached first. */
const pathTo = (index: number, states: States, edges: Edges): readonly string[] => {
  const path: number[] = [];
  for (let at = index; at !== 0; at = states.parentOf(at)) path.unshift(states.keyAt(at));
  return path.map((key, step) => {
    const from = path[step - 1] ?? states.keyAt(0);
    return edgesFrom(edges, from).find((edge) => keyOf(edge) === key)?.says ?? '';
  });
};

/**
 * Explores the states of a scenario, nearest first, until there are no more, there are `most` of them, or one breaks an
 * invariant. So the story of what breaks is one of the shortest.
 */
export const explore = (scenario: Scenario, most = Infinity): Explored => {
  const numbers = numbersOf(scenario);
  const [changes, moves, passes] = [changeEdges(numbers), runEdges(numbers), timeEdge(numbers)];
  const edges: Edges = (world, run) => [...changes(world, run), ...moves(world, run), passes(world, run)];
  const states = stateTable();
  const start = { world: numbers.worlds.numberOf(scenario.start), run: numbers.runs.numberOf(null) };
  states.add(keyOf(start), 0);
  let [transitions, depth, levelEnds, index] = [0, 0, 1, 0];
  let story: Story | null = null;
  for (; story === null && index < states.size() && states.size() < most; index += 1) {
    if (index === levelEnds) [depth, levelEnds] = [depth + 1, states.size()];
    for (const edge of edgesFrom(edges, states.keyAt(index))) {
      transitions += 1;
      if (edge.breaks && !story) story = { breaks: edge.breaks, says: [...pathTo(index, states, edges), edge.says] };
      states.add(keyOf(edge), index);
    }
  }
  return {
    states: states.size(),
    transitions,
    worlds: numbers.worlds.size(),
    runs: numbers.runs.size(),
    depth,
    exhausted: story === null && index === states.size(),
    story,
  };
};
