import { type CommandResult, reportsOf } from '../fencing/loop/reduce.ts';
import type { RunState } from '../fencing/loop/state.ts';
import type { Command } from '../fencing/loop/next-command.ts';
import { isImagined, type Outcome, type StepReport } from '../fencing/model/outcome.ts';

/**
 * The live list that people read while a machine is fenced: one line for each step, and one line for each new thing
 * that the run waits for.
 */

const clock = (wall: number): string => new Date(wall).toISOString().slice(11, 23);

const stepLine = ({ step, target, at, ms, result, message, because }: StepReport): string =>
  `${clock(at)}  ${step.padEnd(17)} ${target}  ${result}${message === null ? '' : ` (${message})`}  ${ms} ms  — ${because.says}`;

export interface StepList {
  readonly observe: (command: Command, answer: CommandResult, known: RunState) => void;
}

export const stepList = (write: (line: string) => void): StepList => {
  let awaited = '';
  return {
    observe: (command, answer, known) => {
      for (const taken of reportsOf(answer, known)) {
        awaited = '';
        write(stepLine(taken));
      }
      if (command.do === 'pause' && command.because.says !== awaited) {
        awaited = command.because.says;
        write(`              … ${awaited}`);
      }
      if (answer.to === 'failed') write(`              ! ${answer.error.message}`);
    },
  };
};

const prefixOf = (ended: Outcome): string => {
  if (!isImagined(ended)) return '';
  return ended.dryRun ? 'dry run: ' : 'shadow mode: ';
};

/** Returns the end of a run in words: the outcome, the reason, and what was left alone. */
export const outcomeLines = (ended: Outcome): readonly string[] => {
  const { outcome, machine, node, cluster, reason, left } = ended;
  return [
    `${prefixOf(ended)}${outcome}  ${machine}${node === null ? '' : `  node ${node}`}${cluster === null ? '' : `  cluster ${cluster}`}`,
    `  ${reason.says} (${reason.code})`,
    ...left.map(({ what, why }) => `  left alone: ${what}: ${why}`),
  ];
};
