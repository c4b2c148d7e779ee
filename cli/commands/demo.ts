import { InvalidInput } from '../../fencing/model/errors.ts';
import type { Output } from '../answer.ts';
import type { Demo } from '../../demo/play.ts';
import { scenarioNamed } from '../../demo/scenarios.ts';
import { loadDemo } from '../../demo/clouds.ts';
import { newsLines, wrapText, TERMINAL_WIDTH } from '../../demo/table.ts';

export interface DemoOptions {
  readonly cloud: string;
  readonly scenario: string;
  readonly seed: string;
  /** Denies Cloudfence the permission to patch Nodes, so that you can see the demo fail. */
  readonly withoutMark?: boolean;
  readonly json?: boolean;
}

const LARGEST_SEED = 2 ** 32 - 1;

const seedFrom = (text: string): number => {
  const seed = Number(text);
  if (/^\d+$/.test(text) && seed <= LARGEST_SEED) return seed;
  throw new InvalidInput(`"${text}" is not a valid seed: give a whole number from 0 to ${LARGEST_SEED}`);
};

const titleLines = ({ scenario, seed, mayMark }: Demo): readonly string[] => [
  ...wrapText(`cloudfence demo, ${scenario.name}: ${scenario.shows}`, TERMINAL_WIDTH),
  `The same cluster runs twice: without and with Cloudfence (virtual time, seed ${seed}).`,
  ...(mayMark ? [] : ['In this run, Cloudfence is not allowed to patch Nodes.']),
  '',
];

/**
 * Plays a scenario in the sandbox. Returns 0 if the scenario ends correctly according to the sandbox's objects, and 1
 * otherwise.
 */
export const demo = async (options: DemoOptions, { line }: Output): Promise<number> => {
  const json = options.json ?? false;
  const played: Demo = {
    scenario: scenarioNamed(options.scenario),
    seed: seedFrom(options.seed),
    mayMark: !options.withoutMark,
  };
  const print = (lines: readonly string[]): void => {
    if (!json) for (const text of lines) line(text);
  };
  const show = await loadDemo(options.cloud, played.scenario);
  print(titleLines(played));
  const shown = await show(played, (news) => print(newsLines(news)));
  print(shown.lines);
  if (json) line(JSON.stringify(shown.json));
  return shown.right ? 0 : 1;
};
