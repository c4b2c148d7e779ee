import type { Output } from '../../cli/answer.ts';
import { demo, type DemoOptions } from '../../cli/commands/demo.ts';

export interface Shown {
  readonly code: number;
  readonly lines: readonly string[];
}

/** The command as a person sees it: its exit code and its output. */
export const shown = async (options: Partial<DemoOptions>): Promise<Shown> => {
  const lines: string[] = [];
  const output: Output = { line: (text) => void lines.push(text), complain: (text) => void lines.push(`! ${text}`) };
  const code = await demo({ cloud: 'aws', scenario: 'stopped', seed: '1', ...options }, output);
  return { code, lines };
};
