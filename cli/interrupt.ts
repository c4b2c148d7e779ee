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
 * Handles Ctrl-C until the caller runs the returned function. A copy of the first Ctrl-C may still arrive while the
 * process ends, and must not end it in another way.
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
