import { type CommandResult, reportsOf } from '../fencing/loop/reduce.ts';
import type { Command } from '../fencing/loop/command.ts';
import { nextCommand } from '../fencing/loop/next-command.ts';
import type { RunState } from '../fencing/loop/state.ts';
import type { StepReport } from '../fencing/model/outcome.ts';
import { onOneLine, type Reason, shorten } from '../fencing/model/reason.ts';
import type { Moment } from '../fencing/rules/view.ts';
import type { Screen, Terminal } from './answer.ts';

/**
 * The progress that people and programs see during runs: each step, and what a run waits for and since when. On a
 * terminal, one line on standard error shows the present wait. `--json --progress` prints JSON lines.
 */

export interface Progress {
  readonly observe: (command: Command, answer: CommandResult, state: RunState) => void;
  /** Removes the line that shows the present wait. */
  readonly stop: () => void;
}

/** What one run waits for. */
interface Wait {
  readonly run: RunState;
  readonly reason: Reason;
  readonly since: Moment;
  /** When it was last printed as a separate line. */
  readonly printed: Moment;
}

/** How progress is printed. */
interface Printer {
  readonly step: (report: StepReport, run: RunState) => void;
  readonly failed: (says: string, run: RunState) => void;
  /** Prints a wait if it begins, or if it was last printed `every` ms ago. */
  readonly wait: (wait: Wait, now: Moment) => void;
  readonly every: number;
  /** Shows the present waits. */
  readonly show: (waits: readonly Wait[]) => void;
}

const timeOfDay = (wall: number): string => new Date(wall).toISOString().slice(11, 23);

const SECOND = 1_000;
const MINUTE = 60_000;

const shortDuration = (ms: number): string =>
  ms < MINUTE ? `${Math.floor(ms / SECOND)}s` : `${Math.floor(ms / MINUTE)}m${Math.floor((ms % MINUTE) / SECOND)}s`;

const stepLine = ({ step, target, at, ms, result, message, because }: StepReport): string =>
  `${timeOfDay(at)}  ${step.padEnd(17)} ${target}  ${result}${message === null ? '' : ` (${message})`}  ` +
  `${ms} ms  — ${because.says}`;

const INDENT = ' '.repeat(14);
const CLEAR = '\r\u001B[K';

/** The line of a terminal that shows the present wait. It is rewritten every second, and after each other line. */
const liveLine = (screen: Screen, now: () => Moment) => {
  let waits: readonly Wait[] = [];
  let stop: (() => void) | null = null;
  const draw = (): void => {
    const [first, ...more] = waits;
    if (!first) return;
    // The name of a single machine is above the line. Its id alone may be longer than the line.
    const which = more.length === 0 ? '' : ` (and ${more.length} more)  ${first.run.request.machine}:`;
    const text = `… ${shortDuration(now().mono - first.since.mono)}${which} ${first.reason.says}`;
    screen.write(CLEAR + shorten(onOneLine(text), screen.columns() - 1));
  };
  return {
    /** Prints other lines above the live one. */
    above: (print: () => void): void => {
      if (waits.length > 0) screen.write(CLEAR);
      print();
      draw();
    },
    show: (next: readonly Wait[]): void => {
      if (waits.length > 0 && next.length === 0) screen.write(CLEAR);
      waits = next;
      draw();
      if (waits.length > 0) stop ??= screen.every(SECOND, draw);
      else {
        stop?.();
        stop = null;
      }
    },
  };
};

const REPRINT_FOR_PEOPLE_MS = 30_000;

/** Lines for people. Without a terminal, a long wait is printed repeatedly. */
const forPeople = ({ line, clock, screens }: Terminal): Printer => {
  const live = screens.errors && liveLine(screens.errors, clock.now);
  const print = (text: string): void => (live ? live.above(() => line(text)) : line(text));
  return {
    step: (report) => print(stepLine(report)),
    failed: (says) => print(`${INDENT}! ${says}`),
    wait: ({ reason, since }, { mono }) => {
      const waited = mono - since.mono;
      print(`${INDENT}… ${waited < SECOND ? '' : `${shortDuration(waited)}: `}${reason.says}`);
    },
    every: live ? Infinity : REPRINT_FOR_PEOPLE_MS,
    show: (waits) => live?.show(waits),
  };
};

const REPRINT_FOR_PROGRAMS_MS = 10_000;
const iso = (wall: number): string => new Date(wall).toISOString();

/** JSON lines. The answer of the command is the last line. */
const jsonPrinter = ({ line, clock }: Terminal): Printer => {
  const print = ({ request, location, cluster }: RunState, fields: object): void =>
    line(
      JSON.stringify({
        ...fields,
        at: iso(clock.now().wall),
        instance: request.machine,
        cluster: location?.cluster ?? null,
        node: cluster?.value.nodeName ?? null,
      }),
    );
  return {
    step: ({ step, target, ms, result, message, because }, run) =>
      print(run, { progress: 'step', step, target, ms, result, message, reason: `${because.code}: ${because.says}` }),
    failed: (says, run) => print(run, { progress: 'failed', says }),
    wait: ({ run, reason, since }, now) =>
      print(run, {
        progress: 'waiting',
        reason: `${reason.code}: ${reason.says}`,
        since: iso(since.wall),
        until: iso(now.wall + run.deadline - now.mono),
      }),
    every: REPRINT_FOR_PROGRAMS_MS,
    show: () => undefined,
  };
};

/** A look belongs to the wait before it, because it only checks whether the wait is over. */
const continuesWait = ({ do: next }: Command): boolean => next === 'look' || next === 'locate';

/** Returns the wait that follows `before`: the same one if the reason is the same, or a new one. */
const waitAfter = (before: Wait | undefined, run: RunState, reason: Reason, moment: Moment): Wait =>
  before?.reason.code === reason.code ? { ...before, run, reason } : { run, reason, since: moment, printed: moment };

const followWaits = (printer: Printer, now: () => Moment): Progress => {
  const waits = new Map<string, Wait>();
  /** Records what the run waits for next, if it waits. */
  const note = (run: RunState): void => {
    const moment = now();
    const next = nextCommand(run, moment);
    const before = waits.get(run.runId);
    if (next.do !== 'sleep') {
      if (!continuesWait(next)) waits.delete(run.runId);
      return;
    }
    const wait = waitAfter(before, run, next.because, moment);
    const isDue = wait.printed === moment || moment.mono - wait.printed.mono >= printer.every;
    waits.set(run.runId, isDue ? { ...wait, printed: moment } : wait);
    if (isDue) printer.wait(wait, moment);
  };
  const show = (): void => printer.show([...waits.values()]);
  return {
    observe: (_command, answer, run) => {
      for (const report of reportsOf(answer, run)) printer.step(report, run);
      if (answer.to === 'failed') printer.failed(answer.error.message, run);
      note(run);
      show();
    },
    stop: () => {
      waits.clear();
      show();
    },
  };
};

const NO_PROGRESS: Progress = { observe: () => undefined, stop: () => undefined };

export interface ProgressOptions {
  readonly json?: boolean;
  readonly progress?: boolean;
}

export const createProgress = ({ json = false, progress = false }: ProgressOptions, terminal: Terminal): Progress => {
  if (json && !progress) return NO_PROGRESS;
  return followWaits(json ? jsonPrinter(terminal) : forPeople(terminal), terminal.clock.now);
};
