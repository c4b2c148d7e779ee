/**
 * Two signals that come so close together are one Ctrl-C (ms): a terminal sends it to every process of the command, and
 * the launcher of an older Node passes its own on.
 */
const SAME_CTRL_C_MS = 500;

export interface Interruption {
  /** Signals that interrupt as the first Ctrl-C does, however often they come. */
  readonly alsoOn: readonly NodeJS.Signals[];
  /** The monotonic clock (ms). */
  readonly now: () => number;
  /** Runs on the first signal. */
  readonly begin: () => void;
  /** Runs on each later Ctrl-C. Null: Ctrl-C then ends the process. */
  readonly again: (() => void) | null;
}

/**
 * Handles Ctrl-C until the caller runs the returned function. After a Ctrl-C, the process is about to end, and a copy of
 * that Ctrl-C may still arrive: it must not end the process in another way. A later Ctrl-C ends it.
 */
export const handleInterrupts = ({ alsoOn, now, begin, again }: Interruption): (() => void) => {
  let begun: number | null = null;
  let isOver = false;
  const first = (): void => {
    begun ??= now();
    begin();
  };
  const endProcess = (): void => {
    process.removeListener('SIGINT', onCtrlC);
    process.kill(process.pid, 'SIGINT');
  };
  const onCtrlC = (): void => {
    if (begun === null) first();
    else if (now() - begun >= SAME_CTRL_C_MS) (isOver ? endProcess : (again ?? endProcess))();
  };
  process.on('SIGINT', onCtrlC);
  for (const signal of alsoOn) process.on(signal, first);
  return () => {
    isOver = true;
    if (begun === null) process.removeListener('SIGINT', onCtrlC);
    for (const signal of alsoOn) process.removeListener(signal, first);
  };
};
