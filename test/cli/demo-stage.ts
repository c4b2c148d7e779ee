import type { Output } from '../../cli/answer.ts';
import { demo, type DemoOptions } from '../../cli/commands/demo.ts';
import { awsStage } from '../../cli/demo/aws-stage.ts';
import type { News } from '../../cli/demo/lanes.ts';
import { play, type Played } from '../../cli/demo/play.ts';
import { scenarioNamed } from '../../cli/demo/scenarios.ts';
import type { AwsParts } from '../../sandbox/aws-sandbox.ts';

export interface Shown {
  readonly code: number;
  readonly lines: readonly string[];
}

/** The command as a person meets it: its exit code and what it printed. */
export const shown = async (options: Partial<DemoOptions>): Promise<Shown> => {
  const lines: string[] = [];
  const output: Output = { line: (text) => void lines.push(text), complain: (text) => void lines.push(`! ${text}`) };
  const code = await demo({ cloud: 'aws', scenario: 'stopped', seed: '1', ...options }, output);
  return { code, lines };
};

/** Plays a scenario and keeps both worlds and all that was told. */
export const played = async (scenario: string, options: { readonly seed?: number; readonly mayMark?: boolean } = {}): Promise<Played<AwsParts> & { readonly news: readonly News[] }> => {
  const news: News[] = [];
  const end = await play(awsStage, { scenario: scenarioNamed(scenario), seed: 1, mayMark: true, ...options }, (one) => void news.push(one));
  return { ...end, news };
};
