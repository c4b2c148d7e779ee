import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { z } from 'zod';
import { planFor } from './newest-plan.ts';
import { countReached } from './reached.ts';
import { failureOf, shrink } from './shrink.ts';
import { play } from './simulation.ts';
import { toldStory } from './story.ts';
import { counter, emptyTally, merged, type Tally, describeTally } from './tally.ts';
import { readOptions } from '../script-options.ts';

/**
 * Plays random schedules and prints what they reached. Ends with 1 if one of them is unsafe or stuck.
 *
 * `--schedules N --seed S` plays N schedules from seed S, in `--processes P`. `--replay` plays one, shortens it if it
 * fails, and tells it. `--coverage FOLDER` names the code below the folder that no schedule runs.
 */

const USAGE = `npm run simulate -- [options]
  --schedules N       play so many schedules (1000)
  --seed S            begin with this seed (1)
  --processes P       play in so many processes (1)
  --replay            play the schedule of the seed, shorten it if it fails, and tell it
  --until-broken      stop at the first failure
  --coverage FOLDER   name the code below the folder that no schedule runs`;

const values = readOptions(USAGE, {
  schedules: { type: 'string', default: '1000' },
  seed: { type: 'string', default: '1' },
  processes: { type: 'string', default: '1' },
  replay: { type: 'boolean', default: false },
  coverage: { type: 'string' },
  'until-broken': { type: 'boolean', default: false },
});

const MOST_NAMED = 20;

const replay = async (seed: number): Promise<void> => {
  const plan = planFor(seed);
  const failure = failureOf(await play(plan));
  const shortest = failure === null ? plan : await shrink(plan, failure);
  console.log(toldStory(shortest, await play(shortest, { tells: true })).join('\n'));
  if (failure !== null) process.exitCode = 1;
};

const playAll = async (first: number, schedules: number): Promise<Tally> => {
  // An error with its stack takes longer to make than anything else here.
  Error.stackTraceLimit = 0;
  const counted = counter();
  let failures = 0;
  for (let seed = first; seed < first + schedules && !(values['until-broken'] && failures > 0); seed += 1) {
    const played = await play(planFor(seed));
    counted.add(played);
    if (failureOf(played) === null) continue;
    failures += 1;
    if (failures > MOST_NAMED) continue;
    for (const { at, breaks, says } of played.violations.slice(0, 1))
      console.log(`seed ${seed} breaks ${breaks} at ${at / 1_000} s: ${says}`);
    if (played.stuck.length > 0) console.log(`seed ${seed} is stuck: ${played.stuck.join('; ')}`);
  }
  return counted.tally();
};

const counts = z.record(z.string(), z.number());
const sentTally = z.object({
  schedules: z.number(),
  unsafe: z.number(),
  stuck: z.number(),
  hours: z.number(),
  counts,
  pairs: counts,
});

/** Plays some of the schedules in its own process. */
const playApart = (first: number, schedules: number): Promise<Tally> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['--seed', String(first), '--schedules', String(schedules)]);
    child.once('message', (message) => resolve(sentTally.parse(message)));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`a process ended with ${code} and sent nothing`)));
  });

/** A process ends after this many schedules, because Node.js keeps the data about combined signals until it is idle. */
const BLOCK = 10_000;

/** Plays the schedules in blocks, each in a new process, and says after each block how many are played. */
const playInProcesses = async (first: number, schedules: number, processes: number): Promise<Tally> => {
  const limit = pLimit(processes);
  const each = Math.min(BLOCK, Math.ceil(schedules / processes));
  let tally = emptyTally;
  const playBlock = async (from: number): Promise<void> => {
    const block = await playApart(from, Math.min(each, first + schedules - from));
    tally = merged(tally, block);
    console.log(`${tally.schedules} of ${schedules} schedules: ${tally.unsafe} unsafe, ${tally.stuck} stuck`);
  };
  const blocks = Array.from({ length: Math.ceil(schedules / each) }, (_, at) => first + at * each);
  await Promise.all(blocks.map((from) => limit(playBlock, from)));
  return tally;
};

const first = Number(values.seed);
const schedules = Number(values.schedules);
const processes = Number(values.processes);

if (values.replay) await replay(first);
else {
  const begun = performance.now();
  const endCount = values.coverage === undefined ? null : await countReached(values.coverage);
  const tally = await (processes > 1 ? playInProcesses(first, schedules, processes) : playAll(first, schedules));
  const seconds = (performance.now() - begun) / 1_000;
  if (process.send) process.send(tally);
  else {
    console.log(describeTally(tally).join('\n'));
    for (const place of (await endCount?.()) ?? []) console.log(`never run: ${place}`);
    console.log(
      `${tally.schedules} schedules from seed ${first}: ${tally.unsafe} unsafe, ${tally.stuck} stuck, ${Math.round(tally.hours)} hours of virtual time in ${seconds.toFixed(0)} s, ${((seconds * 1_000) / tally.schedules).toFixed(1)} ms each`,
    );
  }
  if (tally.unsafe + tally.stuck > 0) process.exitCode = 1;
}
