/**
 * Two signals within this time (ms) count as one Ctrl-C: a terminal sends it to every process of the command, and the
 * launcher on an older Node also forwards it.
 */
const SAME_CTRL_C_MS = 500;

export interface Interruption {
  /** Signals that interrupt like the first Ctrl-C, however often they arrive. */
  readonly alsoOn: readonly NodeJS.Signals[];
  /** The monotonic clock (ms). */
  readonly now: () => number;
  /** Runs on the first signal. */
  readonly begin: () => void;
  /** Runs on each later Ctrl-C. If null, Ctrl-C ends the process. */
  readonly again: (() => void) | null;
}

/**
 * Handles Ctrl-C until the caller calls the returned function. A copy of the first Ctrl-C may still arrive while the
 * process ends, and must not change how it ends.
 */
export const handleInterrupts = ({ alsoOn, now, begin, again }: Interruption): (() => void) => {
  let begun: number | null = null;
  let isOver = false;
  const first = (): void => {
    begun ??= now();
    begin();
  };
  const stopHandling = (): void => void process.removeListener('SIGINT', onCtrlC);
  const endProcess = (): void => {
    stopHandling();
    process.kill(process.pid, 'SIGINT');
  };
  const onCtrlC = (): void => {
    if (isOver) return;
    if (begun === null) first();
    else if (now() - begun >= SAME_CTRL_C_MS) (again ?? endProcess)();
  };
  process.on('SIGINT', onCtrlC);
  for (const signal of alsoOn) process.on(signal, first);
  return () => {
    isOver = true;
    for (const signal of alsoOn) process.removeListener(signal, first);
    const copiesArriveFor = begun === null ? 0 : SAME_CTRL_C_MS - (now() - begun);
    if (copiesArriveFor > 0) setTimeout(stopHandling, copiesArriveFor).unref();
    else stopHandling();
  };
};
