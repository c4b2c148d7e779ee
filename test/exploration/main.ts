import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { lengthOf, writeGuards } from './guard-table.ts';
import { scenarioNamed } from './named.ts';
import { scenarios } from './scenarios.ts';
import type { Scenario } from './explore.ts';
import { type Explored, type Played, replay } from './search.ts';
import { headOf, loadStory, RECOVERY_BEGINS, saveStory, TIME_PASSES, timeline, worldInWords } from './story.ts';
import { meanings } from './invariants.ts';
import { shortenPatience } from './time.ts';
import { type Term, terms } from './terms.ts';
import { openVariantThread } from './try-variant.ts';
import { readOptions } from '../script-options.ts';

/**
 * Explores the named scenarios and prints the results. Exits with 1 if a schedule breaks an invariant, or if a scenario
 * was not exhausted. `--scenario NAME` explores one scenario, `--most N` stops at that number of states, and `--story
 * FILE` writes the story of what breaks. `--replay FILE` plays such a story step by step, and explores nothing.
 * `--guards` explores the unsafe variants, and writes the results into docs/guards.md. `--terms` turns each term of the
 * assumption until something breaks.
 */

/** Explores in its own thread. */
const exploreAside = (name: string, most: number | null): Promise<Explored> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('explore-one.ts', import.meta.url), {
      workerData: { name, most },
      resourceLimits: { maxOldGenerationSizeMb: 6_000 },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });

const counted = (count: number): string => count.toLocaleString('en-US');

const tell = (scenario: Scenario, { story, ...found }: Explored, seconds: number): void => {
  const { states, transitions, worlds, runs, depth, exhausted } = found;
  console.log(`${scenario.name}: ${scenario.says}`);
  console.log(
    `  ${counted(states)} states, ${counted(transitions)} transitions, ${counted(worlds)} worlds, ${counted(runs)} runs, depth ${depth}, ${seconds} s, ${exhausted ? 'exhausted' : 'not exhausted'}`,
  );
  if (story)
    console.log(
      [`  breaks ${story.breaks} (${meanings[story.breaks]}):`, ...headOf(scenario), ...timeline(story.says)].join(
        '\n',
      ),
    );
};

const exploreAll = async (chosen: readonly Scenario[], most: number | null, storyFile: string | undefined) => {
  const begun = performance.now();
  const secondsSince = (from: number): number => Math.round((performance.now() - from) / 1_000);
  const waiting = [...chosen];
  const sum = { states: 0, transitions: 0, exhausted: 0, broken: 0 };
  const workThrough = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const from = performance.now();
      const found = await exploreAside(next.name, most);
      tell(next, found, secondsSince(from));
      sum.states += found.states;
      sum.transitions += found.transitions;
      if (found.exhausted) sum.exhausted += 1;
      if (found.story) sum.broken += 1;
      if (found.story && storyFile !== undefined) await saveStory(storyFile, next.name, found.story);
      if (found.story || !found.exhausted) process.exitCode = 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, workThrough));
  console.log(
    `${sum.exhausted} of ${chosen.length} scenarios exhausted, ${sum.broken} broken: ${counted(sum.states)} states, ${counted(sum.transitions)} transitions, ${secondsSince(begun)} s`,
  );
};

/** Prints each step of a story with its time, and the world whenever it has changed. */
const toldAgain = (played: readonly Played[]): readonly string[] => {
  const times = timeline(played.map(({ says }) => says));
  const worlds = played.filter(({ says }) => says !== TIME_PASSES).map(({ world }) => worldInWords(world));
  return times.flatMap((sentence, at) =>
    worlds[at] === worlds[at - 1] ? [sentence] : [sentence, `          ${worlds[at]}`],
  );
};

const replayFile = async (path: string): Promise<void> => {
  shortenPatience();
  const story = await loadStory(path);
  const scenario = scenarioNamed(story.scenario);
  const { played, breaks } = replay(scenario, story);
  const recoveryAt = story.says.indexOf(RECOVERY_BEGINS);
  const recovery = recoveryAt === -1 ? [] : story.says.slice(recoveryAt).map((sentence) => `        ${sentence}`);
  const verdict = breaks === null ? 'breaks nothing' : `breaks ${breaks}: ${meanings[breaks]}`;
  const about = story.about === undefined ? [] : [`About: ${story.about}`];
  const head = [`Scenario ${scenario.name}: ${scenario.says}`, ...about, ...headOf(scenario)];
  console.log([...head, ...toldAgain(played), ...recovery, verdict].join('\n'));
  if (breaks !== story.breaks) process.exitCode = 1;
};

const USAGE = `npm run explore -- [options]   (half an hour without an option)
  --scenario NAME     explore one scenario
  --most N            stop at so many states
  --story FILE        write the story of what breaks
  --replay FILE       play such a story step by step, and explore nothing
  --terms             turn each term of the assumption until something breaks
  --guards            explore the unsafe variants, and write docs/guards.md`;

const values = readOptions(USAGE, {
  scenario: { type: 'string' },
  most: { type: 'string' },
  story: { type: 'string' },
  replay: { type: 'string' },
  terms: { type: 'boolean', default: false },
  guards: { type: 'boolean', default: false },
});

/** Explores the term second by second, and says up to which value every invariant holds, and what breaks then. */
const turnTerm = async ({ says, turns }: Term): Promise<void> => {
  const holds: number[] = [];
  for (const { seconds, scenario } of turns) {
    const found = await exploreAside(scenario.name, null);
    if (found.story) {
      const breaks = `breaks ${found.story.breaks} at ${seconds} s, in ${lengthOf(found)} steps`;
      return console.log(`${says}: holds at ${holds.join(', ')} s, ${breaks} (--scenario ${scenario.name})`);
    }
    if (!found.exhausted) throw new Error(`${scenario.name} was not exhausted`);
    holds.push(seconds);
  }
  console.log(`${says}: holds at ${holds.join(', ')} s`);
};

const turnAll = async (): Promise<void> => {
  const limit = pLimit(availableParallelism());
  await Promise.all(terms.map((term) => limit(turnTerm, term)));
};

const guards = async (): Promise<void> => {
  const thread = openVariantThread();
  try {
    await writeGuards(thread, console.log);
  } finally {
    await thread.close();
  }
};

if (values.replay !== undefined) await replayFile(values.replay);
else if (values.guards) await guards();
else if (values.terms) await turnAll();
else {
  const chosen = values.scenario === undefined ? scenarios : [scenarioNamed(values.scenario)];
  await exploreAll(chosen, values.most === undefined ? null : Number(values.most), values.story);
}
