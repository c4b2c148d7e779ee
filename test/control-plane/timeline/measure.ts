import type { Testbed } from '../../testbed/testbed-at.ts';
import { openGates } from '../faults/gates.ts';
import { startWarmHandler, type WarmHandler } from '../entry-points/warm-handler.ts';
import { firstCallsIn, tally } from './calls.ts';
import { fillUp } from './crowd.ts';
import { seconds } from './figures.ts';
import type { Played } from './play.ts';
import { watchSlowly, watchClosely, play } from './play.ts';
import type { Remedy } from './remedies.ts';
import { allDeleted, byCli, byColdHandler, byHandler, nodeDeleted, nothing, proofless, taintOnly } from './remedies.ts';
import type { Counted, Row, Sized, RemedyName } from './report.ts';
import { ways } from './report.ts';

/** Each run has a node with its database of its own. */
const LIVING = 2;

const withProgress = async (what: string, playing: Promise<Played>): Promise<Played> => {
  const played = await playing;
  const { attached } = played.moments;
  console.log(
    `${what}: ${attached === null ? 'not attached elsewhere' : `attached elsewhere after ${seconds(attached)} s`}`,
  );
  return played;
};

const slow: readonly (readonly [RemedyName, Remedy])[] = [
  ['nothing', nothing],
  ['noSchedule', taintOnly('NoSchedule')],
  ['noExecute', taintOnly('NoExecute')],
  ['node', nodeDeleted],
  ['all', allDeleted],
];

/** These run at once, because all that they do is wait. */
export const playSlow = (testbed: Testbed, patience: number): Promise<readonly Row[]> =>
  Promise.all(
    slow.map(async ([way, remedy]) => ({
      way,
      played: [await withProgress(ways[way], play(testbed, remedy, watchSlowly(patience)))],
    })),
  );

const takeTurns = async (
  testbed: Testbed,
  turns: readonly (readonly [RemedyName, Remedy])[],
  runs: number,
): Promise<readonly Row[]> => {
  const rows = turns.map(([way, remedy]) => ({ way, remedy, played: new Array<Played>() }));
  for (let nth = 0; nth < runs; nth += 1) {
    for (const { way, remedy, played } of rows)
      played.push(await withProgress(ways[way], play(testbed, remedy, watchClosely)));
  }
  return rows.map(({ way, played }) => ({ way, played }));
};

/** Resolves with a handler that has fenced once. */
const warmHandler = async (testbed: Testbed, access = testbed.access): Promise<WarmHandler> => {
  const handler = await startWarmHandler(access);
  await play(testbed, byHandler(handler), watchClosely);
  return handler;
};

/** One after the other, so that other programs on this computer affect them all equally. */
export const playFast = async (testbed: Testbed, runs: number): Promise<readonly Row[]> => {
  const handler = await warmHandler(testbed);
  try {
    return await takeTurns(
      testbed,
      [
        ['floor', proofless],
        ['warm', byHandler(handler)],
        ['cold', byColdHandler],
        ['cli', byCli],
      ],
      runs,
    );
  } finally {
    await handler.close();
  }
};

export interface Scale {
  readonly sizes: readonly number[];
  readonly timed: number;
  readonly counted: number;
}

const countRuns = async (testbed: Testbed, runs: number): Promise<readonly Counted[]> => {
  const gates = await openGates(testbed.access);
  const handler = await warmHandler(testbed, gates.access);
  const counted: Counted[] = [];
  for (let nth = 0; nth < runs; nth += 1) {
    const before = gates.seen.length;
    let zero = Number.NaN;
    const remedy: Remedy = (crash) => {
      zero = performance.now();
      return byHandler(handler)(crash);
    };
    await withProgress(`${ways.warm}, counted`, play(testbed, remedy, watchClosely));
    const seen = gates.seen.slice(before);
    counted.push({ calls: tally(seen.map(({ passing }) => passing)), first: firstCallsIn(seen, zero) });
  }
  await handler.close();
  await gates.close();
  return counted;
};

export const playSizes = async (testbed: Testbed, { sizes, timed, counted }: Scale): Promise<readonly Sized[]> => {
  const all: Sized[] = [];
  for (const nodes of sizes) {
    await fillUp(testbed, nodes, LIVING);
    console.log(`there are ${nodes} Nodes`);
    const handler = await warmHandler(testbed);
    const [floor, warm] = await takeTurns(
      testbed,
      [
        ['floor', proofless],
        ['warm', byHandler(handler)],
      ],
      timed,
    );
    await handler.close();
    all.push({
      nodes,
      floor: floor?.played ?? [],
      timed: warm?.played ?? [],
      counted: await countRuns(testbed, counted),
    });
  }
  return all;
};
