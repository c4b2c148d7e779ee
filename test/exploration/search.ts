import type { Invariant } from './invariants.ts';
import type { Scenario } from './explore.ts';
import { type Expansion, expansion, type Happening, type Numbers, numbersOf } from './edges.ts';
import { follow, type FollowedRuns, NO_RUN_YET, told } from './followed-runs.ts';
import { recoveryJudge } from './liveness.ts';
import { stateTable } from './state-table.ts';
import type { World } from './world.ts';
import { RECOVERY_BEGINS, type Story } from './story.ts';

/** A breadth-first search for a state that breaks an invariant, and for the way to it. */

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  readonly worlds: number;
  readonly runs: number;
  readonly depth: number;
  /** Whether the search has reached every state that can be reached. */
  readonly exhausted: boolean;
  readonly story: Story | null;
}

type States = ReturnType<typeof stateTable>;

/** Returns what happens first that leads from one state to the other. */
const between = (from: number, to: number, { expand }: Expansion): Happening => {
  const found: Happening[] = [];
  expand(from, (state, tell) => {
    if (found.length === 0 && state === to) found.push(tell());
  });
  const [first] = found;
  if (!first) throw new Error('nothing leads from one state to the other');
  return first;
};

/** Returns what happened until a state was reached first. */
const pathTo = (index: number, states: States, from: Expansion): readonly Happening[] => {
  const path: number[] = [];
  for (let at = index; at !== 0; at = states.parentOf(at)) path.unshift(states.keyAt(at));
  return path.map((key, step) => between(path[step - 1] ?? states.keyAt(0), key, from));
};

/** Searches all states until one breaks an invariant. Notes where each world was reached first. */
const search = (expansion: Expansion, states: States, most: number) => {
  const firstSeen: number[] = [];
  const add = (state: number, parent: number): void => {
    if (states.add(state, parent)) firstSeen[expansion.worldOf(state)] ??= states.size() - 1;
  };
  add(expansion.start, 0);
  const at = { index: 0, depth: 0, levelEnds: 1, transitions: 0 };
  const stories: Story[] = [];
  for (; stories.length === 0 && at.index < states.size() && states.size() < most; at.index += 1) {
    if (at.index === at.levelEnds) {
      [at.depth, at.levelEnds] = [at.depth + 1, states.size()];
    }
    expansion.expand(states.keyAt(at.index), (state, tell, breaks) => {
      at.transitions += 1;
      if (breaks)
        stories.push({ breaks, says: told([...pathTo(at.index, states, expansion), tell()], expansion.numbers) });
      add(state, at.index);
    });
  }
  return { ...at, firstSeen, story: stories[0] ?? null };
};

/** Searches for a world in which fresh runs do not complete every fence. */
const neverRecovers = ({ worlds, scenario }: Numbers, tell: (world: number) => readonly string[]): Story | null => {
  const judge = recoveryJudge(scenario);
  for (let world = 0; world < worlds.size(); world += 1) {
    const says = judge(worlds.valueOf(world));
    if (says) return { breaks: 'recovery', says: [...tell(world), RECOVERY_BEGINS, ...says] };
  }
  return null;
};

/**
 * Explores the states of a scenario, nearest first, until there are no more, there are `most` of them, or one breaks an
 * invariant. So the story is one of the shortest. Then lets every world recover.
 */
export const explore = (scenario: Scenario, most = Infinity): Explored => {
  const numbers = numbersOf(scenario);
  const from = expansion(numbers);
  const states = stateTable();
  const { index, depth, transitions, firstSeen, story } = search(from, states, most);
  const found = { states: states.size(), transitions, worlds: numbers.worlds.size(), runs: numbers.runs.size(), depth };
  const tell = (world: number): readonly string[] => told(pathTo(firstSeen[world] ?? 0, states, from), numbers);
  const exhausted = story === null && index === states.size();
  return { ...found, exhausted, story: story ?? neverRecovers(numbers, tell) };
};

/** A step of a story that was played again. */
export interface Played {
  readonly says: string;
  readonly world: World;
}

interface Reached {
  readonly state: number;
  readonly runs: FollowedRuns;
  readonly before: Reached | null;
  readonly says: string;
  readonly breaks: Invariant | null;
}

/** Returns the states to which this sentence leads. */
const reachedBy = (sentence: string, from: readonly Reached[], { expand, numbers }: Expansion): readonly Reached[] => {
  const reached = new Map<string, Reached>();
  const possible = new Set<string>();
  for (const before of from)
    expand(before.state, (state, tell, breaks) => {
      const { says, runs } = follow(before.runs, tell(), numbers);
      possible.add(says);
      const key = JSON.stringify([state, runs]);
      const known = reached.get(key);
      if (says === sentence && (!known || (breaks && !known.breaks)))
        reached.set(key, { state, runs, before, says, breaks });
    });
  if (reached.size === 0) throw new Error(`"${sentence}" cannot happen. What can: ${[...possible].join('; ')}`);
  return [...reached.values()];
};

/** Plays a story again, step by step. Throws if a step cannot happen. Returns the steps, and what they break. */
export const replay = (
  scenario: Scenario,
  { says }: Pick<Story, 'says'>,
): { readonly played: readonly Played[]; readonly breaks: Story['breaks'] | null } => {
  const numbers = numbersOf(scenario);
  const from = expansion(numbers);
  const recoveryAt = says.indexOf(RECOVERY_BEGINS);
  let reached: readonly Reached[] = [
    { state: from.start, runs: NO_RUN_YET, before: null, says: 'the scenario begins', breaks: null },
  ];
  for (const sentence of recoveryAt === -1 ? says : says.slice(0, recoveryAt))
    reached = reachedBy(sentence, reached, from);
  const worldOf = ({ state }: Reached): World => numbers.worlds.valueOf(from.worldOf(state));
  const last = reached.find(({ breaks }) => breaks !== null) ?? reached[0];
  const played: Played[] = [];
  for (let at = last ?? null; at; at = at.before) played.unshift({ says: at.says, world: worldOf(at) });
  const stuck = recoveryAt !== -1 && reached.some((end) => recoveryJudge(scenario)(worldOf(end)) !== null);
  return { played, breaks: stuck ? 'recovery' : (last?.breaks ?? null) };
};
